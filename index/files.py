"""Files as systems differ about them: long names, files that others hold open, links, and what a refusal means."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from ..catalog.errors import MachineError
from ..catalog.values.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

_T = TypeVar("_T")
Way: TypeAlias = "Callable[[Path, Path], object]"
"""Makes a second file, which is not there yet, of a first; raises ``OSError`` where that cannot be done so."""
_LONGEST_ROOT: Final = 260 - 120
"""In characters: Windows' own limit, less the longest of a store's names below its root, with room to spare."""
_WAITS_S: Final = tuple(0.01 * 2**turn for turn in range(7))
_HELD_OPEN: Final = frozenset({5, 32, 33})
"""ERROR_ACCESS_DENIED (also said of a file that is being deleted), ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION."""
_FICLONE: Final = 0x40049409


def reachable(path: Path) -> Path:
    """Return ``path``, absolute, in a form that reaches files well below it: Windows ends at 260 characters."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - `Path.absolute` keeps `..`, which \\?\ does not know
    return Path(extended(str(absolute))) if os.name == "nt" else absolute


def extended(path: str) -> str:
    """Return an absolute path as Windows reaches what lies well below it: with its own mark where it is long."""
    if len(path) <= _LONGEST_ROOT or path.startswith("\\\\?\\"):
        return path
    return "\\\\?\\UNC" + path[1:] if path.startswith("\\\\") else "\\\\?\\" + path


def patiently(action: Callable[[], _T], *, waits_s: Sequence[float] = _WAITS_S) -> _T:
    """Do ``action``, again after each wait while Windows says that another program, a scanner mostly, holds the file.

    Raises:
        OSError: any other at once; that one after the last wait.
    """
    for wait_s in waits_s:
        try:
            return action()
        except OSError as error:
            if getattr(error, "winerror", None) not in _HELD_OPEN:
                raise
        time.sleep(wait_s)
    return action()


def replace(source: Path, target: Path) -> None:
    """Give ``source`` the name ``target``, in one step, in place of a file that has it; raise ``OSError``."""
    patiently(lambda: source.replace(target))


def remove(path: Path) -> None:
    """Remove a file, or a folder with all in it, if it is there; raise ``OSError``."""
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            import shutil  # with all archives that it knows, it costs more to import than most runs need

            patiently(lambda: shutil.rmtree(path))
        else:
            patiently(path.unlink)


def sync_folder(folder: Path) -> None:
    """Make names in ``folder`` outlive a power cut; Windows has no such call, and does it by its journal."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some network file systems sync no folders
            raise
    finally:
        os.close(descriptor)


def hash_file(path: Path) -> Digest:
    """Return the digest of the file at ``path``; raise ``OSError``."""
    from hashlib import file_digest

    with path.open("rb", buffering=0) as file:
        return Digest(f"sha256:{file_digest(file, 'sha256').hexdigest()}")


def link(source: Path, target: Path) -> None:
    """Make ``target`` another name of the file ``source``; raise ``OSError``."""
    os.link(source, target)


def reflink(source: Path, target: Path) -> None:
    """Make ``target`` a file that shares the blocks of ``source`` until one is written; raise ``OSError``."""
    if sys.platform == "linux":
        from fcntl import ioctl

        with source.open("rb") as old, target.open("xb") as new:
            ioctl(new.fileno(), _FICLONE, old.fileno())
    elif sys.platform == "darwin":
        import ctypes

        if ctypes.CDLL(None, use_errno=True).clonefile(os.fsencode(source), os.fsencode(target), 0):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(target))
    else:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(target))


def copy(source: Path, target: Path) -> None:
    """Make ``target`` a copy of ``source`` that outlives a power cut; raise ``OSError``."""
    import shutil

    shutil.copy2(source, target)  # Windows' own copy, from Python 3.12 on, shares blocks where the disk can
    with target.open("r+b") as file:
        os.fsync(file)


WAYS: Final[tuple[Way, ...]] = (link, reflink, copy)
"""How a file is laid out a second time, cheapest first."""


def lay_out(source: Path, target: Path, ways: Sequence[Way] = WAYS) -> None:
    """Put the file ``source`` at ``target`` too, in place of a file that is there, by the first way that works.

    Raises:
        OSError: no way did; it is what the last one said.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name[:40]}.{os.getpid()}.{time.monotonic_ns():x}")
    try:
        for way in ways:
            try:
                way(source, partial)
                break
            except OSError:
                remove(partial)
                if way is ways[-1]:
                    raise
        replace(partial, target)
    finally:
        # It is still there after a success too where both were names of one file.
        with suppress(OSError):
            partial.unlink()


def local(url: str) -> Path:
    """Return the file or folder that a ``file:`` address names."""
    from urllib.parse import unquote, urlsplit

    told = urlsplit(url)
    path = unquote(told.path)
    if os.name == "nt":
        path = f"//{told.netloc}{path}" if told.netloc else path[1:]
    return Path(path)


@contextmanager
def explained(path: Path, *, done: str, missing_bytes: int = 0) -> Generator[None]:
    """Turn an ``OSError`` inside into the ``MachineError`` that :func:`refusal` makes of it."""
    try:
        yield
    except OSError as error:
        raise refusal(error, path, done=done, missing_bytes=missing_bytes) from error


def refusal(error: OSError, path: Path, *, done: str, missing_bytes: int = 0) -> MachineError:
    """Return what to raise where ``path`` cannot be ``done`` ("written"); a full disk says how much it lacks."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return no_room(path, missing_bytes)
    return MachineError(
        f"{path} cannot be {done}: {error.strerror or error}",
        hints=(f"see to it that you may use {path.parent}", "INFERRY_HOME names another folder for all that is kept"),
    )


def no_room(path: Path, missing_bytes: int) -> MachineError:
    """Return what to raise where the disk has no room for the ``missing_bytes`` that ``path`` still needs."""
    import shutil

    try:
        free = shutil.disk_usage(path if path.is_dir() else path.parent).free
    except OSError:
        free = 0
    lacking = f": {missing_bytes - free:,} bytes more are needed" if missing_bytes > free else ""
    return MachineError(
        f"there is no room for {path}{lacking}",
        hints=("remove what is not needed, or set INFERRY_HOME to a folder on a disk with room",),
    )
