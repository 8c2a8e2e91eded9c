"""Requirements: what a variant or a build of an EP package needs of a host; data, that a vendor publishes."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from .host import Api, DeviceKind, DriverScheme, Os

Workload = Literal["generation"]
"""What a model is run for, where an execution provider (EP) is published as unfit for it."""

VERSION: Final = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,7}")
_ID: Final = re.compile(r"[0-9a-f]{4}")
_IDS: Final = re.compile(r"([0-9a-f]{4})(?:-([0-9a-f]{4}))?")


class Bound(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions will do: numbers with dots, compared number by number; what is missing at the end is 0."""

    at_least: str | None = None
    at_most: str | None = None
    exactly: str | None = None

    def __post_init__(self) -> None:
        """Refuse a bound of nothing, of no version, or of two kinds; raise ``ValueError`` naming the field."""
        given = {name: getattr(self, name) for name in ("at_least", "at_most", "exactly")}
        told = {name: version for name, version in given.items() if version is not None}
        for name, version in told.items():
            if not VERSION.fullmatch(version):
                raise ValueError(f"{name}: `{version[:100]}` is not made of numbers with dots")
        if not told or (self.exactly is not None and len(told) > 1):
            raise ValueError("exactly: give it alone, or at_least, or at_most, or these two")
        if self.at_least is not None and self.at_most is not None and numbers(self.at_least) > numbers(self.at_most):
            raise ValueError(f"at_most: {self.at_most} is below at_least, {self.at_least}")


class DriverBound(Bound, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions of a device's driver will do."""

    scheme: DriverScheme
    """Whose numbering the versions follow: another scheme's cannot be compared with it."""


class OsRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One operating system that will do."""

    os: Os
    build_at_least: int | None = None
    """Of Windows: 26100 is Windows 11 24H2."""
    version_at_least: str | None = None
    """Of macOS, or of the Linux kernel."""
    glibc_at_least: str | None = None
    """Of Linux: what wheels for ``manylinux_2_28`` need."""

    def __post_init__(self) -> None:
        """Refuse what is no version; raise ``ValueError`` naming the field."""
        for name in ("version_at_least", "glibc_at_least"):
            version = getattr(self, name)
            if version is not None and not VERSION.fullmatch(version):
                raise ValueError(f"{name}: `{version[:100]}` is not made of numbers with dots")


class DeviceRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of device that will do; whatever is given must hold."""

    kind: DeviceKind
    vendor_ids: tuple[str, ...] = ()
    """As PCI numbers vendors, four hexadecimal digits in lower case; one of them."""
    device_ids: tuple[str, ...] = ()
    """Four hexadecimal digits, or two of these as a range, ``2200-2fff``; one of them."""
    names: tuple[str, ...] = ()
    """Product families: patterns of the device's name with ``*``, in any case; one of them."""
    intel_generation_at_least: int | None = None
    """Of Intel's processors, and of what is part of them: 11 is Tiger Lake, 12 Alder Lake, 15 Arrow and Lunar Lake."""
    memory_bytes: int | None = None
    """Of its own; of an integrated device, of the system's."""
    drivers: tuple[DriverBound, ...] = ()
    """All of those in the scheme of the device's driver: who bounds a driver in two schemes says it twice."""
    apis: dict[Api, str] = {}
    """The least level of each API."""
    apis_one_of: dict[Api, tuple[str, ...]] = {}
    """The levels of each API that will do: ``8.6`` is exactly that one, ``12.0+`` that one and all above."""
    source: str = ""
    """Where this is published, where that is another place than the requirement's."""

    def __post_init__(self) -> None:
        """Refuse ids, names and levels that are none; raise ``ValueError`` naming the field."""
        for each in self.vendor_ids:
            if not _ID.fullmatch(each):
                raise ValueError(f"vendor_ids: `{each[:100]}` is not four lower-case hexadecimal digits")
        for each in self.device_ids:
            ends = _IDS.fullmatch(each)
            if not ends or (ends[2] and ends[2] < ends[1]):
                raise ValueError(f"device_ids: `{each[:100]}` is not four lower-case hexadecimal digits, or a range")
        self._check_levels()

    def _check_levels(self) -> None:
        for level in self.apis.values():
            if not VERSION.fullmatch(level):
                raise ValueError(f"apis: `{level[:100]}` is not made of numbers with dots")
        for levels in self.apis_one_of.values():
            for level in levels:
                if not VERSION.fullmatch(level.removesuffix("+")):
                    raise ValueError(
                        f"apis_one_of: `{level[:100]}` is not made of numbers with dots, and perhaps a `+`"
                    )
            if not levels:
                raise ValueError("apis_one_of: no level would do")

    def has_id(self, device_id: str) -> bool:
        """Return whether ``device_id`` is one of those listed."""
        for each in self.device_ids:
            first, _, last = each.partition("-")
            if first <= device_id <= (last or first):
                return True
        return False


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must hold of a host; what is not given is not asked for."""

    source: str
    """Where it is published: a document and its date, or whose measurement."""
    os: tuple[OsRule, ...] = ()
    """One of them."""
    architectures: tuple[str, ...] = ()
    """``x64``, ``arm64``; one of them."""
    python: str = ""
    """Which versions of Python, as a specifier of PEP 440: those that there are wheels for."""
    onnxruntime: str = ""
    """Which versions of ONNX Runtime, as a specifier of PEP 440: ``>=1.24.4``."""
    cpu_features: tuple[str, ...] = ()
    """What the processor's instruction set must have, by the Linux kernel's names; all of them."""
    memory_bytes: int | None = None
    """Of the system's memory, what a run takes."""
    devices: tuple[DeviceRule, ...] = ()
    """One of them must hold of the device that is looked at."""
    not_for: tuple[Workload, ...] = ()
    """What it is published as unfit for."""


def level_bound(level: str) -> Bound:
    """Return the bound that a level of ``apis_one_of`` stands for."""
    least = level.removesuffix("+")
    return Bound(exactly=level) if least == level else Bound(at_least=least)


def numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, without zeros at the end, so that they compare as versions do."""
    found = [int(part) for part in version.split(".")]
    while found and not found[-1]:
        found.pop()
    return tuple(found)
