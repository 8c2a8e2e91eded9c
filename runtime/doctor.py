"""What is wrong on a machine, and what to do about it; above all: why the CPU?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..catalog.resolver.explain import decisive
from ..catalog.resolver.offers import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..catalog.resolver.candidates import Candidate
    from ..catalog.values.host import Host
    from .plan import Plan

STOCK: Final = 'pip install "inferry[cpu]"'


class Finding(NamedTuple):
    """One thing that is worth knowing."""

    rule: str
    wrong: bool
    """Whether something is broken, rather than only explained."""
    message: str
    """One sentence."""
    fix: str
    """One thing to do; empty where nothing helps."""


def examine(host: Host, plans: Iterable[Plan]) -> list[Finding]:
    """Return what is found of a machine, and of plans made for it with every delivery allowed; the worst first."""
    found = [*_onnxruntime(host)]
    for plan in plans:
        found += _too_old(plan)
        found += _why_the_cpu(host, plan)
    return sorted(found, key=lambda finding: not finding.wrong)


def _onnxruntime(host: Host) -> Iterator[Finding]:
    it = host.onnxruntime
    if it.module is False:
        told = "No ONNX Runtime is installed in this environment."
        yield Finding("onnxruntime-missing", wrong=True, message=told, fix=STOCK)
    if it.distributions and len(it.distributions) > 1:
        named = " and ".join(f"{each.name} {each.version}" for each in it.distributions)
        yield Finding(
            "onnxruntime-overwritten",
            wrong=True,
            message=f"{named} brought the same module into one folder, and wrote over each other's files.",
            fix=f"make a new environment and install one of them there: {STOCK}",
        )


def _too_old(plan: Plan) -> Iterator[Finding]:
    """Yield that no variant of a model has all its operators in the ONNX Runtime at hand."""
    at_hand = [each for each in plan.here.ranked if each.offer.delivery == "built-in"]
    reasons = [decisive(each) for each in at_hand if not each.fits]
    if (
        at_hand
        and len(reasons) == len(at_hand)
        and all((reason.rule, reason.outcome) == ("operators", "no") for reason in reasons)
    ):
        reason = reasons[0]
        needed = reason.required.removeprefix("ONNX Runtime ")
        yield Finding(
            "onnxruntime-old",
            wrong=True,
            message=f"{reason.observed} is too old for {plan.here.model}, which needs {needed}.",
            fix=f'pip install "onnxruntime{needed}"',
        )


def _why_the_cpu(host: Host, plan: Plan) -> Iterator[Finding]:
    """Yield why a model runs on the CPU, by the candidate that came nearest to running elsewhere."""
    best = plan.here.best
    if best is None or best.offer.device.kind != "cpu":
        return
    others = [each for each in plan.resolution.ranked if each.offer.device.kind != "cpu"]
    real = [each for each in others if each.offer.place != NOWHERE]
    if not real:
        unseen = [kind for kind in ("gpu", "npu") if kind not in host.searched]
        why = f"nobody has looked for a {' or '.join(unseen)}" if unseen else "this machine has no GPU and no NPU"
        yield Finding("why-cpu", wrong=False, message=f"{plan.here.model} runs on the CPU, because {why}.", fix="")
        return
    nearest = min(real, key=_distance)
    told, fix = _against(nearest)
    ep, where = nearest.offer.package.ep, nearest.offer.device.name or nearest.offer.device.kind
    message = f"{plan.here.model} runs on the CPU, because {ep} on {where} is not used: {told}."
    yield Finding("why-cpu", wrong=False, message=message, fix=fix)


def _distance(candidate: Candidate) -> tuple[bool, int]:
    return not candidate.fits, len(candidate.verdict.against)


def _against(candidate: Candidate) -> tuple[str, str]:
    """Return what speaks against a candidate, and what would help."""
    package = candidate.offer.package
    if candidate.fits:
        told = f"it comes by {candidate.offer.delivery}, which this version of inferry does not install"
        return told, f"pip install {package.distribution}" if package.distribution else ""
    reason = decisive(candidate)
    return f"{reason.rule}: {reason.observed}, required: {reason.required}", reason.fix
