"""The states of files, by which is seen that one was changed without reading it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from ...catalog.values.host import Host

State: TypeAlias = "tuple[str, int | None, int | None]"
"""A file's path, its size in bytes and its time of change in ns; ``None`` what cannot be read."""
_NATIVE: Final = (".so", ".dll", ".pyd", ".dylib")


def state(file: Path) -> State:
    """Return the state of a file."""
    try:
        told = file.stat()
    except OSError:
        return plain(str(file)), None, None
    return plain(str(file)), told.st_size, told.st_mtime_ns


def ort_files(host: Host) -> list[State]:
    """Return the states of the files by which the ONNX Runtime of ``host``, this machine, is told from another one."""
    origin = host.origins.get("onnxruntime.module")
    if not host.onnxruntime.module or origin is None:
        return []
    module = Path(origin)
    brought = host.onnxruntime.distributions or ()
    folders = [f"{each.name.replace('-', '_')}-{each.version}.dist-info" for each in brought]
    records = (module.parents[1] / each / "RECORD" for each in folders)
    return [state(each) for each in (module, *records, *_native(module.parent / "capi"))]


def plain(text: str) -> str:
    """Return ``text`` as JSON holds it: paths and variables may be of bytes that are no text."""
    return text.encode(errors="backslashreplace").decode()


def _native(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(each for each in folder.iterdir() if not {*each.suffixes}.isdisjoint(_NATIVE))
    return []
