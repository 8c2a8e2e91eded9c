"""Locks between processes. All are the operating system's: those of a process that died are free.

Two kinds. Whoever writes a blob may hold its lock for an hour, and others wait: that is filelock's. Leases stand on the
path of every run, and filelock takes 20 ms to import: they go to the system's call themselves, which never waits.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ..catalog.errors import MachineError
from .files import remove

if TYPE_CHECKING:
    from collections.abc import Callable

_POLL_S: Final = 0.01


class Holder(msgspec.Struct, frozen=True):
    """A process, as it signs what it holds."""

    pid: int
    program: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.program})"


def myself() -> Holder:
    """Return this process."""
    return Holder(os.getpid(), Path(sys.argv[0] or sys.executable).name if sys.argv else "python")


def try_hold(path: Path) -> int | None:
    """Return a descriptor that holds the lock at ``path`` until it is closed, or ``None`` where another holds it.

    Raises:
        OSError: the file cannot be opened for writing, or the file system knows no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if sys.platform == "win32":
            import msvcrt

            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                os.close(descriptor)
                return None
        else:
            import fcntl

            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def hold(path: Path, *, limit_s: float) -> int:
    """Return what :func:`try_hold` returns, after up to ``limit_s`` seconds of waiting.

    Raises:
        MachineError: another process still holds it; it is named.
        OSError: as :func:`try_hold`.
    """
    end = time.monotonic() + limit_s
    while (descriptor := try_hold(path)) is None:
        if time.monotonic() > end:
            raise _busy(path, limit_s)
        time.sleep(_POLL_S)
    return descriptor


def sign(path: Path) -> Callable[[], None]:
    """Say beside the lock at ``path`` who holds it (Windows lets nobody read a locked file); return what unsays it."""
    beside = _signature(path)
    with suppress(OSError):
        beside.write_bytes(msgspec.json.encode(myself()))

    def unsay() -> None:
        with suppress(OSError):
            remove(beside)

    return unsay


def wait_for(path: Path, *, stall_s: float, progress: Callable[[], object]) -> ExitStack:
    """Return a held lock, to be used as a context manager, after waiting as long as ``progress()`` changes.

    Raises:
        MachineError: ``progress()`` was the same for ``stall_s`` seconds; the process that holds the lock is named.
        OSError: the lock's file cannot be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    while True:
        before = progress()
        try:
            lock.acquire(timeout=stall_s)
            break
        except Timeout:
            if stall_s <= 0 or progress() == before:
                raise _busy(path, stall_s) from None
    held = ExitStack()
    held.callback(lock.release)
    held.callback(sign(path))
    return held


def _signature(path: Path) -> Path:
    return path.with_name(f"{path.name}.by")


def _busy(path: Path, limit_s: float) -> MachineError:
    try:
        holder = str(msgspec.json.decode(_signature(path).read_bytes(), type=Holder))
    except (OSError, msgspec.MsgspecError):
        holder = "another process"
    return MachineError(
        f"{holder} holds {path}, and has not moved on for {limit_s:g} s",
        hints=(f"wait for {holder}, or end it: a lock is free once its process has ended",),
    )
