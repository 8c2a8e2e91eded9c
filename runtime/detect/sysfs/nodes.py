"""The nodes below /dev that programs go through to a device, and whether this user may open them; none is opened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....catalog.values.host import Node

if TYPE_CHECKING:
    from ....catalog.values.host import Access
    from .tree import Tree

NVIDIA_GPUS: Final = "proc/driver/nvidia/gpus"
_KFD: Final = "sys/class/kfd/kfd"
_MODPROBE: Final = "usr/bin/nvidia-modprobe"
_FOLDERS: Final = {"drm": ("dev/dri", "renderD"), "accel": ("dev/accel", "accel")}
"""Where the kernel lists a device's nodes, where they lie, and how those begin that are for computing."""


def nodes(tree: Tree, device: str, driver: str | None, origins: dict[str, str]) -> tuple[Node, ...] | None:
    """Return the nodes of the device with the folder ``device``; ``None`` where nobody says which it has."""
    if driver == "nvidia":
        return _nvidia(tree, device.rpartition("/")[2], origins)
    found = [
        (f"{device}/{listed}", Node(path=f"/{folder}/{name}", access=tree.access(f"{folder}/{name}")))
        for listed, (folder, start) in _FOLDERS.items()
        for name in tree.names(f"{device}/{listed}")
        if re.fullmatch(rf"{start}[0-9]{{1,4}}", name)
    ]
    if not found:
        return None
    origins["nodes"] = f"/{found[0][0]}"
    kfd = [Node(path="/dev/kfd", access=tree.access("dev/kfd"), only_for="ROCm")]
    return (*(node for _, node in found), *(kfd if driver == "amdgpu" and tree.is_folder(_KFD) else ()))


def _nvidia(tree: Tree, address: str, origins: dict[str, str]) -> tuple[Node, ...]:
    """Return the nodes of NVIDIA's own driver, which has no need of /dev/dri."""
    path = f"{NVIDIA_GPUS}/{address}/information"
    origins["nodes"] = f"/{path}"
    minor = re.search(r"^Device Minor:\s*([0-9]{1,4})\s*$", tree.text(path) or "", re.MULTILINE)
    names = ["nvidiactl", *([f"nvidia{minor[1]}"] if minor else [])]
    return tuple(Node(path=f"/dev/{name}", access=_access(tree, f"dev/{name}")) for name in names)


def _access(tree: Tree, path: str) -> Access | None:
    """Return whether a node of NVIDIA's may be opened.

    Its libraries start nvidia-modprobe, which makes those that are missing: where that is, nobody knows before.
    """
    access = tree.access(path)
    return None if access == "missing" and tree.access(_MODPROBE) != "missing" else access
