"""EP packages: what a vendor, or whoever packages for it, ships of an execution provider (EP)."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from .host import DeviceKind
from .names import PackageName
from .requirement import Requirement
from .version import CANONICAL, Channel

Delivery = Literal["built-in", "plugin", "engine", "system", "local"]
"""How an EP comes to a process: inside the ONNX Runtime (ORT) that it has; as a library that is registered with that;
as a whole ORT of its own; already on the machine; as a library that the user names."""
Support = Literal["supported", "experimental"]
Reach = Literal["vendor", "generic", "cpu"]
"""Whose devices an EP is made for: one vendor's, any vendor's, or the processor alone."""

_ALIAS: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_EP: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,99}")
_VARIABLE: Final = re.compile(r"[A-Z][A-Z0-9_]{2,99}\*?")


class Build(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One build of a release: for the systems, processors and devices that it requires."""

    kinds: tuple[DeviceKind, ...]
    """The kinds of device that it runs on."""
    requires: Requirement
    file: str | None = None
    """Its file, as the place that delivers it calls it."""
    size_bytes: int | None = None
    """Of that file."""

    def __post_init__(self) -> None:
        """Refuse a build for nothing, and a size that cannot be; raise ``ValueError`` naming the field."""
        if not self.kinds:
            raise ValueError("kinds: a build is for at least one kind of device")
        if self.size_bytes is not None and self.size_bytes < 0:
            raise ValueError(f"size_bytes: {self.size_bytes} is negative")


class EpRelease(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One immutable version of an EP package."""

    version: str
    """In the normal form of PEP 440; of what is no Python package, its own numbers."""
    builds: tuple[Build, ...]
    channel: Channel = "stable"

    def __post_init__(self) -> None:
        """Refuse a release of nothing; raise ``ValueError`` naming the field."""
        if not CANONICAL.fullmatch(self.version):
            raise ValueError(f"version: `{self.version[:100]}` is no version in the normal form of PEP 440, as 1.2.0")
        if not self.builds:
            raise ValueError("builds: a release has at least one")


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sentence that a row rests on, and where it stands."""

    says: str
    source: str
    """A heading of ``docs/reference/facts.md``, ``PyPI NAME VERSION, DATE``, or a vendor's address with a date."""


class EpPackage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An EP package with its releases."""

    name: PackageName
    ep: str
    """The EP's name, ``QNNExecutionProvider``; names match in any case."""
    summary: str
    vendor: str
    """Who made the EP, for people."""
    reach: Reach
    delivery: Delivery
    license: str
    """An SPDX licence expression, or ``LicenseRef-`` and a name."""
    releases: tuple[EpRelease, ...]
    """Newest first."""
    facts: tuple[Fact, ...]
    aliases: tuple[str, ...] = ()
    """Short names for ``--ep``."""
    support: Support = "supported"
    options: dict[DeviceKind, dict[str, str]] = {}
    """What ONNX Runtime is told for a device of a kind: its options of this EP."""
    distribution: str | None = None
    """The Python distribution that carries it, normalised, where there is one."""
    environment: tuple[str, ...] = ()
    """The environment variables that bend what the EP sees, so that a child process that asks it keeps them; a name
    that ends in ``*`` stands for all that begin so."""

    def __post_init__(self) -> None:
        """Refuse names of another form, and a package without releases; raise ``ValueError`` naming the field."""
        if not _EP.fullmatch(self.ep):
            raise ValueError(f"ep: `{self.ep[:100]}` is not an execution provider's name")
        for alias in self.aliases:
            if not _ALIAS.fullmatch(alias):
                raise ValueError(f"aliases: `{alias[:100]}` is not made of lower-case letters, digits and `-`")
        for name in self.environment:
            if not _VARIABLE.fullmatch(name):
                raise ValueError(
                    f"environment: `{name[:100]}` is no variable's name, nor the first letters of one and `*`"
                )
        if not self.releases:
            raise ValueError("releases: a package has at least one")
