"""Trust: what an index says, verified by TUF from the root that was pinned on. The one door of tuf's client."""
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import os
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from tuf.api.exceptions import (
    DownloadError,
    DownloadHTTPError,
    ExpiredMetadataError,
    LengthOrHashMismatchError,
    RepositoryError,
)
from tuf.ngclient import FetcherInterface, Updater

from ...catalog.errors import MachineError, NetworkError, NotFoundError, VerificationError
from ..blobs import write_whole
from ..files import explained, local
from ..locks import hold

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from ...catalog.values.source import SourceSpec, SourceUrl
    from .transport import Transport

MOST_ROOTS: Final = 256
"""How many roots are followed one after another."""
_ROOT_BYTES: Final = 512_000
_LIMIT_S: Final = 300.0
_GONE: Final = frozenset({403, 404})


class Fetcher(FetcherInterface):
    """Fetches files of an index, over the network or from a folder, for TUF's client."""

    def __init__(self, transport: Transport) -> None:
        """Go through ``transport``."""
        self._transport = transport

    def download_bytes(self, url: str, max_length: int) -> bytes:
        """Return a file that has ``max_length`` bytes at most.

        Raises:
            DownloadHTTPError: there is none.
            Error: what ``Transport.document`` raises, and ``MachineError`` of a folder.
        """
        if url.startswith("file:"):
            return _read(local(url), max_length)
        try:
            return self._transport.document(url, max_length)
        except NetworkError as error:
            if error.status is None:
                raise
            raise DownloadHTTPError(error.message, error.status) from error

    def _fetch(self, url: str) -> Iterator[bytes]:
        return iter([self.download_bytes(url, _ROOT_BYTES)])


class Expired(NamedTuple):
    """A role that nobody has signed anew in time."""

    role: str
    since: datetime


class _Updater(Updater):
    """TUF's client, but that no link is made: not every system and disk has them."""

    def _update_root_symlink(self) -> None:
        """Leave the roots where they are: this one always begins with the pinned one."""

    def take_expired(self) -> None:
        """Take what has expired, too; versions are held against those of before all the same."""
        self._trusted_set.reference_time = datetime.min.replace(tzinfo=UTC)

    def expired(self, now: datetime) -> Iterator[Expired]:
        """Yield the roles that have expired, of those that every look-up goes through."""
        it = self._trusted_set
        for signed in (it.root, it.timestamp, it.snapshot, it["targets"]):
            if signed.expires <= now:
                yield Expired(signed.type, signed.expires)


class Trust:
    """The documents of one index, each verified. Several processes may share its folder."""

    def __init__(self, spec: SourceSpec, folder: Path, transport: Transport) -> None:
        """Ask the index at ``spec.url``; what was verified, and the root that is pinned, are kept in ``folder``."""
        self._spec = spec
        self._folder = folder
        self._fetcher = Fetcher(transport)
        self._updater: _Updater | None = None
        self.expired: tuple[Expired, ...] = ()
        """What had expired when the index was last asked, where it is used nevertheless."""

    def refresh(self) -> None:
        """Ask the index what is new.

        Raises:
            NetworkError: it cannot be reached.
            NotFoundError: there is no index.
            VerificationError: it is not signed by whom it must be, is older than it was before, or has expired; or none
                of its roots has the fingerprint that is pinned.
            MachineError: the folder cannot be used, or another process holds it.
        """
        with self._held(), told(self._spec):
            self._updater = None
            self._updater = self._refreshed()

    def document(self, path: str, known: bytes | None = None) -> bytes | None:
        """Return the target at ``path``, or ``None`` where the index has none; ``known`` is what it was before.

        Raises what ``refresh`` raises.
        """
        with self._held(), told(self._spec):
            updater = self._updater = self._updater or self._refreshed()
            found = updater.get_targetinfo(path)
            if found is None:
                return None
            digest = found.hashes["sha256"]
            if known is not None and sha256(known).hexdigest() == digest:
                return known
            folder, _, name = path.rpartition("/")
            data = self._fetcher.download_bytes(f"{self._spec.url}targets/{folder}/{digest}.{name}", found.length)
            found.verify_length_and_hashes(data)
            return data

    def blob(self, address: str, size_bytes: int) -> bytes:
        """Return what lies at an address within the index; nobody has verified it. Raises as ``refresh``."""
        with told(self._spec):
            return self._fetcher.download_bytes(f"{self._spec.url}{address}", size_bytes)

    def _refreshed(self) -> _Updater:
        metadata = self._folder / "metadata"
        with explained(metadata, done="written"):
            metadata.mkdir(parents=True, exist_ok=True)
        url = self._spec.url
        stale = self._spec.freshness == "warn"
        updater = open_updater(metadata, f"{url}metadata/", self._fetcher, self._root(), stale=stale)
        updater.refresh()
        self.expired = tuple(updater.expired(datetime.now(UTC))) if stale else ()
        return updater

    def pin(self, root: bytes) -> None:
        """Keep the root with the fingerprint, wherever it came from; raise ``MachineError`` where it cannot be."""
        with self._held():
            write_whole(self._folder / "pinned.json", root, durably=True)

    def _root(self) -> bytes:
        """Return the root that is pinned, from the folder, else from the index by its fingerprint."""
        path = self._folder / "pinned.json"
        if path.exists():
            data = _read(path, _ROOT_BYTES)
            if sha256(data).hexdigest() == self._spec.fingerprint:
                return data
        data = find_root(self._fetcher, self._spec.url, self._spec.fingerprint)
        write_whole(path, data, durably=True)
        return data

    @contextmanager
    def _held(self) -> Generator[None]:
        path = self._folder / "lock"
        with explained(path, done="written"):
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = hold(path, limit_s=_LIMIT_S)
        try:
            yield
        finally:
            os.close(descriptor)


