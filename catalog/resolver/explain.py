"""A resolution in words, and as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from ..values.plan import Planned, PlannedArtifact, PlannedDevice
from .offers import NOWHERE

if TYPE_CHECKING:
    from ..values.verdict import Reason
    from .candidates import Candidate
    from .offers import Offer
    from .resolution import Resolution

_ASKED: Final = ("machine-policy", "setting", "ep", "device", "precision", "channel")
_OF_EACH: Final = ("variant", "precision", "ep", "ep_package", "delivery", "device")
"""What of a plan is told of every candidate, too."""


def named(candidate: Candidate) -> str:
    """Return a candidate's name for people."""
    return f"{candidate.fitted.variant.name} on {_offer(candidate.offer)}"


def explain(resolution: Resolution) -> list[str]:
    """Return the choice and why it beat the second, then each rejection with what would change it, a line each."""
    model = resolution.model
    best, second = resolution.best, resolution.runner_up
    lines = [f"{model}: {named(best)}" if best else f"{model}: nothing fits this host"]
    if best and second:
        name, words = resolution.order.why(best, second)
        lines.append(f"second: {named(second)}; {name}: {words}")
    others = [candidate for candidate in resolution.ranked[2:] if candidate.fits]
    lines += [f"also fits: {_grouped(group)}" for group in _by_offer(others)]
    lines += [f"no: {_grouped(group)}: {decisive(group[0]).words()}" for group in _by_reason(resolution.rejected)]
    return lines


def document(resolution: Resolution) -> dict[str, Any]:
    """Return the choice, and every candidate with all its reasons, for JSON."""
    best = resolution.best
    return {
        "plan": _plan(planned(resolution, best)) if best else None,
        "candidates": [
            {
                **{key: told for key, told in _plan(planned(resolution, candidate)).items() if key in _OF_EACH},
                "fits": candidate.fits,
                "outcome": candidate.verdict.outcome,
                "reasons": [reason._asdict() for reason in candidate.verdict.reasons],
            }
            for candidate in resolution.ranked
        ],
    }


def decisive(candidate: Candidate | Offer) -> Reason:
    """Return the reason that is told for a rejection.

    What was asked for comes first, then the first rule that fails, then what is unknown; and last that this version
    cannot install it: that alone would have nobody install what does not fit.
    """
    against = candidate.verdict.against
    return min(
        against,
        key=lambda reason: (reason.rule not in _ASKED, reason.rule == "delivery", reason.outcome == "unknown"),
    )


def planned(resolution: Resolution, candidate: Candidate) -> Planned:
    """Return what a candidate comes to, with all that carrying it out needs."""
    model, variant, offer = resolution.model, candidate.fitted.variant, candidate.offer
    artifact, device = variant.artifact, offer.device
    return Planned(
        model=model.name,
        version=model.version,
        release=model.release,
        variant=variant.name,
        precision=variant.precision,
        artifacts=(
            PlannedArtifact(
                path=artifact.path, sha256=artifact.digest.partition(":")[2], size_bytes=artifact.size_bytes
            ),
        ),
        ep=offer.package.ep,
        ep_package=f"{offer.package.name}@{offer.release.version}",
        delivery=offer.delivery,
        device=PlannedDevice(
            kind=device.kind,
            place=offer.place,
            vendor_id=device.vendor_id,
            device_id=device.device_id,
            name=device.name,
            pci=device.pci,
            luid=device.luid,
        ),
        onnxruntime=offer.onnxruntime,
        request=resolution.request,
    )


def _plan(plan: Planned) -> dict[str, Any]:
    told: dict[str, Any] = to_builtins(plan, enc_hook=str)
    return told


def _offer(offer: Offer) -> str:
    device = offer.device
    where = device.kind if offer.place == NOWHERE or not device.name else f"{device.kind} {device.name}"
    return f"{offer.package.ep} ({offer.package.name} {offer.release.version}, {offer.delivery}), {where}"


def _grouped(group: list[Candidate]) -> str:
    variants = ", ".join(dict.fromkeys(candidate.fitted.variant.name for candidate in group))
    return f"{variants} on {_offer(group[0].offer)}"


def _by_offer(found: list[Candidate]) -> list[list[Candidate]]:
    groups: dict[int, list[Candidate]] = {}
    for candidate in found:
        groups.setdefault(id(candidate.offer), []).append(candidate)
    return list(groups.values())


def _by_reason(found: list[Candidate]) -> list[list[Candidate]]:
    groups: dict[tuple[int, Reason], list[Candidate]] = {}
    for candidate in found:
        groups.setdefault((id(candidate.offer), decisive(candidate)), []).append(candidate)
    return list(groups.values())
