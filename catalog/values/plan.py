"""Plans: what is asked for when a model is to be run, what it comes to, and what facts that hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from ..version import VERSION
from . import canonical
from .digest import Digest
from .host import DeviceKind
from .package import Delivery
from .requirement import Workload
from .version import Channel

if TYPE_CHECKING:
    from .host import Host
    from .model import Release, Variant

ALL_DELIVERIES: Final[tuple[Delivery, ...]] = ("built-in", "plugin", "engine", "system", "local")
_ONE_BOOT: Final = ("pci:", "luid:")
"""How a selector begins that names a device as it is called until the machine starts again."""


class Subject(NamedTuple):
    """The model that is asked for: a release, or a file that no manifest names."""

    name: str
    version: str | None
    """``None`` for a file."""
    variants: tuple[Variant, ...]
    accuracy_limit: float | None = None
    release: Digest | None = None
    """Of the release document; ``None`` for a file."""

    @classmethod
    def of(cls, release: Release) -> Subject:
        """Return what the choice needs of a release."""
        return cls(release.name, release.version, release.variants, release.accuracy_limit, release.digest)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version)))


class EpLimit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which EPs somebody allows, or denies, on this machine."""

    eps: tuple[str, ...]
    """Names of EPs and packages, and aliases, in lower case."""
    allowed: bool
    """Whether these alone are allowed, or these alone are denied."""
    rule: Literal["machine-policy", "setting"]
    """What it is called in a verdict."""
    origin: str
    """The file and the key that say so."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked for. ``None`` asks for nothing."""

    policy: str | None = None
    """A device policy: a preference."""
    ep: str | None = None
    """An EP by its name or an alias, or an EP package with or without ``@version``: a demand, as are those below."""
    device: str | None = None
    """A selector: a kind, a vendor, ids, an index."""
    precision: str | None = None
    channels: tuple[Channel, ...] = ("stable",)
    deliveries: tuple[Delivery, ...] = ALL_DELIVERIES
    """What whoever asks can carry out."""
    workload: Workload | None = None
    ep_limits: tuple[EpLimit, ...] = ()
    """What the settings say of EPs."""


class PlannedArtifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file that a plan needs."""

    path: str
    """Where it lies in its release."""
    sha256: str
    """64 hexadecimal digits."""
    size_bytes: int


class PlannedDevice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The device that a plan is for, as far as the host tells it; as ``Device`` has its fields."""

    kind: DeviceKind
    place: int
    """Among the host's devices, from 0: the same on every host of the same stamp. -1 where the host has none."""
    vendor_id: str | None = None
    device_id: str | None = None
    name: str | None = None
    pci: str | None = None
    luid: str | None = None


class Planned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan comes to: all that carrying it out needs, so that nothing is chosen again."""

    model: str
    """The model's name, or a file's path."""
    version: str | None
    """``None`` for a file."""
    release: Digest | None
    """Of the release document; ``None`` for a file."""
    variant: str
    precision: str | None
    """``None`` for a file: nobody says it."""
    artifacts: tuple[PlannedArtifact, ...]
    ep: str
    ep_package: str
    """``namespace/name@version``."""
    delivery: Delivery
    device: PlannedDevice
    onnxruntime: str | None
    """The version of the ONNX Runtime that runs it, where it is known."""
    request: Request
    download_bytes: int = 0

    @property
    def digest(self) -> Digest:
        """The digest of its canonical form."""
        return canonical.digest(self)


def stamp(host: Host, request: Request, *, model: str, program: str = VERSION) -> Digest:
    """Return the digest of ``hangs_on``: as long as it stays the same, a plan that was made holds."""
    return canonical.digest(hangs_on(host, request, model=model, program=program))


def hangs_on(host: Host, request: Request, *, model: str, program: str = VERSION) -> dict[str, Any]:
    """Return the facts that a plan hangs on.

    =============== ======================================================================================
    ``platform``    system, version, build, architecture, C library, system on a chip
    ``python``      version, implementation, architecture
    ``cpu``         vendor, family, model, stepping, name, features
    ``memory``      in total, and what a container may use of it
    ``devices``     each with ids, name, memory, API levels, driver and nodes, in the host's order: ``gpu:1``
                    and ties go by it; addresses only where the request selects by one
    ``searched``    the kinds of device that were looked for
    ``onnxruntime`` the distributions that brought it, in any order, its version and the EPs inside it
    ``ep_devices``  in any order
    ``request``     policy and pins, channels, deliveries, workload, what settings say of EPs
    ``model``       the digest of the release document or the file, or the serial of what it was chosen from
    ``program``     the version of this program, with which its table of EP packages comes
    =============== ======================================================================================

    Nothing else counts: not what is free of the memory, how many cores there are or may be used, how the system and
    the machine are called for people, what is no device, or where a fact was read.
    """
    ort, ep_devices = host.onnxruntime, host.ep_devices
    asked = (request.device or "").lower()
    told = {prefix[:-1]: None for prefix in _ONE_BOOT if not asked.startswith(prefix)}
    return {
        "platform": replace(host.platform, name=None, product=None),
        "python": host.python,
        "cpu": replace(host.cpu, cores=None, threads=None, limit=None),
        "memory": replace(host.memory, free_bytes=None),
        "devices": [replace(device, **told) for device in host.devices],
        "searched": sorted(host.searched),
        "onnxruntime": replace(ort, distributions=_in_any_order(ort.distributions)),
        "ep_devices": _in_any_order(ep_devices),
        "request": request,
        "model": model,
        "program": program,
    }


def _in_any_order(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(sorted(values, key=canonical.encode))
