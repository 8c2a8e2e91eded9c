"""Candidates: every variant, on every release of every EP package, on every device; each with its verdict."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..compat import check, within
from ..ort_versions import ort_range
from ..selectors import select
from ..values.verdict import Reason, Verdict
from .offers import NOWHERE, asked, offers, says

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..values.host import Device, Host
    from ..values.model import Variant
    from ..values.package import EpPackage
    from ..values.plan import Request, Subject
    from .offers import Offer


class Fitted(NamedTuple):
    """A variant on a device."""

    variant: Variant
    onnxruntime: str
    """The versions of ONNX Runtime that have its operators; empty where nobody read them."""
    verdict: Verdict
    fits: bool
    """What the verdict comes to: it is asked for with every offer."""


class Candidate(NamedTuple):
    """A variant on an offer."""

    fitted: Fitted
    offer: Offer
    fits: bool

    @property
    def verdict(self) -> Verdict:
        """What all rules say of it; put together when it is asked for."""
        return Verdict((*self.offer.verdict.reasons, *self.fitted.verdict.reasons, *self._together()))

    def _together(self) -> Iterator[Reason]:
        """Yield what is said of the variant on this offer, and of neither alone."""
        variant, offer = self.fitted.variant, self.offer
        if variant.eps:
            holds = _built_for(variant, offer.package.ep)
            yield says("variant-ep", offer.package.ep, " or ".join(variant.eps), "the variant", holds=holds)
        needed, have = self.fitted.onnxruntime, offer.onnxruntime
        if needed:
            holds = _has_operators(needed, have)
            observed = have and f"ONNX Runtime {have}"
            yield says("operators", observed, f"ONNX Runtime {needed}", "the variant's operators", holds=holds)


def candidates(model: Subject, packages: Iterable[EpPackage], host: Host, request: Request) -> list[Candidate]:
    """Return all candidates, in no order.

    Raises:
        UsageError: the request's selector of a device is none, or means several.
        NothingFits: no device of the host is the one that the request demands.
    """
    chosen = select(request.device, host) if request.device else None
    ranges = [ort_range(variant.graph) if variant.graph else "" for variant in model.variants]
    fitted = {
        place: [
            Fitted(variant, needed, verdict := _variant(variant, host, device, request), bool(verdict))
            for variant, needed in zip(model.variants, ranges, strict=True)
        ]
        for place, device in [*enumerate(host.devices), (NOWHERE, None)]
    }
    found: list[Candidate] = []
    for package in packages:
        for offer in offers(package, host, request, chosen):
            if offer.verdict:
                runs = {needed: _has_operators(needed, offer.onnxruntime) for needed in ranges}
                found += [
                    Candidate(
                        each, offer, each.fits and runs[each.onnxruntime] and _built_for(each.variant, package.ep)
                    )
                    for each in fitted[offer.place]
                ]
            else:
                found += [Candidate(each, offer, fits=False) for each in fitted[offer.place]]
    return found


def _variant(variant: Variant, host: Host, device: Device | None, request: Request) -> Verdict:
    reasons: tuple[Reason, ...] = ()
    if request.precision is not None:
        holds = variant.precision == request.precision
        observed = variant.precision or "nobody says which"  # of a file without a manifest
        reasons = (asked("precision", observed, request.precision, holds=holds),)
    if variant.requires is not None and device is not None:
        reasons += check(variant.requires, host, device, request.workload).reasons
    return Verdict(reasons)


def _built_for(variant: Variant, ep: str) -> bool:
    return not variant.eps or ep.lower() in {each.lower() for each in variant.eps}


@cache
def _has_operators(needed: str, version: str | None) -> bool:
    """Return whether an ONNX Runtime of that version is among those that have a variant's operators."""
    return not needed or (version is not None and within(version, needed))
