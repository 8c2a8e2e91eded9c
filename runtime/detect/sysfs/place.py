"""Whether a GPU or NPU on PCI is part of the processor: by its ids, or by where it sits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .kinds import AMD, AMD_GPU, INTEL, NPUS, NVIDIA, Function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tree import Tree

ADDRESS: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
X86: Final = frozenset({None, "x64", "x86"})
"""Where Intel's and AMD's GPUs can be part of the processor; old kernels do not say what they run on."""


class Surroundings(NamedTuple):
    """What a function sits among."""

    tree: Tree
    functions: Mapping[str, Function]
    """All, by address."""
    architecture: str | None
    virtual: bool
    """Whether a hypervisor decided where they sit."""


def integrated(it: Function, memory: int | None, around: Surroundings) -> tuple[bool | None, str]:
    """Return whether a device with ``memory`` of its own is part of the processor, and by which rule.

    That the firmware chose it to show its screens on, boot_vga, is no rule.
    """
    if told := _by_itself(it, memory, around.architecture):
        return told
    if it.vendor not in {INTEL, AMD_GPU}:
        return None, ""
    if around.virtual:
        return None, "unknown: a hypervisor decided where it sits"
    if it.vendor == INTEL:
        return it.on_root_bus, "its bus: Intel's processors have theirs on bus 0, and a card is behind a bridge"
    return _amd(it, around)


def _by_itself(it: Function, memory: int | None, architecture: str | None) -> tuple[bool, str] | None:
    """Return what a device tells wherever it sits."""
    if (it.vendor, it.device) in NPUS:
        return True, "its ids: AMD makes it as a part of its processors only"
    if it.vendor == NVIDIA and architecture == "x64":
        return False, "its vendor: on x64 its GPUs are cards"
    if it.vendor == INTEL and memory:
        return False, "its own memory"
    if it.vendor in {INTEL, AMD_GPU} and architecture not in X86:
        return False, "its vendor: with another one's processors its GPUs are cards"
    return None


def _amd(it: Function, around: Surroundings) -> tuple[bool | None, str]:
    siblings = {each.vendor for each in around.functions.values() if each.slot == it.slot}
    if it.on_root_bus or AMD in siblings:
        return True, "its neighbours: the processor's own functions are on the same chip"
    parents = [around.functions.get(address) for address in ADDRESS.findall(around.tree.target(it.path) or "")]
    if len(parents) > 1 and (parent := parents[-2]) and parent.vendor == AMD_GPU:
        return False, "its bridge: the card has one of its own"
    return None, "unknown: neither neighbours nor bridge tell"
