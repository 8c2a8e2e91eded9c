"""Modules ``onnxruntime`` that are none: each does on import what a broken library can do to a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

USABLE = """
__version__ = "9.9.9"
InferenceSession = None
def get_available_providers():
    return ["CPUExecutionProvider"]
"""
RECORDS = """
import os, sys, time
def record(pid):
    with open(os.path.join(os.path.dirname(os.path.dirname(__file__)), "pids"), "a") as file:
        file.write(f"{pid} ")
record(os.getpid())
"""
FORK = """
pid = os.fork()
if not pid:
    time.sleep(60)
    os._exit(0)
record(pid)
"""
EVERY_PIPE = """
def write(data):
    for number in range(1, 20):
        try:
            left = data
            while left:
                left = left[os.write(number, left):]
        except OSError:
            pass
"""
ABORTS = "os.abort()"
SLEEPS = "time.sleep(60)"
HOLDS_THE_LOCK = "import re; re.match('(a+)+$', 40 * 'a' + 'b')"
"""It runs in C for ever, so that no other thread of Python gets a turn."""


def plant_module(folder: Path, body: str) -> Path:
    """Write such a module into ``folder``; each process that imports it adds its number to the file ``pids`` there."""
    package = folder / "onnxruntime"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"{RECORDS}{body}\n", encoding="utf-8")
    return folder


def plant_distribution(folder: Path, body: str) -> Path:
    """Write such a module into ``folder`` as an installed distribution brings it, with a native library."""
    package = plant_module(folder, body) / "onnxruntime"
    (package / "capi").mkdir()
    (package / "capi/libonnxruntime.so.9.9.9").write_bytes(b"x")
    (folder / "onnxruntime-9.9.9.dist-info").mkdir()
    (folder / "onnxruntime-9.9.9.dist-info/RECORD").write_text("onnxruntime/__init__.py,,\n", encoding="utf-8")
    return folder


def pids(folder: Path) -> list[int]:
    """Return the processes that imported it, and those that they started."""
    file = folder / "pids"
    return [int(word) for word in file.read_text(encoding="utf-8").split()] if file.exists() else []
