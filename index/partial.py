"""Partials: files that grow into blobs, hashed while they are written."""

from __future__ import annotations

import os
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..catalog.errors import VerificationError
from .files import explained, hash_file, no_room, refusal, remove
from .mending import mend

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from io import FileIO
    from pathlib import Path

    from ..catalog.values.digest import Digest
    from ..catalog.values.document import PieceList

Fetch: TypeAlias = "Callable[[int], Iterable[bytes]]"
"""Given how many bytes are there already, returns those that follow."""
Listed: TypeAlias = "Callable[[], PieceList | None]"
"""Returns the pieces of a file, ``None`` where nobody tells."""
_CHUNK: Final = 1 << 20
_LARGE: Final = 16 << 20
"""From so many bytes on, what a thread costs is little."""
_AHEAD: Final = 4
"""How many chunks wait to be hashed."""


class Wanted(NamedTuple):
    """What a file is to become."""

    digest: Digest
    size_bytes: int
    listed: Listed | None = None


def complete(partial: Path, fetch: Fetch, wanted: Wanted, *, anew: bool) -> None:
    """Make the file ``partial`` the whole blob, on the disk: from nothing, or from what it has.

    Whatever ``fetch`` gave before it ended or raised is kept; where that is nothing, no file is. Of a whole that is
    wrong the pieces that its list tells to be are fetched once more.

    Raises:
        VerificationError: there were fewer bytes, and they are kept; or other or more, and the file is removed.
        MachineError: the file cannot be written.
    """
    try:
        _complete(partial, fetch, wanted, anew=anew)
    except BaseException:
        with suppress(OSError):
            if not partial.stat().st_size:
                remove(partial)
        raise


def _complete(partial: Path, fetch: Fetch, wanted: Wanted, *, anew: bool) -> None:
    import shutil
    from hashlib import file_digest, sha256

    digest, size_bytes, listed = wanted
    with explained(partial, done="written"):
        file = partial.open("a+b", buffering=0)
    with file:
        with explained(partial, done="written"):
            done = file.seek(0, os.SEEK_END)
            if done and (anew or done > size_bytes):
                done = file.truncate(0)
            if shutil.disk_usage(partial.parent).free < size_bytes - done:
                raise no_room(partial, size_bytes - done)
            file.seek(0)
            hashed = file_digest(file, "sha256") if done else sha256()
        with _hashing(hashed.update, size_bytes) as update:
            for chunk in fetch(done) if anew or done < size_bytes else ():
                done += len(chunk)
                if done > size_bytes:
                    break
                update(chunk)
                try:
                    _write(file, chunk)
                except OSError as error:
                    missing = size_bytes - done + len(chunk)
                    raise refusal(error, partial, done="written", missing_bytes=missing) from error
        with explained(partial, done="written"):
            os.fsync(file)
    if done < size_bytes:
        # A cut connection looks just so: what came may well be right.
        raise VerificationError(
            f"{digest} ended after {done:,} of {size_bytes:,} bytes",
            hints=("try again: it goes on from there where the source can",),
        )
    came = f"sha256:{hashed.hexdigest()}"
    if done == size_bytes and came != digest and listed and (pieces := listed()) and mend(partial, fetch, pieces):
        came = hash_file(partial)
    if done > size_bytes or came != digest:
        with explained(partial, done="removed"):
            remove(partial)
        raise VerificationError(
            f"what came is not {digest} of {size_bytes:,} bytes, but {'longer' if done > size_bytes else came}",
            hints=("it was changed or damaged on its way: try again, or another source",),
        )


@contextmanager
def _hashing(update: Callable[[bytes], object], size_bytes: int) -> Generator[Callable[[bytes], object]]:
    """Yield what hashes chunks: of a large file in a thread, while the next chunk comes and is written."""
    if size_bytes < _LARGE:
        yield update
        return
    from concurrent.futures.thread import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        left: deque[Any] = deque()

        def later(chunk: bytes) -> None:
            left.append(pool.submit(update, chunk))
            if len(left) > _AHEAD:
                left.popleft().result()

        yield later


def chunks(file: FileIO, path: Path) -> Iterator[bytes]:
    """Yield the rest of ``file``, which is the one at ``path``; raise ``MachineError`` where it cannot be read."""
    while True:
        with explained(path, done="read"):
            chunk = file.read(_CHUNK)
        if not chunk:
            return
        yield chunk


def _write(file: FileIO, chunk: bytes) -> None:
    left = memoryview(chunk)
    while left:
        left = left[file.write(left) :]
