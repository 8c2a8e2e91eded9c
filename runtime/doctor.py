"""What is wrong on a machine, and what to do about it; above all: why the CPU?"""

from __future__ import annotations

import os
import shutil
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from ..catalog.compat import shut
from ..catalog.errors import MachineError
from ..catalog.resolver.explain import decisive
from ..catalog.resolver.offers import NOWHERE, names_of
from ..ep_packages.table import packages
from ..index.home import cache_folder, data_folder
from .describe import size
from .variables import QUIET

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ..catalog.resolver.candidates import Candidate
    from ..catalog.settings import Effective
    from ..catalog.values.host import Host
    from .plan import Plan

STOCK: Final = 'pip install "inferry[cpu]"'
LOW_BYTES: Final = 10**9
"""What a disk should have free: the largest EP packages unpack to about that, a model of some size takes as much."""
FOLDERS: Final[tuple[Callable[[Path | None], Path], ...]] = (data_folder, cache_folder)
"""Where this program writes."""


class Finding(NamedTuple):
    """One thing that is worth knowing."""

    rule: str
    wrong: bool
    """Whether something is broken, rather than only explained."""
    message: str
    """One sentence."""
    fix: str
    """One thing to do; empty where nothing helps."""


def examine(
    host: Host,
    plans: Iterable[Plan],
    settings: Effective | None = None,
    *,
    here: bool = False,
    home: Path | None = None,
) -> list[Finding]:
    """Return what is found of a machine, and of plans made for it with every delivery allowed; the worst first.

    ``here`` says that it is this machine: its folders (below ``home``), ``settings`` and environment are looked at too.
    """
    found = [*_onnxruntime(host), *_nodes(host)]
    for plan in plans:
        found += _too_old(plan)
        found += _why_the_cpu(host, plan)
    if here:
        found += _meaningless(settings) if settings else ()
        stores = [each for folder in FOLDERS for each in _store(partial(folder, home))]
        found += {each.rule: each for each in stores}.values()  # they mostly lie on one disk
        found.append(_telemetry())
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


def _nodes(host: Host) -> Iterator[Finding]:
    """Yield the nodes that devices lack; those together that one thing would help."""
    lacking: dict[tuple[str, bool, str], tuple[list[str], list[str]]] = {}
    for device in host.devices:
        for node, reason in shut(device):
            denied = node.access == "denied"
            use = f"for {node.only_for} on" if node.only_for else "for"
            # What is missing may be meant so: a container has the devices that it was given.
            paths, names = lacking.setdefault((use, denied, reason.fix), ([], []))
            paths.append(node.path)
            names.append(device.name or device.kind)
    for (use, denied, fix), (paths, names) in lacking.items():
        who = "user may not open" if denied else "machine or container lacks"
        told, whom = (" and ".join(dict.fromkeys(each)) for each in (paths, names))
        wrong = denied and use == "for"
        yield Finding("device-node", wrong=wrong, message=f"This {who} {told}, needed {use} {whom}.", fix=fix)


def _store(folder: Callable[[], Path]) -> Iterator[Finding]:
    """Yield that one of the folders of this program cannot be written to, or that its disk is nearly full."""
    try:
        wanted = folder()
    except MachineError as error:
        yield Finding("store-unwritable", wrong=True, message=f"{error.message}.", fix="; ".join(error.hints()))
        return
    fix = "set INFERRY_HOME to a folder elsewhere"
    try:
        there = next(each for each in (wanted, *wanted.parents) if each.exists())
        # Permissions alone do not tell: disks are mounted read-only, and are full.
        probe = there / f".inferry.{os.getpid()}"
        try:
            probe.write_bytes(b"\n")
        finally:
            probe.unlink(missing_ok=True)
        free = shutil.disk_usage(there).free
    except OSError as error:
        message = f"Nothing can be written to {wanted}: {error.strerror or error}."
        yield Finding("store-unwritable", wrong=True, message=message, fix=fix)
        return
    if free < LOW_BYTES:
        message = f"The disk of {wanted} has {size(free)} free, less than {size(LOW_BYTES)}."
        yield Finding("disk-low", wrong=True, message=message, fix=fix)


def _meaningless(settings: Effective) -> Iterator[Finding]:
    """Yield the words of a setting that name no EP: what they were to forbid is not forbidden."""
    known = {word for package in packages() for word in names_of(package)}
    for limit in settings.ep_limits():
        for word in limit.eps:
            if word not in known:
                near = get_close_matches(word, known, n=1)
                fix = f"write {near[0]}" if near else "see `inferry providers list`"
                message = f"{limit.origin}: `{word}` is no execution provider and no package that is known."
                yield Finding("setting-unknown-ep", wrong=True, message=message, fix=fix)


def _telemetry() -> Finding:
    """Return whose telemetry is off, or who turned it on."""
    on = [name for name in QUIET if os.environ.get(name, "1").upper() not in {"1", "ON", "YES", "TRUE"}]
    told = " and ".join(f"{QUIET[name]}'s ({name} is `{os.environ[name]}`)" for name in on)
    message = f"The telemetry of {' and '.join(QUIET.values())} is off in this program's processes."
    if on:
        message = f"You turned on telemetry in this program's processes: {told}."
    return Finding("telemetry", wrong=False, message=message, fix=f"unset {' '.join(on)}" if on else "")


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
