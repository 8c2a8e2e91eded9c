"""Laws of a plan's record and stamp: what it hangs on changes the stamp, and nothing else does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from inferry.catalog.resolver.explain import document, planned
from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.values import canonical
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.host import (
    Cpu,
    Device,
    Distribution,
    Driver,
    EpDevice,
    Excluded,
    Host,
    Memory,
    Node,
    OrtFacts,
    Platform,
    Python,
)
from inferry.catalog.values.plan import Planned, Request, hangs_on, stamp
from inferry.runtime.plan import make_plan
from inferry.tests.catalogs import DISCRETE, GB, NPU, SHARED, host, model, variant
from inferry.tests.property.test_resolver_laws import catalog

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

laws = settings(deadline=None, max_examples=100)
CARD = replace(DISCRETE, driver=Driver(scheme="linux", version="580"), apis={"vulkan": "1.3"}, pci="0000:01:00.0")
PAIR = (EpDevice(ep="A", kind="cpu"), EpDevice(ep="B", kind="gpu", vendor_id="10de", device_id="2684"))
BROUGHT = (Distribution(name="onnxruntime", version="1.31.1"), Distribution(name="onnxruntime-gpu", version="1.31.1"))
THERE = Host(
    platform=Platform(os="windows", version="10.0.26100", build=26100, architecture="x64", product="A laptop"),
    python=Python(version="3.11.7", implementation="cpython"),
    cpu=Cpu(vendor="GenuineIntel", family=6, model=0xAA, features=("avx2",), cores=8, threads=16),
    memory=Memory(total_bytes=32 * GB, free_bytes=20 * GB),
    devices=(Device(kind="cpu", name="A processor"), CARD, replace(SHARED, luid="0:1008"), NPU),
    searched=("cpu", "gpu", "npu"),
    onnxruntime=OrtFacts(module=True, distributions=BROUGHT, version="1.31.1"),
    ep_devices=PAIR,
    origins={"": "somewhere"},
)
MODEL = Digest.of(b"a release")


def with_card(**changes: Any) -> Host:
    return replace(THERE, devices=(THERE.devices[0], replace(CARD, **changes), *THERE.devices[2:]))


OTHERS: dict[str, Host] = {
    "platform: system": replace(THERE, platform=replace(THERE.platform, os="linux")),
    "platform: version": replace(THERE, platform=replace(THERE.platform, version="10.0.26200")),
    "platform: build": replace(THERE, platform=replace(THERE.platform, build=26200)),
    "platform: C library": replace(THERE, platform=replace(THERE.platform, libc="glibc", libc_version="2.39")),
    "python": replace(THERE, python=Python(version="3.12.1", implementation="cpython")),
    "python: unknown": replace(THERE, python=None),
    "cpu: features": replace(THERE, cpu=replace(THERE.cpu, features=("avx2", "avx512f"))),
    "cpu: model": replace(THERE, cpu=replace(THERE.cpu, model=0xBD)),
    "memory": replace(THERE, memory=replace(THERE.memory, total_bytes=16 * GB)),
    "memory: limit": replace(THERE, memory=replace(THERE.memory, limit_bytes=GB)),
    "devices: driver": with_card(driver=Driver(scheme="linux", version="581")),
    "devices: no driver": with_card(driver=None),
    "devices: ids": with_card(device_id="2685"),
    "devices: memory": with_card(memory_bytes=GB),
    "devices: API level": with_card(apis={"vulkan": "1.4"}),
    "devices: software": with_card(software=True),
    "devices: node": with_card(nodes=(Node(path="/dev/nvidia0", access="denied"),)),
    "devices: one less": replace(THERE, devices=THERE.devices[:-1]),
    "devices: other order": replace(THERE, devices=(*THERE.devices[:1], *THERE.devices[:0:-1])),
    "searched": replace(THERE, searched=("cpu",)),
    "onnxruntime: version": replace(THERE, onnxruntime=replace(THERE.onnxruntime, version="1.31.0")),
    "onnxruntime: distributions": replace(THERE, onnxruntime=replace(THERE.onnxruntime, distributions=BROUGHT[:1])),
    "ep_devices": replace(THERE, ep_devices=PAIR[:1]),
    "ep_devices: unknown": replace(THERE, ep_devices=None),
}
SAME: dict[str, Host] = {
    "read again": msgspec.json.decode(msgspec.json.encode(THERE), type=Host),
    "free memory": replace(THERE, memory=replace(THERE.memory, free_bytes=GB)),
    "names for people": replace(THERE, platform=replace(THERE.platform, name="Windows 11", product="Another")),
    "cores": replace(THERE, cpu=replace(THERE.cpu, cores=4, threads=4, limit=1.5)),
    "addresses": with_card(pci="0000:02:00.0"),
    "origins": replace(THERE, origins={}),
    "what is no device": replace(THERE, excluded=(Excluded(vendor_id=None, device_id=None, reason="x"),)),
    "order of distributions": replace(THERE, onnxruntime=replace(THERE.onnxruntime, distributions=BROUGHT[::-1])),
    "order of EP devices": replace(THERE, ep_devices=PAIR[::-1]),
}
ASKED = Request()
REQUESTS = (
    Request(policy="prefer-cpu"),
    Request(ep="cpu"),
    Request(device="gpu"),
    Request(precision="int8"),
    Request(channels=("stable", "preview")),
    Request(deliveries=("built-in",)),
    Request(workload="generation"),
)


@pytest.mark.parametrize("there", OTHERS.values(), ids=OTHERS)
def test_each_fact_changes_the_stamp(there: Host) -> None:
    assert stamp(there, ASKED, model=MODEL) != stamp(THERE, ASKED, model=MODEL)


@pytest.mark.parametrize("there", SAME.values(), ids=SAME)
def test_nothing_else_does(there: Host) -> None:
    assert stamp(there, ASKED, model=MODEL) == stamp(THERE, ASKED, model=MODEL)


def test_what_is_asked_for_changes_it_too() -> None:
    stamps = [stamp(THERE, request, model=MODEL) for request in (ASKED, *REQUESTS)]
    stamps += [stamp(THERE, ASKED, model=Digest.of(b"")), stamp(THERE, ASKED, model=MODEL, program="0.0.1")]
    assert len(set(stamps)) == len(stamps)


@pytest.mark.parametrize(("selector", "told"), [("pci:0000:01:00.0", "pci"), ("LUID:0:1008", "luid")])
def test_an_address_counts_where_it_is_asked_for(selector: str, told: str) -> None:
    changes: dict[str, dict[str, Any]] = {"pci": {"pci": "0000:02:00.0"}, "luid": {"luid": "0:1009"}}
    for name, change in changes.items():
        same = stamp(with_card(**change), Request(device=selector), model=MODEL) == stamp(
            THERE, Request(device=selector), model=MODEL
        )
        assert same is (name != told)


def test_the_facts_are_those_that_are_documented() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/concepts/how-the-choice-is-made.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## What a plan hangs on")[2], re.MULTILINE)
    facts = [*hangs_on(THERE, ASKED, model=MODEL)]
    assert rows == facts
    assert re.findall(r"^ *``(\w+)`` ", hangs_on.__doc__ or "", re.MULTILINE) == facts
    assert {each.partition(":")[0] for each in OTHERS} == {*facts} - {"request", "model", "program"}


@laws
@given(st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_equal_hosts_have_equal_stamps_and_others_others(one: random.Random, other: random.Random) -> None:
    (_, _, here, asked), (_, _, there, wanted) = catalog(one), catalog(other)
    assert (stamp(here, asked, model="") == stamp(there, wanted, model="")) == ((here, asked) == (there, wanted))
    again = msgspec.json.decode(msgspec.json.encode(here), type=Host)
    assert stamp(again, asked, model="") == stamp(here, asked, model="")


@laws
@given(st.randoms(use_true_random=False))
def test_a_record_is_read_back_and_stays_as_long_as_the_stamp(chance: random.Random) -> None:
    what, packages, there, request = catalog(chance)
    resolution = resolve(what, packages, there, request)
    changes: list[Callable[[Host], Host]] = [
        lambda it: replace(it, memory=replace(it.memory, free_bytes=1)),
        lambda it: replace(it, origins={"": "elsewhere"}, platform=replace(it.platform, product="Another")),
    ]
    for candidate in resolution.ranked[:3]:
        record = planned(resolution, candidate)
        again = canonical.decode(canonical.encode(record), Planned)
        assert (again, again.digest) == (record, record.digest)
        assert record.device.place == candidate.offer.place
    for change in changes:
        other = change(there)
        assert stamp(other, request, model="") == stamp(there, request, model="")
        best = resolve(what, packages, other, request).best
        assert (best and planned(resolution, best)) == (resolution.best and planned(resolution, resolution.best))


def test_a_plan_tells_its_record_and_its_stamp() -> None:
    there, what = host(ort="1.31.1"), model(variant("fp32"))._replace(release=MODEL)
    plan = make_plan(what, there, {"device": "cpu"}, elsewhere=False)
    record = plan.record()
    assert record
    assert (record.model, record.release, record.request.device) == ("acme/thing", MODEL, "cpu")
    assert (record.onnxruntime, record.device.kind, record.device.place) == ("1.31.1", "cpu", 0)
    assert plan.stamp == stamp(there, record.request, model=MODEL)
    told = plan.document()
    assert told["stamp"] == plan.stamp
    assert msgspec.convert(told["plan"], Planned, dec_hook=canonical.from_text) == record
    assert document(plan.resolution)["candidates"][0].items() >= {"variant": "fp32", "delivery": "built-in"}.items()
    assert make_plan(what, there, {"precision": "int4"}, elsewhere=False).record() is None
    file = make_plan(model(variant("fp32")), there, {}, elsewhere=False)
    assert file.stamp == stamp(there, file.resolution.request, model=variant("fp32").artifact.digest)