def open_updater(folder: Path, url: str, fetcher: Fetcher, root: bytes, *, stale: bool = False) -> _Updater:
    """Return TUF's client, which keeps what it trusts in ``folder``; ``stale`` takes what has expired, too.

    Raises:
        RepositoryError: the root is none.
        OSError: the folder cannot be used.
    """
    updater = _Updater(str(folder), url, None, None, fetcher, bootstrap=root)
    if stale:
        updater.take_expired()
    return updater


@contextmanager
def told(what: object) -> Generator[None]:
    """Turn what TUF's client raises of an index into errors of this program; ``what`` is the index, for people."""
    try:
        yield
    except ExpiredMetadataError as error:
        raise VerificationError(
            f"{what}: what it says has expired: {error}: it may hold back what is new",
            hints=("whoever owns it runs `inferry index sign`", "--freshness warn takes it with a warning"),
        ) from error
    except DownloadHTTPError as error:
        raise NetworkError(f"{what}: {error}", status=error.status_code) from error
    except LengthOrHashMismatchError as error:
        raise VerificationError(f"{what}: what came is not what its signed metadata name: {error}") from error
    except (RepositoryError, DownloadError) as error:
        raise VerificationError(f"{what} is not trusted: {error}") from error
    except OSError as error:
        raise MachineError(f"what is known of {what} cannot be used: {error.strerror or error}") from error


def roots(fetcher: Fetcher, url: SourceUrl) -> Iterator[bytes]:
    """Yield the roots of an index, the oldest first; nobody has verified them. Raises as ``Trust.refresh``."""
    for version in range(1, MOST_ROOTS + 1):
        try:
            yield fetcher.download_bytes(f"{url}metadata/{version}.root.json", _ROOT_BYTES)
        except DownloadHTTPError as error:
            if error.status_code not in _GONE:
                raise
            if version == 1:
                raise NotFoundError(
                    f"{url} holds no index: {error}", hints=("give the address of the folder that holds `metadata`",)
                ) from error
            return


def find_root(fetcher: Fetcher, url: SourceUrl, fingerprint: str) -> bytes:
    """Return the root of an index that has a fingerprint.

    Raises:
        VerificationError: none has it.
        Error: what ``roots`` raises.
    """
    newest = b""
    for newest in roots(fetcher, url):
        if sha256(newest).hexdigest() == fingerprint:
            return newest
    raise VerificationError(
        f"{url}: no root of this index has the fingerprint {fingerprint}; the newest has {sha256(newest).hexdigest()}",
        hints=("ask whoever owns the index for its fingerprint: `inferry index status` tells it",),
    )


def _read(path: Path, limit_bytes: int) -> bytes:
    """Return a file of an index in a folder; raise ``DownloadHTTPError`` where there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise DownloadHTTPError(f"there is no file {path}", 404) from error
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror or error}") from error
    if len(data) > limit_bytes:
        raise VerificationError(f"{path} has more than the {limit_bytes:,} bytes that it may have")
    return data
