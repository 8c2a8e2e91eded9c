"""Hosts: a machine as facts: its platform, processor, memory, devices with their drivers, Python and ONNX Runtime.

A fact that could not be read is ``None``: unknown, which is neither "none" nor a guess.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

Os = Literal["windows", "linux", "macos", "other"]
DeviceKind = Literal["cpu", "gpu", "npu"]
DriverScheme = Literal["wddm", "vendor-package", "linux"]
"""Whose numbering a driver's version follows: they cannot be compared with each other."""
Api = Literal["cuda-compute", "d3d12", "vulkan"]
"""What an API level is of: CUDA's compute capability, Direct3D 12's feature level (``12.1``), Vulkan's version."""

Access = Literal["open", "denied", "missing"]

MAX_COUNT: Final = 2**53 - 1
"""The largest number that every reader of JSON takes exactly; of bytes, 9 PB."""

_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_WORD: Final = re.compile(r"[a-z0-9_]{1,32}")
_ID: Final = re.compile(r"[0-9a-f]{4}")
_SUBSYSTEM: Final = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}")
_ARCHITECTURES: Final = {
    "x86_64": "x64",
    "amd64": "x64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "i386": "x86",
    "i586": "x86",
    "i686": "x86",
    "armv6l": "arm",
    "armv7l": "arm",
    "armv8l": "arm",
}


def architecture(machine: str) -> str | None:
    """Return our word for what a system calls its machine: ``x64``, ``arm64``, ``x86``, ``arm``, else its own word.

    ``None`` where it is no word.
    """
    word = machine.strip().lower()
    return _ARCHITECTURES.get(word, word) if _WORD.fullmatch(word) else None


def _is_version(name: str, text: str | None) -> None:
    if text is not None and not _VERSION.fullmatch(text):
        raise ValueError(f"{name}: `{text[:100]}` is not made of numbers with dots")


def _is_count(name: str, count: int | None, *, least: int = 0) -> None:
    if count is not None and not least <= count <= MAX_COUNT:
        raise ValueError(f"{name}: {count} is not between {least} and {MAX_COUNT}")


class Platform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The operating system, and the machine as it sees it."""

    os: Os
    name: str | None = None
    """For people: of the distribution or the product."""
    version: str | None = None
    """Numbers with dots, to be compared: of the Linux kernel, of macOS, of Windows (``10.0.26100``)."""
    build: int | None = None
    """Windows's."""
    architecture: str | None = None
    """``x64``, ``arm64``, ``x86``, ``arm``, or the system's own word in lower case."""
    libc: str | None = None
    """``glibc`` or ``musl``."""
    libc_version: str | None = None
    """Numbers with dots."""
    product: str | None = None
    """What the machine is sold as."""
    soc: str | None = None
    """The system on a chip, as devicetrees name it: ``qcom,x1e80100``."""

    def __post_init__(self) -> None:
        """Refuse a version that cannot be compared; raise ``ValueError`` naming the field."""
        _is_version("version", self.version)
        _is_version("libc_version", self.libc_version)
        _is_count("build", self.build)


