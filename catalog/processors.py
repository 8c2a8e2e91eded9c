"""Processors: which generation one belongs to, by the numbers that it tells of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .values.host import Cpu

_MODELS: Final = {
    2: (0x2A, 0x2D),  # Sandy Bridge
    3: (0x3A, 0x3E),  # Ivy Bridge
    4: (0x3C, 0x3F, 0x45, 0x46),  # Haswell
    5: (0x3D, 0x47),  # Broadwell
    6: (0x4E, 0x5E),  # Skylake
    7: (0x8E, 0x9E),  # Kaby Lake, and by stepping its successors up to the 10th
    10: (0xA5, 0xA6, 0x7D, 0x7E),  # Comet Lake, Ice Lake
    11: (0x8C, 0x8D, 0xA7),  # Tiger Lake, Rocket Lake
    12: (0x97, 0x9A, 0xBE),  # Alder Lake
    13: (0xB7, 0xBA, 0xBF),  # Raptor Lake, and its refresh, sold as the 14th
    14: (0xAA, 0xAC, 0xB5),  # Meteor Lake, and Arrow Lake U, which is built from its parts
    15: (0xBD, 0xC5, 0xC6),  # Lunar Lake, Arrow Lake
    16: (0xCC,),  # Panther Lake
}
"""Intel's generations, as its buyers count them, and the models of family 6 (Linux 6.15, asm/intel-family.h).

Server processors have generations of their own and are not here.
"""
_GENERATIONS: Final = {model: generation for generation, models in _MODELS.items() for model in models}


def intel_generation(cpu: Cpu) -> int | None:
    """Return the generation of an Intel processor, 0 for another maker's, ``None`` where it is not known."""
    if cpu.vendor is None:
        return None
    if cpu.vendor != "GenuineIntel":
        return 0
    return _GENERATIONS.get(cpu.model) if cpu.family == 6 and cpu.model is not None else None  # noqa: PLR2004 - Core
