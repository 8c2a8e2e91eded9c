"""The only starter of processes: the same program once more does one task within a time limit, and answers in JSON.

What could hang or kill a process is done there: importing a vendor's library, above all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..catalog import errors
from ..catalog.errors import ChildFailed, ChildNotStarted, ChildTimedOut
from .child_main import MARK
from .variables import QUIET, variables

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import IO

SENTINEL: Final = "--inferry-child"
"""The argument by which a frozen app knows that it is started as a child."""
CHILD: Final = "INFERRY_CHILD"
"""Set in each child: a frozen app that forgot ``freeze_support`` would start itself without end."""
_MOST: Final = 2**20
"""Bytes of an answer."""
_TAIL: Final = 2**12
"""Bytes that are kept of what is printed to stderr."""
_CHUNK: Final = 2**16
_STEP_S: Final = 0.05
"""How long a child that ended may go unnoticed, where what it started holds its pipes open."""
_GRACE_S: Final = 1.0
_SEVERITY_ERROR: Final = 0xC0000000
"""From here on, Windows's exit codes are exceptions."""
_PACKAGE: Final = Path(__file__).parents[1]

_POSIX: Final = {
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
}
_LOADER: Final = {"LD_LIBRARY_PATH", "LD_PRELOAD"}
_WINDOWS: Final = {"USERPROFILE", "LOCALAPPDATA", "APPDATA", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMROOT", "SYSTEMDRIVE"}
_WINDOWS_TOO: Final = {"WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"}
_PYTHON: Final = {"PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX", "PYTHONCOERCECLOCALE", "_MEIPASS2"}
_KEPT: Final = _POSIX | _LOADER | _WINDOWS | _WINDOWS_TOO | _PYTHON
"""What a child needs of the environment: to find programs, libraries, folders, and the same Python packages."""
_KEPT_STARTS: Final = ("LC_", "DYLD_", "ORT_", "PROCESSOR_", "_PYI_")
"""PyInstaller's own among them: without them an app that is one file would unpack itself again."""


def ask(task: str, payload: object = None, *, limit_s: float, keep: Collection[str] = ()) -> Any:  # noqa: ANN401 - what JSON can hold
    """Return what a child process answers to a task of ``child_main``; the child, and what it started, is gone then.

    Args:
        task: what is to be done.
        payload: what the task needs, such as JSON can hold.
        limit_s: how many seconds all of it may take.
        keep: the environment variables that the child has beside those that every child has, as
            ``EpPackage.environment`` names them.

    Raises:
        ChildTimedOut: there was no answer in time.
        ChildNotStarted: it could not be started.
        ChildFailed: there was no answer at all: the child crashed or ended.
        Error: what the task itself raised.
    """
    what = f"the child process for {task}"
    request = _request(task, payload, limit_s)
    process = _start(what, keep)
    try:
        talk = _Talk(process, request)
        in_time = talk.wait(limit_s)
    finally:
        _end(process)
    talk.close()
    if talk.whole:
        return _judged(talk.heard, what, talk.tail)
    if len(talk.heard) > _MOST:
        raise _failed(what, f"answered more than {_MOST} bytes", talk.tail)
    if not in_time:
        raise ChildTimedOut(
            f"{what} did not answer within {limit_s:g} s", ended="timed out", tail=_text(talk.tail), limit_s=limit_s
        )
    raise _failed(what, _ending(process.returncode), talk.tail)


def freeze_support() -> None:
    """Do a child's work where a frozen app was started for that, and end; else do nothing.

    The first line of an app that PyInstaller or the like packs: its children are the app itself once more.
    """
    if getattr(sys, "frozen", False) and sys.argv[1:2] == [SENTINEL]:
        from .child_main import main

        main()


class _Talk:
    """What goes through the pipes of a child: a thread for each, as on Windows nothing waits for several."""

    def __init__(self, process: subprocess.Popen[bytes], request: bytes) -> None:
        assert process.stdin  # noqa: S101 - as they were asked for
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        self._process = process
        self._silent = threading.Event()
        self.heard = bytearray()
        self.tail = b""
        parts = ((self._say, process.stdin, request), (self._hear, process.stdout), (self._keep, process.stderr))
        self._threads = [threading.Thread(target=part[0], args=part[1:], daemon=True) for part in parts]
        for thread in self._threads:
            thread.start()

    @property
    def whole(self) -> bool:
        """Whether there is an answer from its mark to its end."""
        return len(self.heard) <= _MOST and MARK in self.heard and self.heard.endswith(b"\n")

    def wait(self, limit_s: float) -> bool:
        """Wait for an answer or the child's end; return ``False`` where there was neither in time."""
        end = time.monotonic() + limit_s
        while (left := end - time.monotonic()) > 0:
            if self._silent.wait(min(_STEP_S, left)):
                if self.heard.endswith(b"\n") or len(self.heard) > _MOST:
                    return True
                time.sleep(_STEP_S / 10)  # it closed its stdout, and ends within moments
            if _ended(self._process):
                return True
        return False

    def close(self) -> None:
        """Hear the rest, once the child is gone."""
        end = time.monotonic() + _GRACE_S
        for thread in self._threads:
            # What left the child's group may hold its pipes for ever: then a thread stays behind, and closes them.
            thread.join(max(0.0, end - time.monotonic()))

    def _say(self, pipe: IO[bytes], request: bytes) -> None:
        """Write the request; the pipe stays open, as its end is what tells a child that its parent died."""
        with suppress(OSError):
            while request:
                request = request[os.write(pipe.fileno(), request) :]

    def _hear(self, pipe: IO[bytes]) -> None:
        with pipe, suppress(OSError):
            while part := os.read(pipe.fileno(), _CHUNK):
                self.heard += part
                if self.whole or len(self.heard) > _MOST:
                    break
            self._silent.set()

    def _keep(self, pipe: IO[bytes]) -> None:
        with pipe, suppress(OSError):
            while part := os.read(pipe.fileno(), _CHUNK):
                self.tail = (self.tail + part)[-_TAIL:]


def _request(task: str, payload: object, limit_s: float) -> bytes:
    request = {"task": task, "payload": payload, "limit_s": limit_s, "path": _search_path()}
    return json.dumps(request).encode() + b"\n"


def _start(what: str, keep: Collection[str]) -> subprocess.Popen[bytes]:
    """Start the child: in a session of its own, so that Ctrl-C in a terminal is for its parent to handle."""
    if CHILD in os.environ:
        raise _not_started(what, "was not started: this process is a child itself; call inferry.freeze_support() first")
    if not sys.executable:
        raise _not_started(what, "was not started: nobody knows this program's executable")
    if getattr(sys, "frozen", False):
        command = [sys.executable, SENTINEL]
    else:
        # Not from the working folder (-P), where anything may lie.
        command = [sys.executable, "-P", "-m", f"{__package__}.child_main"]
    pipe = subprocess.PIPE
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    try:
        return subprocess.Popen(  # noqa: S603 - this program itself
            command,
            bufsize=0,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=_environment(keep),
            start_new_session=True,
            creationflags=flags,
        )
    except (OSError, ValueError) as error:
        raise _not_started(what, f"cannot be started: {error}") from error


def _not_started(what: str, why: str) -> ChildNotStarted:
    return ChildNotStarted(f"{what} {why}", ended="not started")


def _environment(keep: Collection[str]) -> dict[str, str]:
    """Return what a child needs of this process's environment, so that nothing else in it bends the answer."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _KEPT or name.upper().startswith(_KEPT_STARTS)
    }
    path = [each for each in _search_path() if os.pathsep not in each]
    told = {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUTF8": str(sys.flags.utf8_mode),
        "PYTHONNOUSERSITE": "1" if sys.flags.no_user_site else "",
        "PYTHONDONTWRITEBYTECODE": "1" if sys.dont_write_bytecode else "",
        CHILD: "1",
    }
    # Off, unless the user turned it on.
    quiet = {name: os.environ.get(name, "1") for name in QUIET}
    return {**variables(keep), **kept, **{name: value for name, value in told.items() if value}, **quiet}


def _search_path() -> list[str]:
    """Return ``sys.path`` for a child: the same packages in the same order, without the working folder.

    Python puts that folder first for ``-m``, ``-c`` and the prompt, and anything may lie there, a file ``json.py`` say.
    Where this package itself lies in it, it stays.
    """
    path = [os.fspath(each) for each in sys.path]
    try:
        here = str(Path.cwd())
    except OSError:  # it is gone
        here = ""
    if here == str(_PACKAGE.parent):
        return [each or here for each in path]
    if path and path[0] == here and not sys.flags.safe_path:
        del path[0]
    return [each for each in path if each]


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the child ended; it is not reaped where that can be had, so that its number stays its own."""
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # the caller ignores SIGCHLD, so that the system reaps at once
        return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the child with what it started, and reap it."""
    if sys.platform == "win32":
        process.kill()
    else:
        # PermissionError is macOS's word for a group of which nobody is left alive.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin:
        process.stdin.close()


def _judged(heard: bytearray, what: str, tail: bytes) -> Any:  # noqa: ANN401 - as above
    """Return the answer; raise the error that stands in its place."""
    try:
        document = json.loads(heard.rpartition(MARK)[2])
        if "answer" in document:
            return document["answer"]
        told = document["error"]
        error: Exception = getattr(errors, told["type"])(told["message"], hints=told["hints"])
    except (ValueError, LookupError, TypeError, AttributeError) as unread:
        raise _failed(what, f"answered what cannot be read: {unread}", tail) from unread
    raise error


def _ending(status: int) -> str:
    """Return how a process ended, in words."""
    if status < 0:
        with suppress(ValueError):
            return f"crashed: {signal.Signals(-status).name}"
        return f"crashed: signal {-status}"
    if status >= _SEVERITY_ERROR:
        return f"crashed: {status:#x}"
    return f"ended with exit code {status} and without an answer"


def _failed(what: str, ended: str, tail: bytes) -> ChildFailed:
    """Return the error with the last line of what the child printed as its hint."""
    text = _text(tail)
    last = text.rstrip().rpartition("\n")[2].strip()
    return ChildFailed(f"{what} {ended}", ended=ended, tail=text, hints=(f"it said: {last}",) if last else ())


def _text(tail: bytes) -> str:
    return tail.decode(errors="replace")
