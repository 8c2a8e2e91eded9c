"""Linux: all is read from /proc, /sys and /etc, so that what was recorded elsewhere is read by the same code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...catalog.values.host import MAX_COUNT, Cpu, Memory, OrtFacts, Platform, architecture
from . import environment
from .found import Found
from .generic import Generic
from .sysfs import devicetree, limits, pci
from .sysfs.cpuinfo import processor
from .sysfs.tree import LONGEST, Tree, clean, whole

if TYPE_CHECKING:
    from ...catalog.values.host import Python


class Linux(Generic):
    """What a Linux system tells without any tool; of a recorded one, all but what its running processes would know."""

    def __init__(self, root: Path | None = None) -> None:
        """Read below ``root``, a folder with another machine's files; without one, this machine."""
        self._tree = Tree(root or Path("/"))
        self._here = root is None

    def machine(self) -> str | None:
        """Return what the kernel calls its machine; a recorded one needs Linux 6.1 or newer for it."""
        return super().machine() if self._here else self._tree.line("proc/sys/kernel/arch")

    def platform(self, origins: dict[str, str]) -> Platform:
        """Return the operating system: the kernel's version, the distribution's name."""
        origins["platform"] = "/proc/sys/kernel"
        origins["platform.os"] = "sys.platform"
        origins["platform.name"] = "/etc/os-release"
        machine = self.machine()
        number = re.match(r"[0-9]+(?:\.[0-9]+)*", self._tree.text("proc/sys/kernel/osrelease") or "")
        libc, libc_version = None, None
        if self._here:
            origins["platform.architecture"] = "os.uname"
            origins["platform.libc"] = origins["platform.libc_version"] = "os.confstr"
            libc, libc_version = environment.libc()
        return Platform(
            os="linux",
            name=self._distribution(),
            version=number[0] if number and len(number[0]) < LONGEST else None,
            architecture=architecture(machine) if machine else None,
            libc=libc,
            libc_version=libc_version,
            product=self._product(origins),
            soc=self._soc(origins),
        )

    def python(self, origins: dict[str, str]) -> Python | None:
        """Return the Python that runs this program."""
        return super().python(origins) if self._here else None

    def cpu(self, origins: dict[str, str]) -> Cpu:
        """Return the processor, with what a container may use of it."""
        cpu = processor(self._tree, origins)
        if cpu.threads is None and self._here:
            cpu = msgspec.structs.replace(cpu, threads=super().cpu(origins).threads)
        limit = limits.cpu_limit(self._tree)
        if limit is None or not 0 < limit.value < MAX_COUNT:
            return cpu
        origins["cpu.limit"] = limit.origin
        return msgspec.structs.replace(cpu, limit=limit.value)

    def memory(self, origins: dict[str, str]) -> Memory:
        """Return the system's memory, with what a container may use of it."""
        origins["memory"] = "/proc/meminfo"
        lines = (line.partition(":") for line in (self._tree.text("proc/meminfo") or "").splitlines())
        told = {name: whole(value.removesuffix("kB"), most=MAX_COUNT // 1024) for name, _, value in lines}
        total, free = told.get("MemTotal"), told.get("MemAvailable")
        limit = limits.memory_limit(self._tree)
        if limit:
            origins["memory.limit_bytes"] = limit.origin
        return Memory(
            total_bytes=1024 * total if total else None,
            free_bytes=1024 * free if free is not None else None,
            limit_bytes=int(limit.value) if limit else None,
        )

    def devices(self, platform: Platform, cpu: Cpu) -> Found:
        """Return the GPUs and NPUs on PCI, then those of a system on a chip."""
        virtual = "hypervisor" in (cpu.features or ())
        looks = (pci.look(self._tree, architecture=platform.architecture, virtual=virtual), devicetree.look(self._tree))
        return Found(
            tuple(seen for found in looks for seen in found.seen),
            next((found.searched for found in looks if found.searched), ()),
            tuple(excluded for found in looks for excluded in found.excluded),
        )

    def onnxruntime(self, origins: dict[str, str]) -> OrtFacts:
        """Return what is installed of ONNX Runtime."""
        return super().onnxruntime(origins) if self._here else OrtFacts()

    def _distribution(self) -> str | None:
        text = self._tree.text("etc/os-release") or self._tree.text("usr/lib/os-release") or ""
        found = re.search(r"^PRETTY_NAME=(.*)$", text, re.MULTILINE)
        return clean(found[1].strip("\"'")) if found else None

    def _product(self, origins: dict[str, str]) -> str | None:
        """Return what the machine is sold as."""
        for path in ("sys/class/dmi/id/product_name", "sys/firmware/devicetree/base/model"):
            if told := self._tree.line(path):
                origins["platform.product"] = f"/{path}"
                return told
        return None

    def _soc(self, origins: dict[str, str]) -> str | None:
        """Return the system on a chip, which is the last that a devicetree says the machine is compatible with."""
        path = "sys/firmware/devicetree/base/compatible"
        told = self._tree.strings(path)
        if told:
            origins["platform.soc"] = f"/{path}"
        return told[-1] if told else None
