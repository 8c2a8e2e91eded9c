"""The detector for every system: what Python's standard library knows without asking another program."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from ...catalog.values.host import MAX_COUNT, Cpu, Device, Host, Memory, Platform, architecture
from . import environment
from .found import Found
from .vendors import CPU_VENDORS

if TYPE_CHECKING:
    from ...catalog.values.host import OrtFacts, Os, Python

SYSTEMS: Final[dict[str, Os]] = {"linux": "linux", "win32": "windows", "darwin": "macos"}
"""Our word for what Python calls a system."""


class Generic:
    """Platform, processor count and memory; each system's own detector replaces the parts that it knows better."""

    def host(self) -> Host:
        """Return what is known; never raises and never waits."""
        origins: dict[str, str] = {}
        cpu = self.cpu(origins)
        platform = self.platform(origins)
        found = self.devices(platform, cpu)
        for index, seen in enumerate(found.seen, start=1):
            for fact, origin in seen.origins.items():
                origins[f"devices[{index}].{fact}".rstrip(".")] = origin
        return Host(
            platform=platform,
            python=self.python(origins),
            cpu=cpu,
            memory=self.memory(origins),
            devices=(self.processor(cpu, origins), *(seen.device for seen in found.seen)),
            searched=("cpu", *found.searched),
            excluded=found.excluded,
            onnxruntime=self.onnxruntime(origins),
            origins=origins,
        )

    def machine(self) -> str | None:
        """Return what the system calls its machine, such as ``x86_64``."""
        return os.uname().machine if hasattr(os, "uname") else None

    def platform(self, origins: dict[str, str]) -> Platform:
        """Return the operating system."""
        origins["platform"] = "os.uname"
        origins["platform.os"] = "sys.platform"
        origins["platform.libc"] = origins["platform.libc_version"] = "os.confstr"
        machine = self.machine()
        libc, version = environment.libc()
        return Platform(
            os=SYSTEMS.get(sys.platform, "other"),
            architecture=architecture(machine) if machine else None,
            libc=libc,
            libc_version=version,
        )

    def python(self, origins: dict[str, str]) -> Python | None:
        """Return the Python that runs this program."""
        origins["python"] = "sys.version_info"
        origins["python.architecture"] = "os.uname"
        return environment.python(self.machine())

    def cpu(self, origins: dict[str, str]) -> Cpu:
        """Return the processor."""
        origins["cpu.threads"] = "os.cpu_count"
        return Cpu(threads=os.cpu_count())

    def memory(self, origins: dict[str, str]) -> Memory:
        """Return the system's memory."""
        origins["memory"] = "os.sysconf"
        return Memory(total_bytes=_pages("SC_PHYS_PAGES"), free_bytes=_pages("SC_AVPHYS_PAGES"))

    def processor(self, cpu: Cpu, origins: dict[str, str]) -> Device:
        """Return the processor as a device."""
        if "cpu" in origins:
            origins["devices[0]"] = origins["cpu"]
        return Device(kind="cpu", vendor_id=CPU_VENDORS.get(cpu.vendor or ""), name=cpu.name)

    def devices(self, platform: Platform, cpu: Cpu) -> Found:
        """Return the other devices, of a machine with this platform and processor."""
        del platform, cpu
        return Found()

    def onnxruntime(self, origins: dict[str, str]) -> OrtFacts:
        """Return what is installed of ONNX Runtime."""
        return environment.onnxruntime(origins)


def _pages(name: str) -> int | None:
    """Return a number of pages in bytes."""
    try:
        count = os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    return count if 0 < count <= MAX_COUNT else None
