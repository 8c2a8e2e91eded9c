"""What only the running process can tell: its Python, its C library, the ONNX Runtime that it would import."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ...catalog.values.host import Distribution, OrtFacts, Python, architecture

MODULE: Final = "onnxruntime"
_DIST_INFO: Final = re.compile(r"((?:onnxruntime|ort)(?:_[a-z0-9_]+)?)-(\d[^-]*)\.dist-info", re.IGNORECASE)
"""Every distribution of ONNX Runtime, nightly ones included, has such a name; so do plug-ins, which lack the module."""
_RECORD_LIMIT: Final = 2**22
"""Bytes of the list of a distribution's files."""


def python(machine: str | None) -> Python:
    """Return the Python of this process; ``machine`` is what its code is for, as the system says it."""
    return Python(
        version=".".join(map(str, sys.version_info[:3])),
        implementation=sys.implementation.name,
        architecture=architecture(machine) if machine else None,
    )


def libc() -> tuple[str | None, str | None]:
    """Return the name and the version of this process's C library, as far as Python itself knows them."""
    try:
        told = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        told = ""
    if found := re.fullmatch(r"glibc (\d+(?:\.\d+)*)", told):
        return "glibc", found[1]
    return ("musl" if "musl" in str(getattr(sys.implementation, "_multiarch", "")) else None), None


def onnxruntime(origins: dict[str, str]) -> OrtFacts:
    """Return what is installed of ONNX Runtime, without importing it."""
    origins["onnxruntime"] = "sys.path"
    try:
        spec = find_spec(MODULE)
    except (ImportError, ValueError, OSError):  # a finder of the environment's own, or a module put there by hand
        return OrtFacts()
    if spec is None or not spec.origin:
        return OrtFacts(module=False, distributions=())
    folder = Path(spec.origin).parent.parent
    origins["onnxruntime.module"] = spec.origin
    origins["onnxruntime.distributions"] = origins["onnxruntime.version"] = f"{folder / '*.dist-info'}"
    found = _distributions(folder)
    return OrtFacts(module=True, distributions=found, version=found[0].version if found and len(found) == 1 else None)


def _distributions(folder: Path) -> tuple[Distribution, ...] | None:
    """Return those in ``folder`` that brought the module, sorted; ``None`` where it cannot be listed."""
    try:
        names = sorted(each.name for each in folder.iterdir())
    except OSError:
        return None
    return tuple(
        Distribution(name=named[1].lower().replace("_", "-"), version=named[2])
        for name in names
        if (named := _DIST_INFO.fullmatch(name)) and _brought(folder / name / "RECORD")
    )


def _brought(record: Path) -> bool:
    """Return whether the module is on a distribution's list of files."""
    try:
        with record.open("rb") as file:
            return f"\n{MODULE}/__init__.py,".encode() in b"\n" + file.read(_RECORD_LIMIT)
    except OSError:
        return False
