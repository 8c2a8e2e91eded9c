"""The child's half of ``child.py``: one request from stdin, one answer to stdout, and the process is over.

It imports the standard library, ``ort.py`` and the errors only, so that whatever fails here is what was asked for.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..catalog.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

MARK: Final = b"\x1e"
"""What an answer begins with: a record separator, which nobody prints by chance."""
_CHUNK: Final = 2**16


def _ep_devices(_: object) -> dict[str, Any]:
    """Return what the ONNX Runtime of this process is, and the pairs of an EP and a device that it offers."""
    from .ort import library, listed_devices

    ort = library()
    listed = listed_devices()
    return {
        "version": ort.__version__,
        "module": ort.__file__,
        "available": list(ort.get_available_providers()),
        "devices": None if listed is None else [each._asdict() for each in listed],
    }


_TASKS: Final[dict[str, Callable[[object], dict[str, Any]]]] = {"ep-devices": _ep_devices}


def main() -> NoReturn:
    """Do what the request on stdin asks for, and end the process."""
    requests, answers = _own_pipes()
    # Where Python stood when native code crashed is the best hint there is.
    faulthandler.enable(file=2)
    try:
        request = json.loads(_line(requests))
        # A thread of C, which needs no lock of Python's: for a child that hangs in native code when its parent dies.
        faulthandler.dump_traceback_later(request["limit_s"] + 1, exit=True, file=2)
        threading.Thread(target=_end_with_parent, args=(requests,), daemon=True).start()
        sys.path[:] = request["path"]
        document: dict[str, Any] = {"answer": _TASKS[request["task"]](request["payload"])}
    except Error as error:
        told = {"type": type(error).__name__, "message": error.message, "hints": error.hints()}
        document = {"error": told}
    except Exception:  # noqa: BLE001 - an app without a console would show a window for it
        traceback.print_exc()
        os._exit(1)
    left = MARK + json.dumps(document).encode() + b"\n"
    while left:
        left = left[os.write(answers, left) :]
    # At once: what libraries do while they are unloaded can fail no more.
    os._exit(0)


def _own_pipes() -> tuple[int, int]:
    """Return stdin and stdout as nobody else has them: libraries find nothing to read, and print to stderr."""
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    # Apps without a console have none.
    sys.stdout = sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    return requests, answers


def _line(requests: int) -> bytes:
    """Return the request; raise ``EOFError`` where the parent went away before it was whole."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(requests, _CHUNK)
        if not part:
            raise EOFError("no request")
        line += part
    return line


def _end_with_parent(requests: int) -> None:
    """End with the parent, whose death closes the pipe, and take along what was started here."""
    while os.read(requests, _CHUNK):
        pass
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
