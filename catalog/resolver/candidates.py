"""Candidates: every variant, on every build of every EP package, on every device; each with its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from ..compat import check
from ..selectors import select, told
from ..values.host import Device
from ..values.verdict import Reason, Verdict
from ..values.version import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..values.host import Host
    from ..values.model import Release, Variant
    from ..values.package import Build, Delivery, EpPackage, EpRelease
    from ..values.plan import Request

NOWHERE: Final = -1
"""The place of a device that a host does not have."""
_INSTALLED: Final[dict[str, Any]] = {"os": (), "architectures": (), "python": "", "onnxruntime": ""}
CPU_EP: Final = "CPUExecutionProvider"
"""The one that every ONNX Runtime has."""
ASKED: Final = "the request"


class Offer(NamedTuple):
    """A build of an EP package on a device."""

    package: EpPackage
    release: EpRelease
    build: Build
    place: int
    """The device's, among those of its host."""
    device: Device
    delivery: Delivery
    """The package's, or ``built-in`` where the ONNX Runtime at hand has the EP already."""
    age: int
    """How many releases of the package are newer."""
    verdict: Verdict


class Fitted(NamedTuple):
    """A variant on a device."""

    variant: Variant
    verdict: Verdict


class Candidate(NamedTuple):
    """A variant on an offer."""

    fitted: Fitted
    offer: Offer
    fits: bool

    @property
    def verdict(self) -> Verdict:
        """What all rules say of it; put together when it is asked for."""
        ep, asked = self.offer.package.ep, self.fitted.variant.eps
        reasons = (*self.fitted.verdict.reasons, *self.offer.verdict.reasons)
        if asked:
            holds = _built_for(self.fitted.variant, ep)
            reasons = (Reason("ep", "fits" if holds else "no", ep, " or ".join(asked), "the variant"), *reasons)
        return Verdict(reasons)


def candidates(model: Release, packages: Iterable[EpPackage], host: Host, request: Request) -> list[Candidate]:
    """Return all candidates, in no order.

    Raises:
        UsageError: the request's selector of a device is none, or means several.
        NothingFits: no device of the host is the one that the request demands.
    """
    chosen = select(request.device, host) if request.device else None
    offers = [offer for package in packages for offer in _offers(package, host, request, chosen)]
    fitted = {
        place: [Fitted(variant, _variant(variant, host, device, request)) for variant in model.variants]
        for place, device in enumerate(host.devices)
    }
    found: list[Candidate] = []
    fitted[NOWHERE] = [Fitted(variant, Verdict(_precision(variant, request))) for variant in model.variants]
    for offer in offers:
        fits, ep = bool(offer.verdict), offer.package.ep
        found += [
            Candidate(each, offer, fits and not each.verdict.against and _built_for(each.variant, ep))
            for each in fitted[offer.place]
        ]
    return found


def _offers(package: EpPackage, host: Host, request: Request, chosen: int | None) -> Iterator[Offer]:
    """Yield an offer for each release on each device that it could run on; of its builds, the nearest speaks for it."""
    delivery = _delivery(package, host)
    wanted = _wanted(package, request)
    releases = [_at_hand(package, host)] if delivery == "built-in" else newest_first(package.releases)
    for age, release in enumerate(releases):
        rules = tuple(_demands(package, release, delivery, request, wanted=wanted))
        for place in _places(release, host):
            device = host.devices[place] if place != NOWHERE else Device(kind=release.builds[0].kinds[0])
            judged = [
                (build, Verdict((*rules, *_build(build, place, host, request, chosen))))
                for build in release.builds
                if device.kind in build.kinds
            ]
            build, verdict = min(judged, key=_distance)
            yield Offer(package, release, build, place, device, delivery, age, verdict)


def _at_hand(package: EpPackage, host: Host) -> EpRelease:
    """Return what the ONNX Runtime at hand has of a package: whatever it took to install it is settled."""
    newest = newest_first(package.releases)[0]
    builds: list[Build] = []
    for build in newest.builds:
        left = replace(build, file=None, size_bytes=None, requires=replace(build.requires, **_INSTALLED))
        if left not in builds:
            builds.append(left)
    version = (host.onnxruntime.version or "").partition("+")[0]
    return replace(newest, builds=tuple(builds), version=version if CANONICAL.fullmatch(version) else "0")


