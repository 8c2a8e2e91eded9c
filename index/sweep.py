"""Sweeping: what programs that ended in the middle left behind, and what collection leaves empty."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ..catalog.errors import MachineError
from .files import remove
from .leases import collecting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .store import FolderStore

_TEMPORARY: Final = re.compile(r"\..+\.(\d+)\.[0-9a-f]+")
"""As files are called that are renamed once they are whole: ``.name.process.number``."""
_STILL_ACTIVE: Final = 259
_QUERY: Final = 0x1000


def temporaries(files: Iterable[Path], *, recent_s: float) -> list[Path]:
    """Return those of ``files`` that a process would have renamed, which has ended, and which rested ``recent_s``.

    The number of a process alone would not do: on a shared folder it may be another machine's.
    """
    found: list[Path] = []
    for file in files:
        named = _TEMPORARY.fullmatch(file.name)
        if named and has_ended(int(named[1])):
            with suppress(OSError):
                told = file.stat()
                # A second name of an old file has the old file's time, but was itself made just now.
                if time.time() - max(told.st_mtime, told.st_ctime) >= recent_s:
                    found.append(file)
    return found


def of_store(store: FolderStore, *, recent_s: float) -> list[Path]:
    """Return what processes that ended left of files that they wrote into ``store``."""
    return temporaries([*store.root.glob(".*"), *store.root.glob("blobs/sha256/??/.*")], recent_s=recent_s)


def sweep(files: Iterable[Path]) -> None:
    """Remove ``files``; what cannot be removed stays for the next time."""
    for file in files:
        with suppress(OSError):
            remove(file)


def sweep_locks(store: FolderStore) -> None:
    """Remove the locks of blobs that are gone, but not of those that a lease covers: somebody is about to write them.

    Raises:
        MachineError: the store cannot be written, or a collection takes longer than a minute.
    """
    gone = store.locks_of_nothing()
    if gone:
        with collecting(store) as held:
            for digest in gone:
                if not any(each.covers(digest) for each in held):
                    with suppress(MachineError, OSError):
                        store.drop_lock(digest)


def has_ended(pid: int) -> bool:
    """Return whether no process of this machine has the number ``pid``."""
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(_QUERY, False, pid)  # noqa: FBT003 - Windows' own signature
        if not handle:
            return bool(ctypes.GetLastError() != 5)  # noqa: PLR2004 - ERROR_ACCESS_DENIED: it runs, as another user
        code = ctypes.c_ulong()
        kernel.GetExitCodeProcess(handle, ctypes.byref(code))
        kernel.CloseHandle(handle)
        return code.value != _STILL_ACTIVE
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False
