"""Where the program's files lie. On the lowest floor that opens files: the store, a server and detection all need it.

``INFERRY_HOME`` gathers everything in one folder; without it each kind lies where the system has such files.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..catalog.errors import MachineError

_HINTS = ("set INFERRY_HOME",)


def cache_folder() -> Path:
    """Return the folder for what can be made again; nobody has made it yet.

    Raises:
        MachineError: the system names no such folder.
    """
    if home := os.environ.get("INFERRY_HOME"):
        return Path(home).absolute() / "cache"
    import platformdirs

    try:
        folder = platformdirs.user_cache_path("inferry", appauthor=False)
    except RuntimeError as error:
        raise MachineError(str(error), hints=_HINTS) from error
    if not folder.is_absolute():  # older platformdirs: files would lie wherever the process stands
        raise MachineError(f"{folder} is no folder for files that are kept", hints=_HINTS)
    return folder