class Python(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Python that runs this program, or would."""

    version: str
    """Such as ``3.11.7``."""
    implementation: str
    """Such as ``cpython``."""
    architecture: str | None = None
    """What its own machine code is for; on an emulated Python it is not the platform's."""


class Cpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The processor."""

    vendor: str | None = None
    """As it names itself (``GenuineIntel``); of an Arm core, who designed it."""
    family: int | None = None
    """As x86 counts; Arm has none."""
    model: int | None = None
    """As x86 counts; of an Arm core its part number; unknown where the cores are of several kinds."""
    stepping: int | None = None
    name: str | None = None
    """For people."""
    features: tuple[str, ...] | None = None
    """What its instruction set has, by the Linux kernel's names, sorted: ``avx2``, ``avx512_vnni``, ``asimddp``."""
    cores: int | None = None
    """Physical ones."""
    threads: int | None = None
    """What the system schedules on."""
    limit: float | None = None
    """How many of them a container may keep busy; ``None`` too where there is no limit."""

    def __post_init__(self) -> None:
        """Refuse counts that cannot be; raise ``ValueError`` naming the field."""
        for name in ("family", "model", "stepping", "cores", "threads"):
            _is_count(name, getattr(self, name), least=int(name in {"cores", "threads"}))
        if self.limit is not None and not 0 < self.limit < MAX_COUNT:
            raise ValueError(f"limit: {self.limit} is not a number of processors")


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The system's memory, in bytes."""

    total_bytes: int | None = None
    free_bytes: int | None = None
    """What programs could be given when it was looked at."""
    limit_bytes: int | None = None
    """What a container may use of it; ``None`` too where there is no limit."""

    def __post_init__(self) -> None:
        """Refuse what is no number of bytes; raise ``ValueError`` naming the field."""
        for name in ("total_bytes", "free_bytes", "limit_bytes"):
            _is_count(name, getattr(self, name))


class Driver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What drives a device."""

    scheme: DriverScheme
    name: str | None = None
    """Empty where the system has none for the device."""
    version: str | None = None
    """As the scheme writes it; a driver that comes with the Linux kernel often has none of its own."""


class Node(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What programs open to get at a device: a file below Linux's /dev."""

    path: str
    access: Access | None = None
    """Whether the user of this program may read and write it."""
    only_for: str | None = None
    """What alone goes through it, such as ``ROCm``; any other node all programs need that run on the device."""


class Device(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One hardware device that models could run on; the processor is one of them."""

    kind: DeviceKind
    vendor_id: str | None = None
    """As PCI numbers vendors, four hexadecimal digits in lower case, also where the device is not on PCI."""
    device_id: str | None = None
    """As ``vendor_id``; only what is on PCI has one."""
    subsystem: str | None = None
    """The card's own vendor and device, ``1043:8694``."""
    name: str | None = None
    """For people."""
    memory_bytes: int | None = None
    """Of its own; of an integrated one, what firmware set aside for it."""
    shared_bytes: int | None = None
    """What it may use of the system's memory."""
    integrated: bool | None = None
    """Whether it is part of the processor and works in the system's memory."""
    software: bool = False
    """Whether a program plays it, or a hypervisor: used only where it is named."""
    driver: Driver | None = None
    nodes: tuple[Node, ...] | None = None
    """What programs open to get at it."""
    apis: dict[Api, str] = {}
    """The level of each API that is known of; one that is missing is unknown."""
    pci: str | None = None
    """Its address, ``0000:01:00.0``; lives one boot."""
    luid: str | None = None
    """Windows's name for it, ``high:low``; lives one boot."""

    def __post_init__(self) -> None:
        """Refuse ids of another form, and sizes that cannot be; raise ``ValueError`` naming the field."""
        for name, grammar in (("vendor_id", _ID), ("device_id", _ID), ("subsystem", _SUBSYSTEM)):
            text = getattr(self, name)
            if text is not None and not grammar.fullmatch(text):
                raise ValueError(f"{name}: `{text[:100]}` is not written in four lower-case hexadecimal digits an id")
        _is_count("memory_bytes", self.memory_bytes)
        _is_count("shared_bytes", self.shared_bytes)
        for level in self.apis.values():
            _is_version("apis", level)


class Excluded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that looks like a device and is none to run on."""

    vendor_id: str | None
    device_id: str | None
    reason: str


class Distribution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A Python distribution that is installed."""

    name: str
    """Normalised, as ``onnxruntime-gpu``."""
    version: str


class OrtFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ONNX Runtime (ORT) as it is installed."""

    module: bool | None = None
    """Whether there is a module ``onnxruntime`` to import."""
    distributions: tuple[Distribution, ...] | None = None
    """Those that say they brought that module; where there are several, one wrote over the other's files."""
    version: str | None = None
    """Its distribution's, where there is exactly one."""
    eps: tuple[str, ...] | None = None
    """The execution providers inside it, as it lists them itself."""


class EpDevice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pair of an execution provider (EP) and a device that it says it supports."""

    ep: str
    kind: DeviceKind
    vendor_id: str | None = None
    device_id: str | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A machine, as far as it is known."""

    platform: Platform
    python: Python | None = None
    cpu: Cpu = Cpu()
    memory: Memory = Memory()
    devices: tuple[Device, ...] = ()
    """The processor first, then in the order of their addresses."""
    searched: tuple[DeviceKind, ...] = ()
    """The kinds of device that were looked for; of any other kind there may be some that nobody saw."""
    excluded: tuple[Excluded, ...] = ()
    onnxruntime: OrtFacts = OrtFacts()
    ep_devices: tuple[EpDevice, ...] | None = None
    origins: dict[str, str] = {}
    """Where facts were read, by the path of the fact: ``devices[1].driver`` from ``/sys/bus/pci/devices/…/driver``.

    A path stands for all below it that have no origin of their own, and the empty one for all of the host. An unknown
    fact's origin says where it was looked for.
    """

    def origin(self, fact: str) -> str | None:
        """Return where the fact with the path ``fact`` was read, or looked for; ``None`` where nobody looked."""
        while fact and fact not in self.origins:
            fact = fact[: max(fact.rfind("."), fact.rfind("["), 0)]
        return self.origins.get(fact)
