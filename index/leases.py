"""Leases: a process says which blobs it uses, and none of them is removed before it ends."""

from __future__ import annotations

import errno
import os
import time
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Final

import msgspec

from .files import refusal, remove
from .locks import Holder, hold, myself, sign, try_hold

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from pathlib import Path

    from ..catalog.values.digest import Digest
    from .store import FolderStore

_GATE: Final = "gate"
_GATE_LIMIT_S: Final = 60.0
_READ_ONLY: Final = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_numbers: Final = count()


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A lease that its process still holds."""

    holder: Holder
    digests: frozenset[str] | None
    """What it covers; ``None`` is everything: the process could not write it down, on a full disk for one."""
    why: str
    since: float
    """In seconds since 1970."""

    def covers(self, digest: Digest) -> bool:
        """Return whether ``digest`` must stay for it."""
        return self.digests is None or digest in self.digests


@contextmanager
def lease(store: FolderStore, digests: Iterable[Digest], why: str) -> Generator[None]:
    """Keep the blobs ``digests``, those too that are yet to come, from being removed by ``collect`` meanwhile.

    Ask for their paths inside, not before. A store that may only be read has no leases; nobody removes from it.

    Raises:
        MachineError: the store cannot be written for another reason, or a collection takes longer than a minute.
    """
    taken = _take(store, Lease(holder=myself(), digests=frozenset(map(str, digests)), why=why, since=time.time()))
    try:
        yield
    finally:
        if taken:
            path, descriptor = taken
            # The words go last: a lock without them covers everything. Windows removes no file that is open.
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)
            with suppress(OSError):
                remove(path)
                remove(_words(path))


def leases(store: FolderStore) -> list[Lease]:
    """Return the leases that are held, by their age; those of processes that have ended are void, and not told."""
    return sorted((each for _, each in _read(store) if each), key=lambda each: each.since)


@contextmanager
def collecting(store: FolderStore) -> Generator[list[Lease]]:
    """Hold off new leases, tell those that are held, and remove what dead processes left of theirs.

    Raises:
        MachineError: the store cannot be written, or another collection takes longer than a minute.
    """
    gate = store.root / "leases" / _GATE
    store.prepare()
    try:
        descriptor = hold(gate, limit_s=_GATE_LIMIT_S)
    except OSError as error:
        raise refusal(error, gate, done="written") from error
    unsay = sign(gate)
    try:
        found = list(_read(store))
        held = {path for path, each in found if each}
        for path in (store.root / "leases").iterdir():
            if path.suffix in {".lock", ".json"} and path.with_suffix(".lock") not in held:
                with suppress(OSError):
                    remove(path)
        yield [each for _, each in found if each]
    finally:
        unsay()
        os.close(descriptor)


def _take(store: FolderStore, wanted: Lease) -> tuple[Path, int] | None:
    """Return the file and the lock of a new lease, or ``None`` where nothing can be written."""
    folder = store.root / "leases"
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
        # Whoever collects holds the gate from before it reads the leases until what they do not cover is removed. So a
        # lease is either there when they are read, or it begins when that is gone, and the paths that are asked for
        # inside it tell so.
        gate = hold(folder / _GATE, limit_s=_GATE_LIMIT_S)
        try:
            path = folder / f"{wanted.holder.pid}-{next(_numbers)}-{time.time_ns():x}.lock"
            descriptor = hold(path, limit_s=_GATE_LIMIT_S)
        finally:
            os.close(gate)
    except OSError as error:
        if error.errno in _READ_ONLY:
            return None
        raise refusal(error, folder, done="written") from error
    with suppress(OSError):  # on a full disk models run still; a lock without words covers everything
        _words(path).write_bytes(msgspec.json.encode(wanted))
    return path, descriptor


def _read(store: FolderStore) -> Iterator[tuple[Path, Lease | None]]:
    """Yield each lease's file with the lease, or with ``None`` where its process has ended."""
    for path in sorted((store.root / "leases").glob("*.lock")):
        try:
            descriptor = try_hold(path) if path.exists() else None
        except OSError:  # it may not be asked, so it is taken for held
            descriptor = None
        else:
            if descriptor is not None:
                os.close(descriptor)
                yield path, None
                continue
        try:
            yield path, msgspec.json.decode(_words(path).read_bytes(), type=Lease)
        except (OSError, msgspec.MsgspecError):
            if path.exists():
                pid = int(text) if (text := path.name.partition("-")[0]).isdecimal() else 0
                holder = Holder(pid, "?")
                yield path, Lease(holder=holder, digests=None, why="?", since=path.stat().st_mtime)


def _words(path: Path) -> Path:
    return path.with_suffix(".json")
