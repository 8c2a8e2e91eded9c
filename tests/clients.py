"""Clients of an index that are not ours: python-tuf's own, over a folder or a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tuf.api.exceptions import DownloadHTTPError
from tuf.ngclient import FetcherInterface, Updater

if TYPE_CHECKING:
    from collections.abc import Iterator

AT = "folder://"


class Folder(FetcherInterface):
    """Fetches from a folder what a web server would hand out of it, and remembers what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []

    def _fetch(self, url: str) -> Iterator[bytes]:
        self.asked.append(url.removeprefix(AT))
        path = self.folder / url.removeprefix(AT)
        if not path.is_file():
            raise DownloadHTTPError(f"{url} is not there", 404)
        return iter([path.read_bytes()])


def updater(index: Path, home: Path, base: str = AT, fetcher: FetcherInterface | None = None) -> Updater:
    """Return a client that begins with the first root of ``index``, and keeps what it fetches in ``home``."""
    (home / "targets").mkdir(parents=True, exist_ok=True)
    return Updater(
        str(home),
        f"{base}metadata/",
        str(home / "targets"),
        f"{base}targets/",
        fetcher=fetcher or (Folder(index) if base == AT else None),
        bootstrap=(index / "metadata/1.root.json").read_bytes(),
    )


def fetched(client: Updater, name: str) -> bytes | None:
    """Return the document of a model, ``None`` where the index has none."""
    told = client.get_targetinfo(f"models/{name}.json")
    return Path(client.download_target(told)).read_bytes() if told else None
