"""Folders that this process may not write, also where it runs as root."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_VERSION_3 = 0x20080522
_OVERRIDES = 0b110
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: what lets root pass by a file's mode."""


@contextmanager
def read_only(root: Path) -> Generator[None]:
    """Make all of ``root`` read-only for this thread meanwhile."""
    if sys.platform == "win32":
        pytest.skip("Windows' folders have no such mode")
    folders = [root, *(path for path in root.rglob("*") if path.is_dir())]
    try:
        for folder in folders:
            folder.chmod(0o555)
        for file in (path for path in root.rglob("*") if path.is_file()):
            file.chmod(0o444)
        with _as_anybody():
            yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


@contextmanager
def _as_anybody() -> Generator[None]:
    if os.geteuid():
        yield
        return
    if sys.platform != "linux":
        pytest.skip("root may do anything here")
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    effective = sets[0]
    sets[0] &= ~_OVERRIDES
    assert libc.capset(header, sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(header, sets) == 0
