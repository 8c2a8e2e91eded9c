"""Windows, as far as Python's standard library goes: graphics and NPUs are not looked for yet.

Not by ``platform``: from Python 3.12 on it asks WMI, a service that may not answer.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.values.host import MAX_COUNT, Cpu, Memory, Platform, architecture
from .generic import Generic

if TYPE_CHECKING:
    from collections.abc import Mapping


class Identifier(NamedTuple):
    """What Windows writes of the processor into the environment of each process."""

    machine: str
    vendor: str
    numbers: tuple[int, int, int] | None
    """Family, model and stepping of an x86 processor; Arm's fields number something else."""

    @classmethod
    def parse(cls, text: str) -> Identifier | None:
        """Return what ``text`` says, such as ``Intel64 Family 6 Model 140 Stepping 1, GenuineIntel``."""
        number = r"(\d{1,4})"
        form = rf"(Intel64|AMD64|x86) Family {number} Model {number} Stepping {number}, (.{{1,100}})"
        if found := re.fullmatch(form, text.strip()):
            machine = "x86" if found[1] == "x86" else "x64"
            return cls(machine, found[5], (int(found[2]), int(found[3]), int(found[4])))
        if found := re.fullmatch(r"ARMv8 \(64-bit\) [^,]*, (.{1,100})", text.strip()):
            return cls("arm64", found[1], None)
        return None


class _Status(ctypes.Structure):
    """``MEMORYSTATUSEX``."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended", ctypes.c_uint64),
    )


class Windows(Generic):
    """Adds the build of Windows, the processor's identity, and the memory."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read the variables that Windows gives to each process."""
        self._environment = environment
        self._identifier = Identifier.parse(environment.get("PROCESSOR_IDENTIFIER", ""))

    def machine(self) -> str | None:
        """Return what this process's code is for: x64 under emulation on Arm."""
        return self._environment.get("PROCESSOR_ARCHITECTURE")

    def platform(self, origins: dict[str, str]) -> Platform:
        """Return the operating system."""
        origins["platform"] = "sys.getwindowsversion"
        origins["platform.architecture"] = "PROCESSOR_IDENTIFIER"
        # It keeps the machine's own words where emulation changes PROCESSOR_ARCHITECTURE.
        machine = self._identifier.machine if self._identifier else None
        version: tuple[int, ...] = ()
        if sys.platform == "win32":
            version = sys.getwindowsversion().platform_version
        return Platform(
            os="windows",
            name="Windows",
            version=".".join(map(str, version)) or None,
            build=version[-1] if version else None,
            architecture=architecture(machine) if machine else None,
        )

    def cpu(self, origins: dict[str, str]) -> Cpu:
        """Return the processor."""
        origins["cpu"] = "PROCESSOR_IDENTIFIER"
        threads = super().cpu(origins).threads
        if self._identifier is None:
            return Cpu(threads=threads)
        family, model, stepping = self._identifier.numbers or (None, None, None)
        vendor = self._identifier.vendor
        return Cpu(vendor=vendor, family=family, model=model, stepping=stepping, threads=threads)

    def memory(self, origins: dict[str, str]) -> Memory:
        """Return the system's memory."""
        origins["memory"] = "GlobalMemoryStatusEx"
        status = _Status(length=ctypes.sizeof(_Status))
        asked = False
        if sys.platform == "win32":
            asked = bool(ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)))
        if not asked or max(status.total, status.available) > MAX_COUNT:
            return Memory()
        return Memory(total_bytes=status.total, free_bytes=status.available)