def _places(release: EpRelease, host: Host) -> list[int]:
    """Return the places of the devices that a release is for, ``NOWHERE`` where the host has none."""
    kinds = {kind for build in release.builds for kind in build.kinds}
    return [place for place, device in enumerate(host.devices) if device.kind in kinds] or [NOWHERE]


def _build(build: Build, place: int, host: Host, request: Request, chosen: int | None) -> Iterator[Reason]:
    if place == NOWHERE:
        yield _missing(build, host)
        return
    yield from _place(place, host, chosen)
    yield from check(build.requires, host, host.devices[place], request.workload).reasons


def _distance(judged: tuple[Build, Verdict]) -> tuple[int, int]:
    reasons = judged[1].reasons
    return sum(reason.outcome == "no" for reason in reasons), sum(reason.outcome == "unknown" for reason in reasons)


def _place(place: int, host: Host, chosen: int | None) -> Iterator[Reason]:
    """Yield what is said of the device itself: the one that is demanded, or none that software plays."""
    if chosen is not None:
        yield _same("device", told(place, host), told(chosen, host), holds=place == chosen)
    elif host.devices[place].software:
        yield Reason("software", "no", "played by software", "a real device", ASKED, "name it: --device")


def _missing(build: Build, host: Host) -> Reason:
    """Return why a build has no device to run on: there is none of its kinds, or nobody has looked for them."""
    looked = all(kind in host.searched for kind in build.kinds)
    observed = "none" if looked else "nobody has looked for one"
    return Reason(
        "device-kind", "no" if looked else "unknown", observed, " or ".join(build.kinds), build.requires.source
    )


def _delivery(package: EpPackage, host: Host) -> Delivery:
    """Return how the EP comes to a process on ``host``."""
    if not host.onnxruntime.module:
        return package.delivery
    brought = {each.name for each in host.onnxruntime.distributions or ()}
    there = {each.ep.lower() for each in host.ep_devices or ()} | {CPU_EP.lower()}
    if package.ep.lower() in there or package.distribution in brought:
        return "built-in"
    return package.delivery


def _wanted(package: EpPackage, request: Request) -> bool:
    """Return whether ``package`` is what the request names as its EP, or whether it names none."""
    if request.ep is None:
        return True
    name = request.ep.partition("@")[0].lower()
    return name in {package.ep.lower(), package.name, package.name.partition("/")[2], *package.aliases}


def _demands(
    package: EpPackage, release: EpRelease, delivery: Delivery, request: Request, *, wanted: bool
) -> Iterator[Reason]:
    """Yield what the request says of a package, whatever the host is."""
    if request.ep is not None:
        version = request.ep.partition("@")[2]
        same = wanted and version in {"", release.version}
        yield _same("ep", f"{package.ep} of {package.name} {release.version}", request.ep, holds=same)
    allowed = " or ".join(request.channels)
    yield _same("channel", release.channel, allowed, holds=release.channel in request.channels)
    can = " or ".join(request.deliveries)
    yield Reason(
        "delivery",
        "fits" if delivery in request.deliveries else "no",
        delivery,
        can,
        "this version of inferry",
        "" if delivery in request.deliveries else f"install {package.distribution or package.name} yourself",
    )


def _variant(variant: Variant, host: Host, device: Device, request: Request) -> Verdict:
    reasons = _precision(variant, request)
    if variant.requires is not None:
        reasons += check(variant.requires, host, device, request.workload).reasons
    return Verdict(reasons)


def _precision(variant: Variant, request: Request) -> tuple[Reason, ...]:
    if request.precision is None:
        return ()
    return (_same("precision", variant.precision, request.precision, holds=variant.precision == request.precision),)


def _same(rule: str, observed: str, required: str, *, holds: bool) -> Reason:
    fix = "" if holds else f"ask for another {rule}"
    return Reason(rule, "fits" if holds else "no", observed, required, ASKED, fix)


def _built_for(variant: Variant, ep: str) -> bool:
    return not variant.eps or ep.lower() in {each.lower() for each in variant.eps}


def newest_first(releases: Sequence[EpRelease]) -> list[EpRelease]:
    """Return ``releases`` by their versions, the newest first."""
    from packaging.version import Version

    return sorted(releases, key=lambda release: Version(release.version), reverse=True)
