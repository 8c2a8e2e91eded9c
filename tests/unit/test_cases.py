"""The choice on twelve machines, the one after it, and why each other package is out, as was answered beforehand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import inferry
from inferry.catalog.profile import ONE_BOOT
from inferry.catalog.resolver.explain import decisive
from inferry.catalog.resolver.offers import NOWHERE
from inferry.cli import inferry as group
from inferry.ep_packages.table import packages
from inferry.tests.answers import ANSWERS, FOLDER, Taken, profile

if TYPE_CHECKING:
    from inferry.catalog.resolver.candidates import Candidate
    from inferry.catalog.values.host import Host
    from inferry.runtime.plan import Plan

VARIANTS = 3
"""Of inferry/digits."""
RELEASES = {row.name.partition("/")[2]: [release.version for release in row.releases] for row in packages()}


@cache
def plan_for(name: str) -> Plan:
    return inferry.plan("inferry/digits", host=profile(name))


def place(candidate: Candidate, host: Host) -> str:
    """Return the device as a case names it: its kind, and which of them where there are several."""
    offer = candidate.offer
    kind = offer.device.kind
    if offer.place == NOWHERE:
        return f"no {kind}"
    alike = [place for place, device in enumerate(host.devices) if device.kind == kind]
    return kind if len(alike) == 1 else f"{kind}:{alike.index(offer.place)}"


def taken(candidate: Candidate | None, host: Host) -> Taken:
    assert candidate
    package = candidate.offer.package
    return Taken(
        variant=candidate.fitted.variant.name,
        ep=package.ep,
        package=package.name.partition("/")[2],
        delivery=candidate.offer.delivery,
        on=place(candidate, host),
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_a_host_gets_what_was_answered(name: str) -> None:
    answer, there = ANSWERS[name], profile(name)
    plan = plan_for(name)
    resolution = plan.resolution
    best, second = resolution.best, resolution.runner_up
    assert taken(best, there.host) == answer.choice
    assert taken(second, there.host) == answer.runner_up
    assert best
    assert second
    assert resolution.order.why(best, second)[0] == answer.decided_by
    assert taken(plan.here.best, there.host) == answer.here


@pytest.mark.parametrize("name", ANSWERS)
def test_each_rejection_is_told_with_the_rule_that_was_answered(name: str) -> None:
    there = profile(name)
    rejected = plan_for(name).resolution.rejected
    told = [(candidate, decisive(candidate)) for candidate in rejected]
    assert all(reason.origin for _, reason in told)
    found = sorted(
        (
            candidate.offer.package.name.partition("/")[2],
            candidate.offer.release.version,
            place(candidate, there.host),
            reason.rule,
            reason.observed,
            reason.required,
        )
        for candidate, reason in told
    )
    answered = sorted(
        (each.package, version, on, each.rule, each.observed, each.required)
        for each in ANSWERS[name].rejected
        for version in RELEASES[each.package]
        for on in each.on
        for _ in range(VARIANTS)
    )
    assert found == answered


@pytest.mark.parametrize("name", ANSWERS)
def test_explain_names_the_choice_the_second_and_every_rejected_package(name: str) -> None:
    answer = ANSWERS[name]
    arguments = ("plan", "inferry/digits", "--explain", "--host", str(FOLDER / f"{name}.json"))
    shown = CliRunner().invoke(group, arguments, prog_name="inferry")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines == plan_for(name).explain().splitlines()
    told = {line.partition(": ")[0]: line for line in lines[:3]}
    for taken_, start in ((answer.choice, "inferry/digits 1.0.0"), (answer.runner_up, "second")):
        assert f": {taken_.variant} on {taken_.ep} (inferry/{taken_.package} " in told[start]
        assert f", {taken_.delivery}), {taken_.on.partition(':')[0]}" in told[start]
    no = [line for line in lines if line.startswith("no: ")]
    for each in answer.rejected:
        words = f": {each.rule}: {each.observed}, required: {each.required} ("
        assert any(f"(inferry/{each.package} " in line and words in line for line in no), each


def test_every_host_has_its_answer_and_every_package_is_met() -> None:
    assert {file.stem for file in FOLDER.glob("*.json")} == {*ANSWERS}
    assert len(ANSWERS) >= 12
    for name, answer in ANSWERS.items():
        met = {each.package for each in answer.rejected}
        fitting = {
            candidate.offer.package.name.partition("/")[2]
            for candidate in plan_for(name).resolution.ranked
            if candidate.fits
        }
        assert met | fitting == {*RELEASES}
        assert "(" in answer.because
        assert not any(getattr(device, fact) for device in profile(name).host.devices for fact in ONE_BOOT)
