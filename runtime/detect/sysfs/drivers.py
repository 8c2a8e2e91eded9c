"""Which of Linux's drivers a device is bound to, and the version that it has of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....catalog.values.host import Driver

if TYPE_CHECKING:
    from .tree import Tree

MODULES: Final = "sys/module"
NVIDIA_VERSION: Final = "proc/driver/nvidia/version"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NVRM: Final = re.compile(r"^NVRM version: .* Module.*?  ([0-9]+(?:\.[0-9]+){1,5}) ", re.MULTILINE)


def driver(tree: Tree, device: str, origins: dict[str, str]) -> Driver:
    """Return what drives the device with the folder ``device``; its version is seldom known, as most have none."""
    origins["driver"] = f"/{device}/driver"
    name = (tree.target(f"{device}/driver") or "").rpartition("/")[2]
    if not _NAME.fullmatch(name):
        return Driver(scheme="linux", name="")
    path = f"{MODULES}/{name.replace('-', '_')}/version"
    version = tree.line(path)
    if version is None and name == "nvidia":
        # What hides /sys/module, as some sandboxes do, may show this.
        path = NVIDIA_VERSION
        found = _NVRM.search(tree.text(path) or "")
        version = found[1] if found else None
    origins["driver.version"] = f"/{path}"
    return Driver(scheme="linux", name=name, version=version)
