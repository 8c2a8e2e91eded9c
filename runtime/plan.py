"""A plan: what would be run on a host, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from msgspec.structs import replace

from ..catalog.errors import NothingFits, Refused, UsageError
from ..catalog.resolver.explain import decisive, document, explain, named, planned
from ..catalog.resolver.offers import names_of, permits
from ..catalog.resolver.resolution import resolve
from ..catalog.settings import DevicePolicy, Effective, Layer, Settings
from ..catalog.values.digest import Digest
from ..catalog.values.model import Artifact, Variant
from ..catalog.values.plan import ALL_DELIVERIES, Request, Subject, stamp
from ..catalog.values.version import CHANNELS
from ..ep_packages.table import packages
from .describe import is_orts_own
from .ort import library

if TYPE_CHECKING:
    from ..catalog.resolver.candidates import Candidate
    from ..catalog.resolver.resolution import Resolution
    from ..catalog.values.host import Host
    from ..catalog.values.package import Delivery
    from ..catalog.values.plan import Planned

CARRIED_OUT: Final[tuple[Delivery, ...]] = ("built-in",)
"""The deliveries that this version can carry out."""
_NEAREST: Final = 8
"""How many rejections are told where nothing fits: those with the least against them."""


class Pins(TypedDict, total=False):
    """What a caller may ask for; ``None`` asks for nothing."""

    policy: str | None
    """A device policy, ``prefer-gpu``: a preference."""
    ep: str | None
    """An execution provider, by name or alias, or an EP package with or without ``@version``: a demand."""
    device: str | None
    """A device, ``gpu``, ``gpu:1``, ``nvidia``, ``10de:2684``: a demand."""
    precision: str | None
    """The precision of the variant, ``int8``: a demand."""
    channel: str | None
    """Releases of this channel too, of models and EP packages: ``preview`` or ``test``."""
    source: str | None
    """The source of the model, by its name or address: a demand."""


class Plan:
    """The answer to which variant of a model runs on which execution provider and device of a host."""

    def __init__(self, resolution: Resolution, here: Resolution) -> None:
        """Keep what is best on the host, and what is best of that which this version can carry out."""
        self.resolution = resolution
        self.here = here

    @property
    def chosen(self) -> Candidate | None:
        """The candidate that is planned; ``None`` where nothing fits."""
        return self.resolution.best

    @property
    def stamp(self) -> Digest:
        """The digest of the facts that the plan hangs on: as long as it stays the same, the plan holds."""
        it = self.resolution
        return stamp(it.host, it.request, model=it.model.release or it.model.variants[0].artifact.digest)

    def record(self) -> Planned | None:
        """Return what the plan comes to, a value with a canonical form; ``None`` where nothing fits."""
        return planned(self.resolution, self.chosen) if self.chosen else None

    def of(self, candidate: Candidate) -> Planned:
        """Return what carrying out one of the candidates comes to."""
        return planned(self.here, candidate)

    def demand(self) -> Candidate:
        """Return the candidate that this version can carry out; raise ``NothingFits`` with each rejection if none."""
        best = self.here.best
        if best is None:
            nearest = sorted(self.here.rejected, key=lambda each: len(each.verdict.against))[:_NEAREST]
            told = [f"{named(each)}: {decisive(each).words()}" for each in nearest]
            raise NothingFits(f"nothing of {self.here.model} fits this machine and what was asked for", hints=told)
        return best

    def why_not_here(self) -> str:
        """Return in one line what speaks against the nearest candidate that this version could carry out."""
        nearest = min(self.here.rejected, key=lambda each: len(each.verdict.against))
        return f"{named(nearest)}: {decisive(nearest).words()}"

    def explain(self) -> str:
        """Return the choice, why it beat the second, and each rejection with what would change it, in lines."""
        lines = explain(self.resolution)
        best = self.here.best
        if self.chosen and (best is None or named(best) != named(self.chosen)):
            lines.insert(1, f"this version of inferry can carry out: {named(best) if best else 'nothing of it'}")
        return "\n".join(lines)

    def document(self) -> dict[str, Any]:
        """Return the plan and all candidates for JSON; ``here`` is the plan that this version can carry out."""
        told = document(self.resolution)
        here = document(self.here)["plan"] if self.here is not self.resolution else told["plan"]
        return {**told, "here": here, "stamp": str(self.stamp)}

    def __repr__(self) -> str:
        return f"<Plan {named(self.chosen) if self.chosen else 'of nothing'}>"


def make_plan(model: Subject, host: Host, pins: Pins, *, elsewhere: bool, settings: Effective | None = None) -> Plan:
    """Resolve a model for a host; ``elsewhere`` says that it is another machine, whose best is worth knowing.

    ``settings`` are those that hold together with ``pins``; without them, the defaults.

    Raises:
        UsageError: a pin is malformed.
        Refused: the machine policy rules out the EP that is demanded.
        NothingFits: no device of the host is the one that is demanded.
    """
    request = _request(pins, settings or Effective([Layer("command line", asked(pins))]))
    here = resolve(model, packages(), host, replace(request, deliveries=CARRIED_OUT))
    return Plan(resolve(model, packages(), host, request) if elsewhere else here, here)


def of_file(name: str, data: bytes) -> Subject:
    """Return an ONNX file that no manifest names as a model of one variant."""
    from ..catalog.operators import read_graph

    graph = None if is_orts_own(data) else read_graph(data)
    artifact = Artifact(
        path="model.onnx", media_type="application/vnd.onnx", digest=Digest.of(data), size_bytes=len(data)
    )
    unknown = cast("Any", None)  # nobody says which precision a file is in
    return Subject(name, None, (Variant(name="the file", precision=unknown, artifact=artifact, graph=graph),))


def with_module(host: Host) -> Host:
    """Return ``host`` with what the imported ONNX Runtime says of itself, which beats what its files say.

    Raises:
        OnnxRuntimeMissing: there is none.
    """
    ort = library()
    inside = tuple(ort.get_available_providers())
    return replace(host, onnxruntime=replace(host.onnxruntime, module=True, version=ort.__version__, eps=inside))


def asked(pins: Pins) -> Settings:
    """Return the settings that are among the pins; raise ``UsageError`` where one is malformed."""
    channel, policy = pins.get("channel"), pins.get("policy")
    if channel not in {None, *CHANNELS}:
        raise UsageError(f"there is no channel `{channel}`", hints=(f"there are {', '.join(CHANNELS)}",))
    return Settings(
        policy=DevicePolicy.parse(policy) if policy else None,
        channels=tuple(each for each in CHANNELS if each == channel) or None,
    )


def _request(pins: Pins, settings: Effective) -> Request:
    ep = pins.get("ep")
    limits = settings.ep_limits(asked=ep is not None)
    if ep is not None:
        named = [package for package in packages() if ep.lower().partition("@")[0] in names_of(package)]
        for limit in limits:
            if named and not any(permits(limit, package) for package in named):
                is_told = "is not among those allowed" if limit.allowed else "is among those denied"
                raise Refused(f"{limit.origin}: `{ep}` {is_told}: {', '.join(limit.eps)}")
    policy = settings["policy"]
    return Request(
        policy=None if policy.origin == "default" else str(policy.value),
        ep=ep,
        device=pins.get("device"),
        precision=pins.get("precision"),
        channels=settings.channels,
        deliveries=ALL_DELIVERIES,
        ep_limits=limits,
    )
