"""Offers: a release of an EP package on a device, whatever the model is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from ..compat import check, shut
from ..selectors import told
from ..values.host import Device
from ..values.verdict import Reason, Verdict
from ..values.version import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..values.host import Host
    from ..values.package import Build, Delivery, EpPackage, EpRelease
    from ..values.plan import EpLimit, Request

NOWHERE: Final = -1
"""The place of a device that a host does not have."""
ASKED: Final = "the request"
_INSTALLED: Final[dict[str, Any]] = {"os": (), "architectures": (), "python": "", "onnxruntime": ""}
"""What a requirement no longer asks of what is installed: it is there, and works."""
_CPU_EP: Final = "cpuexecutionprovider"
"""The one that every ONNX Runtime has."""


class Offer(NamedTuple):
    """A release of an EP package on a device; of its builds the nearest."""

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
    onnxruntime: str | None
    """The version of the ONNX Runtime that would run it, where it is known."""
    verdict: Verdict


def offers(package: EpPackage, host: Host, request: Request, chosen: int | None) -> Iterator[Offer]:
    """Yield an offer for each release of a package on each device that it could run on.

    A release without such a device is offered once, ``NOWHERE``. ``chosen`` is the place of the device that the
    request demands.
    """
    delivery = _delivery(package, host)
    releases = [_at_hand(package, host)] if delivery == "built-in" else newest_first(package.releases)
    for age, release in enumerate(releases):
        rules = tuple(_demands(package, release, delivery, request))
        version = release.version if delivery == "engine" else host.onnxruntime.version
        for place in _places(release, host):
            device = host.devices[place] if place != NOWHERE else Device(kind=release.builds[0].kinds[0])
            judged = [
                (build, Verdict((*rules, *_build(build, place, host, request, chosen))))
                for build in release.builds
                if device.kind in build.kinds
            ]
            build, verdict = min(judged, key=_distance)
            yield Offer(package, release, build, place, device, delivery, age, version, verdict)


def newest_first(releases: Sequence[EpRelease]) -> list[EpRelease]:
    """Return ``releases`` by their versions, the newest first."""
    from packaging.version import Version

    return sorted(releases, key=lambda release: Version(release.version), reverse=True)


def says(rule: str, observed: str | None, required: str, origin: str, *, holds: bool) -> Reason:
    """Return the reason that follows from what was observed; ``None`` is what is not known."""
    if observed is None:
        return Reason(rule, "unknown", "unknown", required, origin)
    return Reason(rule, "fits" if holds else "no", observed, required, origin)


def asked(rule: str, observed: str, required: str, *, holds: bool) -> Reason:
    """Return what the request itself says of something."""
    reason = says(rule, observed, required, ASKED, holds=holds)
    return reason if holds else reason._replace(fix=f"ask for another {rule}")


def names_of(package: EpPackage) -> set[str]:
    """Return all that means a package, in lower case: its EP, its name with and without namespace, its aliases."""
    return {package.ep.lower(), package.name, package.name.partition("/")[2], *package.aliases}


def permits(limit: EpLimit, package: EpPackage) -> bool:
    """Return whether a limit lets a package be used."""
    return limit.allowed is not names_of(package).isdisjoint(limit.eps)


def _delivery(package: EpPackage, host: Host) -> Delivery:
    """Return how the EP comes to a process on ``host``."""
    it = host.onnxruntime
    if not it.module or package.delivery not in {"engine", "plugin"}:
        return package.delivery
    # What a distribution of a whole ONNX Runtime brings as a plugin for others is built into its own.
    brought = package.distribution in {each.name for each in it.distributions or ()}
    if it.eps is None:
        at_hand = brought or package.ep.lower() == _CPU_EP
    else:
        inside = package.ep.lower() in {ep.lower() for ep in it.eps}
        at_hand = inside and (brought or package.delivery == "engine")
    return "built-in" if at_hand else package.delivery


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
    kinds = {kind for build in release.builds for kind in build.kinds}
    return [place for place, device in enumerate(host.devices) if device.kind in kinds] or [NOWHERE]


def _demands(package: EpPackage, release: EpRelease, delivery: Delivery, request: Request) -> Iterator[Reason]:
    """Yield what the request says of a release, whatever the host is."""
    if request.ep is not None:
        name, _, version = request.ep.lower().partition("@")
        holds = name in names_of(package) and version in {"", release.version}
        yield asked("ep", f"{package.ep} of {package.name} {release.version}", request.ep, holds=holds)
    for limit in request.ep_limits:
        holds = permits(limit, package)
        required = f"{'one' if limit.allowed else 'none'} of {', '.join(limit.eps)}"
        reason = says(limit.rule, package.ep, required, limit.origin, holds=holds)
        yield reason if holds or limit.rule == "machine-policy" else reason._replace(fix="change the setting")
    channels = " or ".join(request.channels)
    yield asked("channel", release.channel, channels, holds=release.channel in request.channels)
    can = delivery in request.deliveries
    reason = says("delivery", delivery, " or ".join(request.deliveries), "this version of inferry", holds=can)
    yield reason if can else reason._replace(fix=f"install {package.distribution or package.ep} yourself")


def _build(build: Build, place: int, host: Host, request: Request, chosen: int | None) -> Iterator[Reason]:
    """Yield what is said of a build on the device at ``place``."""
    if place == NOWHERE:
        looked = all(kind in host.searched for kind in build.kinds)
        observed = "none" if looked else None
        yield says("device-kind", observed, " or ".join(build.kinds), build.requires.source, holds=False)
        return
    if chosen is not None:
        yield asked("device", told(place, host), told(chosen, host), holds=place == chosen)
    elif host.devices[place].software:
        yield Reason("software", "no", "played by software", "a real device", ASKED, "name it: --device")
    yield from check(build.requires, host, host.devices[place], request.workload).reasons
    yield from (reason for node, reason in shut(host.devices[place]) if node.only_for is None)


def _distance(judged: tuple[Build, Verdict]) -> tuple[int, int]:
    reasons = judged[1].reasons
    return sum(reason.outcome == "no" for reason in reasons), sum(reason.outcome == "unknown" for reason in reasons)
