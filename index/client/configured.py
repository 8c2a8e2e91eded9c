"""Configured: the library of a client, with the sources that are set up for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..home import data_folder
from .library import Library
from .source import FolderSource
from .sources import SourceList

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from ...catalog.settings import Effective
    from ..settings import Machine


def open_library(
    chosen: Sequence[str | os.PathLike[str]] | None,
    machine: Machine,
    settings: Callable[[], Effective],
    home: Path | None = None,
) -> Library:
    """Return the library of a client.

    Args:
        chosen: names of sources, and folders; ``None`` for the built-in index and all that are set up.
        machine: where its settings lie.
        settings: what holds of them.
        home: the client's.

    Raises:
        InvalidSettings: a file is wrong.
        MachineError: one cannot be read.
    """
    listed = SourceList(machine, settings, home)
    if chosen is None:
        return Library([FolderSource()], lambda: data_folder(home), listed.allowed)
    named = {each.name: each for each in (listed.allowed() if any(isinstance(it, str) for it in chosen) else [])}
    folders = [FolderSource(Path(each).absolute()) for each in chosen if not (isinstance(each, str) and each in named)]
    specs = [named[each] for each in chosen if isinstance(each, str) and each in named]
    return Library(folders, lambda: data_folder(home), lambda: specs)
