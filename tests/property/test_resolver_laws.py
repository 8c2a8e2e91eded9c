"""Laws of the choice, on catalogs and hosts that are drawn; and a brute force that shares no code with it."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.values.host import Access, Device, DeviceKind, Host, Memory, Node
from inferry.catalog.values.plan import Request
from inferry.catalog.values.requirement import DeviceRule, Requirement
from inferry.tests.catalogs import GB, host, model, package, variant

if TYPE_CHECKING:
    from inferry.catalog.resolver.candidates import Candidate
    from inferry.catalog.values.model import Precision, Variant
    from inferry.catalog.values.package import EpPackage
    from inferry.catalog.values.plan import Subject

PRECISIONS: tuple[Precision, ...] = ("fp32", "fp16", "int8", "bf16", "int4", "mixed")
POLICIES = ("default", "prefer-cpu", "prefer-gpu", "prefer-npu", "max-performance", "max-efficiency", "min-power")
VENDORS = ("10de", "1002", "8086")
KINDS: tuple[DeviceKind, ...] = ("cpu", "gpu", "npu")
ACCESS: tuple[Access | None, ...] = (None, "open", "denied", "missing")


def catalog(chance: random.Random) -> tuple[Subject, list[EpPackage], Host, Request]:
    """Draw a model of up to 6 variants, up to 6 packages, and a host with up to 3 devices beside its processor."""
    variants: list[Variant] = [
        variant(
            f"v{place}",
            chance.choice(PRECISIONS),
            chance.randrange(1, 50),
            accuracy_loss=chance.choice([None, 0.0, 0.02]),
            requires=Requirement(source="p", memory_bytes=chance.randrange(1, 64) * GB)
            if chance.random() < 0.3
            else None,
        )
        for place in range(chance.randint(1, 6))
    ]
    packages = [
        package(
            f"p{place}",
            f"E{place}ExecutionProvider",
            [kind := chance.choice(KINDS)],
            requires=Requirement(
                source="p",
                devices=(
                    DeviceRule(
                        kind=kind,
                        vendor_ids=(chance.choice(VENDORS),) if chance.random() < 0.5 else (),
                        memory_bytes=chance.randrange(1, 40) * GB if chance.random() < 0.3 else None,
                    ),
                ),
            ),
            versions=chance.choice([["1.0.0"], ["1.0.0", "1.10.0", "1.9.0"]]),
            size=chance.randrange(1, 50),
            reach=chance.choice(["vendor", "generic", "cpu"]),
            support=chance.choice(["supported", "experimental"]),
            delivery=chance.choice(["plugin", "engine", "system"]),
        )
        for place in range(chance.randint(1, 6))
    ]
    devices = [
        Device(
            kind=chance.choice(KINDS[1:]),
            vendor_id=chance.choice([*VENDORS, None]),
            memory_bytes=chance.choice([None, *range(8 * GB, 40 * GB, 8 * GB)]),
            integrated=chance.choice([True, False, None]),
            software=chance.random() < 0.1,
            nodes=chance.choice([None, (), *((Node(path="/dev/dri/renderD128", access=each),) for each in ACCESS)]),
        )
        for _ in range(chance.randint(0, 3))
    ]
    there = host(*devices, memory=Memory(total_bytes=chance.choice([None, 16 * GB, 64 * GB])))
    return model(*variants, limit=chance.choice([None, 0.01])), packages, there, Request(policy=chance.choice(POLICIES))


def told(candidate: Candidate | None) -> tuple[str, str, str, int] | None:
    if candidate is None:
        return None
    offer = candidate.offer
    return candidate.fitted.variant.name, offer.package.name, offer.release.version, offer.place


# The brute force: written from the documented order alone.
CLASSES = {
    "default": ["discrete", "npu", "integrated", "cpu"],
    "prefer-cpu": ["cpu", "discrete", "npu", "integrated"],
    "prefer-gpu": ["discrete", "integrated", "npu", "cpu"],
    "prefer-npu": ["npu", "discrete", "integrated", "cpu"],
    "max-performance": ["discrete", "integrated", "npu", "cpu"],
    "max-efficiency": ["npu", "integrated", "cpu", "discrete"],
    "min-power": ["npu", "cpu", "integrated", "discrete"],
}
BY_KIND = {
    "gpu": "fp16 bf16 fp32 mixed int8 int4",
    "npu": "int8 fp16 bf16 mixed int4 fp32",
    "cpu": "int8 fp32 mixed fp16 bf16 int4",
}


def enough(have: int | None, needed: int | None) -> bool:
    return needed is None or (have is not None and needed <= have)


def by_force(what: Subject, packages: list[EpPackage], there: Host, policy: str) -> tuple[str, str, str, int] | None:
    best, found = None, None
    for it, box, (place, device) in product(what.variants, packages, enumerate(there.devices)):
        rule = box.releases[0].builds[0].requires.devices[0]
        system = there.memory.total_bytes
        own = system if device.integrated or device.kind == "cpu" else device.memory_bytes
        if (
            device.software
            or any(node.access in {"denied", "missing"} for node in device.nodes or ())
            or device.kind != rule.kind
            or (rule.vendor_ids and device.vendor_id not in rule.vendor_ids)
            or not enough(own, rule.memory_bytes)
            or not enough(system, it.requires.memory_bytes if it.requires else None)
        ):
            continue
        group: str = device.kind
        if device.kind == "gpu":
            group = "discrete" if device.integrated is False else "integrated"
        precision = BY_KIND[device.kind].split().index(it.precision)
        if device.kind == "cpu" and it.precision == "int8":
            allowed = it.accuracy_loss is not None and what.accuracy_limit is not None
            if not allowed or (it.accuracy_loss or 0) > (what.accuracy_limit or 0):
                precision = 99
        versions = sorted((each.version for each in box.releases), key=lambda text: [int(n) for n in text.split(".")])
        key = (
            CLASSES[policy].index(group),
            -(device.memory_bytes or 0),
            ["vendor", "generic", "cpu"].index(box.reach),
            precision,
            box.support == "experimental",
            it.artifact.size_bytes + (box.releases[0].builds[0].size_bytes or 0),
            ["system", "plugin", "engine"].index(box.delivery),
            box.name,
            str(place),
            it.name,
        )
        if best is None or key < best:
            best, found = key, (it.name, str(box.name), versions[-1], place)
    return found


@pytest.mark.parametrize("block", range(6))
def test_a_brute_force_finds_the_same_winner(block: int) -> None:
    """On 300 catalogs in all, of which some have no winner and most have one."""
    winners = 0
    for seed in range(50 * block, 50 * block + 50):
        what, packages, there, request = catalog(random.Random(seed))
        resolution = resolve(what, packages, there, request)
        assert request.policy
        assert told(resolution.best) == by_force(what, packages, there, request.policy), seed
        winners += resolution.best is not None
    assert 5 < winners < 50


drawn = st.integers(0, 10**9).map(lambda seed: catalog(random.Random(seed)))
laws = settings(max_examples=60, deadline=None)


@laws
@given(drawn, st.randoms(use_true_random=False))
def test_any_order_of_the_input_gives_the_same_plan(
    case: tuple[Subject, list[EpPackage], Host, Request], chance: random.Random
) -> None:
    what, packages, there, request = case
    first = [told(candidate) for candidate in resolve(what, packages, there, request).ranked]
    variants, shuffled = list(what.variants), list(packages)
    chance.shuffle(variants)
    chance.shuffle(shuffled)
    shuffled = [replace(each, releases=each.releases[::-1]) for each in shuffled]
    again = resolve(what._replace(variants=tuple(variants)), shuffled, there, request)
    assert [told(candidate) for candidate in again.ranked] == first


@laws
@given(drawn)
def test_removing_the_winner_gives_the_runner_up(case: tuple[Subject, list[EpPackage], Host, Request]) -> None:
    what, packages, there, request = case
    resolution = resolve(what, packages, there, request)
    best, second = resolution.best, resolution.runner_up
    if best is None or second is None:
        return
    if best.fitted.variant.name != second.fitted.variant.name:
        left = tuple(each for each in what.variants if each.name != best.fitted.variant.name)
        assert told(resolve(what._replace(variants=left), packages, there, request).best) == told(second)
    elif best.offer.package.name != second.offer.package.name:
        rest = [each for each in packages if each.name != best.offer.package.name]
        assert told(resolve(what, rest, there, request).best) == told(second)


@laws
@given(drawn, st.integers(0, 64))
def test_a_host_that_gains_memory_loses_no_candidate(
    case: tuple[Subject, list[EpPackage], Host, Request], more: int
) -> None:
    what, packages, there, request = case
    gained = replace(
        there,
        memory=Memory(total_bytes=(there.memory.total_bytes or 0) + more * GB),
        devices=tuple(
            replace(each, memory_bytes=each.memory_bytes and each.memory_bytes + more * GB) for each in there.devices
        ),
    )

    def fitting(where: Host) -> set[tuple[str, str, str, int] | None]:
        return {told(each) for each in resolve(what, packages, where, request).ranked if each.fits}

    assert fitting(there) <= fitting(gained)


@laws
@given(drawn)
def test_what_fits_has_nothing_against_it_and_what_does_not_has_something(
    case: tuple[Subject, list[EpPackage], Host, Request],
) -> None:
    for candidate in resolve(*case).ranked:
        assert candidate.fits == bool(candidate.verdict)
