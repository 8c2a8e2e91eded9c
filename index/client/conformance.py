"""The command line of the public conformance suite of TUF clients: ``python -m inferry.index.client.conformance``.

``--metadata-dir D init ROOT``, ``--metadata-dir D --metadata-url U refresh`` and beside these ``--target-name T …
--target-base-url B --target-dir O download``. It is the client that sources are asked with; the suite only says where
files lie. What is trusted stands in D without versions in its names.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ...catalog.errors import Error
from ..blobs import write_whole
from .transport import Transport
from .trust import Fetcher, open_updater, told

if TYPE_CHECKING:
    from argparse import Namespace

    from tuf.ngclient import Updater


def main(arguments: list[str] | None = None) -> int:
    """Do what the suite asks for; return 0, or 1 where something is not to be trusted."""
    parser = ArgumentParser(prog="python -m inferry.index.client.conformance")
    parser.add_argument("--metadata-dir", type=Path, required=True)
    parser.add_argument("--metadata-url")
    parser.add_argument("--target-name", action="append", default=[])
    parser.add_argument("--target-base-url")
    parser.add_argument("--target-dir", type=Path)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("init").add_argument("root", type=Path)
    verbs.add_parser("refresh")
    verbs.add_parser("download")
    asked = parser.parse_args(arguments)
    try:
        with told("the index"):
            _do(asked)
    except Error as error:
        print(f"error: {error.message}", file=sys.stderr)  # noqa: T201 - it is a program of its own
        return 1
    return 0


def _do(asked: Namespace) -> None:
    folder: Path = asked.metadata_dir
    if asked.verb == "init":
        folder.mkdir(parents=True, exist_ok=True)
        _open(folder, "", asked.root.read_bytes())
        return
    updater = _open(folder, asked.metadata_url, (folder / "root.json").read_bytes())
    try:
        updater.refresh()
        if asked.verb == "download":
            _download(updater, asked)
    finally:
        _show_root(folder)


def _open(folder: Path, url: str, root: bytes) -> Updater:
    updater = open_updater(folder, url, Fetcher(Transport(wait=lambda _: None)), root)
    _show_root(folder)
    return updater


def _show_root(folder: Path) -> None:
    """Put the newest root where the suite looks for it."""
    newest = max((folder / "root_history").iterdir(), key=lambda path: int(path.name.partition(".")[0]))
    write_whole(folder / "root.json", newest.read_bytes())


def _download(updater: Updater, asked: Namespace) -> None:
    from urllib.parse import quote

    asked.target_dir.mkdir(parents=True, exist_ok=True)
    for name in asked.target_name:
        found = updater.get_targetinfo(name)
        if found is None:
            raise Error(f"there is no target {name}")
        # A name may hold what leads out of a folder; quoted it does not.
        file = asked.target_dir / quote(name, "")
        if updater.find_cached_target(found, str(file)) is None:
            updater.download_target(found, str(file), asked.target_base_url)


def _run() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    _run()
