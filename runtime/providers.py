"""Providers: the EP packages that are known, and how each stands on a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ..catalog.resolver.explain import decisive
from ..catalog.resolver.offers import offers
from ..catalog.values.plan import ALL_DELIVERIES, Request
from ..catalog.values.version import CHANNELS
from ..ep_packages.table import packages

if TYPE_CHECKING:
    from ..catalog.resolver.offers import Offer
    from ..catalog.values.host import Host
    from ..catalog.values.package import Delivery
    from ..catalog.values.verdict import Reason
    from ..catalog.values.version import Channel

State = Literal["ready", "not-ready", "not-present", "blocked"]
"""``ready``: in the ONNX Runtime at hand. ``not-present``: it would have to be installed. ``blocked``: a rule is
against it, on every device. ``not-ready``: it is installed, and no session has had it yet."""
_ORDER = ("ready", "not-ready", "not-present", "blocked")


class Provider(NamedTuple):
    """An EP package, by the release and the device that it stands best with."""

    name: str
    """``namespace/name``."""
    ep: str
    version: str
    """Of the ONNX Runtime that has it, where that has it already."""
    channel: Channel
    delivery: Delivery
    """How it comes to a process: ``built-in`` where the ONNX Runtime at hand has it."""
    state: State
    fits: bool
    reasons: tuple[Reason, ...]
    """What each rule says."""
    told: str
    """In one line: the device, or what is against it."""

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {**self._asdict(), "reasons": [each._asdict() for each in self.reasons]}


def providers(host: Host) -> list[Provider]:
    """Return every EP package of the table as it stands on ``host``, by state and name."""
    request = Request(channels=CHANNELS, deliveries=ALL_DELIVERIES)
    best = [min(offers(package, host, request, None), key=_rank) for package in packages()]
    return sorted(map(_provider, best), key=lambda each: (_ORDER.index(each.state), each.name))


def _rank(offer: Offer) -> tuple[int, bool, int]:
    """Order offers: those with the least against them first, then stable ones, then newer."""
    return len(offer.verdict.against), offer.release.channel != "stable", offer.age


def _provider(offer: Offer) -> Provider:
    fits = bool(offer.verdict)
    device = offer.device
    return Provider(
        name=offer.package.name,
        ep=offer.package.ep,
        version=offer.release.version,
        channel=offer.release.channel,
        delivery=offer.delivery,
        state="blocked" if not fits else "ready" if offer.delivery == "built-in" else "not-present",
        fits=fits,
        reasons=offer.verdict.reasons,
        told=" ".join(filter(None, (device.kind, device.name))) if fits else decisive(offer).brief(),
    )
