"""Where the program's files lie. On the lowest floor that opens files: the store, a server and detection all need it.

``INFERRY_HOME``, or the ``home`` that a caller names, gathers everything in one folder; without it each kind lies where
the system has such files.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ..catalog.errors import MachineError

_HINTS = ("set INFERRY_HOME",)


def cache_folder(home: Path | None = None) -> Path:
    """Return the folder for what can be made again; nobody has made it yet.

    Raises:
        MachineError: the system names no such folder.
    """
    return _folder("cache", home)


def data_folder(home: Path | None = None) -> Path:
    """Return the folder for what was fetched and is kept; nobody has made it yet. Raises as :func:`cache_folder`."""
    return _folder("data", home)


def config_folder(home: Path | None = None) -> Path:
    """Return the folder for what a user decided; nobody has made it yet. Raises as :func:`cache_folder`."""
    return _folder("config", home)


def _folder(kind: Literal["cache", "data", "config"], home: Path | None) -> Path:
    if gathered := home or os.environ.get("INFERRY_HOME"):
        return Path(gathered).absolute() / kind
    import platformdirs

    ask = {
        "cache": platformdirs.user_cache_path,
        "data": platformdirs.user_data_path,
        "config": platformdirs.user_config_path,
    }[kind]
    try:
        folder = ask("inferry", appauthor=False)
    except RuntimeError as error:
        raise MachineError(str(error), hints=_HINTS) from error
    if not folder.is_absolute():  # older platformdirs: files would lie wherever the process stands
        raise MachineError(f"{folder} is no folder for files that are kept", hints=_HINTS)
    return folder
