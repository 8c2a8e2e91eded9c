"""Each rule of a requirement: a host that fits it, and the same host with one fact changed that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from inferry.catalog.compat import check, holds, words
from inferry.catalog.processors import intel_generation
from inferry.catalog.values.host import (
    Cpu,
    Device,
    Distribution,
    Driver,
    Host,
    Memory,
    OrtFacts,
    Platform,
)
from inferry.catalog.values.requirement import Bound, DeviceRule, DriverBound, OsRule, Requirement, numbers

if TYPE_CHECKING:
    from inferry.catalog.values.verdict import Verdict

GB = 10**9
LAPTOP = Host(
    platform=Platform(os="windows", version="10.0.26100", build=26100, architecture="x64"),
    cpu=Cpu(vendor="GenuineIntel", family=6, model=0xAA, features=("avx2", "avx512_vnni")),
    memory=Memory(total_bytes=16 * GB, free_bytes=9 * GB),
    onnxruntime=OrtFacts(
        module=True, distributions=(Distribution(name="onnxruntime", version="1.31.1"),), version="1.31.1"
    ),
)
GPU = Device(
    kind="gpu",
    vendor_id="10de",
    device_id="2684",
    name="NVIDIA GeForce RTX 4090",
    memory_bytes=24 * GB,
    integrated=False,
    driver=Driver(scheme="wddm", version="32.0.15.6000"),
    apis={"cuda-compute": "8.9"},
)
SHARED = Device(kind="gpu", vendor_id="8086", device_id="7d55", name="Intel Arc", integrated=True)


def system(**facts: Any) -> Host:
    return replace(LAPTOP, platform=replace(LAPTOP.platform, **facts))


def memory(**facts: Any) -> Host:
    return replace(LAPTOP, memory=replace(LAPTOP.memory, **facts))


def driver(version: str | None, scheme: Any = "wddm") -> Device:
    return replace(GPU, driver=Driver(scheme=scheme, version=version))


def rule(**given: Any) -> Requirement:
    return Requirement(source="here", devices=(DeviceRule(kind="gpu", **given),))


def bound(**given: Any) -> Requirement:
    return rule(drivers=(DriverBound(scheme="wddm", **given),))


Case = tuple[str, Requirement, tuple[Host, Device], tuple[Host, Device], tuple[Host, Device] | None]
HERE = (LAPTOP, GPU)
CASES: dict[str, Case] = {
    "os": (
        "os",
        Requirement(source="here", os=(OsRule(os="windows"),)),
        HERE,
        (system(os="linux"), GPU),
        None,
    ),
    "os-build": (
        "os-build",
        Requirement(source="here", os=(OsRule(os="windows", build_at_least=26100),)),
        HERE,
        (system(build=22631), GPU),
        (system(build=None), GPU),
    ),
    "os-version": (
        "os-version",
        Requirement(source="here", os=(OsRule(os="windows", version_at_least="10.0.9"),)),
        HERE,
        (system(version="10.0.8.9"), GPU),
        (system(version=None), GPU),
    ),
    "architecture": (
        "architecture",
        Requirement(source="here", architectures=("x64",)),
        HERE,
        (system(architecture="arm64"), GPU),
        (system(architecture=None), GPU),
    ),
    "onnxruntime": (
        "onnxruntime",
        Requirement(source="here", onnxruntime=">=1.24.4,<2"),
        HERE,
        (replace(LAPTOP, onnxruntime=OrtFacts(module=True, version="1.24.3")), GPU),
        (replace(LAPTOP, onnxruntime=OrtFacts()), GPU),
    ),
    "no onnxruntime": (
        "onnxruntime",
        Requirement(source="here", onnxruntime=">=1.24.4"),
        HERE,
        (replace(LAPTOP, onnxruntime=OrtFacts(module=False)), GPU),
        None,
    ),
    "cpu-features": (
        "cpu-features",
        Requirement(source="here", cpu_features=("avx2", "avx512_vnni")),
        HERE,
        (replace(LAPTOP, cpu=Cpu(features=("avx2",))), GPU),
        (replace(LAPTOP, cpu=Cpu()), GPU),
    ),
    "memory": (
        "memory",
        Requirement(source="here", memory_bytes=8 * GB),
        HERE,
        (memory(total_bytes=8 * GB - 1), GPU),
        (memory(total_bytes=None), GPU),
    ),
    "memory of a container": (
        "memory",
        Requirement(source="here", memory_bytes=8 * GB),
        (memory(limit_bytes=12 * GB), GPU),
        (memory(limit_bytes=4 * GB), GPU),
        None,
    ),
    "device-kind": ("device-kind", rule(), HERE, (LAPTOP, Device(kind="npu")), None),
    "vendor": (
        "vendor",
        rule(vendor_ids=("1002", "10de")),
        HERE,
        (LAPTOP, replace(GPU, vendor_id="8086")),
        (LAPTOP, replace(GPU, vendor_id=None)),
    ),
    "device-id": (
        "device-id",
        rule(device_ids=("1234", "2200-2fff")),
        HERE,
        (LAPTOP, replace(GPU, device_id="1e04")),
        (LAPTOP, replace(GPU, device_id=None)),
    ),
    "device-name": (
        "device-name",
        rule(names=("*GeForce RTX 30*", "*geforce rtx 40*")),
        HERE,
        (LAPTOP, replace(GPU, name="NVIDIA GeForce GTX 1080")),
        (LAPTOP, replace(GPU, name=None)),
    ),
    "processor": (
        "processor",
        rule(intel_generation_at_least=12),
        HERE,
        (replace(LAPTOP, cpu=Cpu(vendor="GenuineIntel", family=6, model=0x8C)), GPU),
        (replace(LAPTOP, cpu=Cpu(vendor="GenuineIntel", family=6, model=0xFF)), GPU),
    ),
    "processor of another maker": (
        "processor",
        rule(intel_generation_at_least=12),
        HERE,
        (replace(LAPTOP, cpu=Cpu(vendor="AuthenticAMD", family=25, model=0x61)), GPU),
        (replace(LAPTOP, cpu=Cpu()), GPU),
    ),
    "device-memory": (
        "device-memory",
        rule(memory_bytes=12 * GB),
        HERE,
        (LAPTOP, replace(GPU, memory_bytes=8 * GB)),
        (LAPTOP, replace(GPU, memory_bytes=None)),
    ),
    "shared device-memory": (
        "device-memory",
        rule(memory_bytes=8 * GB),
        (LAPTOP, SHARED),
        (memory(total_bytes=4 * GB), SHARED),
        (memory(total_bytes=None), SHARED),
    ),
    "driver from": (
        "driver",
        bound(at_least="32.0.15.5585"),
        HERE,
        (LAPTOP, driver("31.0.99.9999")),
        (LAPTOP, driver(None)),
    ),
    "driver up to": ("driver", bound(at_most="32.0.15.6000"), HERE, (LAPTOP, driver("32.0.15.6001")), None),
    "driver within": (
        "driver",
        bound(at_least="32.0.15.5585", at_most="32.0.15.6000"),
        HERE,
        (LAPTOP, driver("32.0.16.0")),
        (LAPTOP, replace(GPU, driver=None)),
    ),
    "driver exactly": (
        "driver",
        bound(exactly="32.00.15.6000.0"),
        HERE,
        (LAPTOP, driver("32.0.15.6000.1")),
        (LAPTOP, driver("32.0.15.6000", scheme="linux")),
    ),
    "no driver": (
        "driver",
        bound(at_least="32.0.15.5585"),
        HERE,
        (LAPTOP, replace(GPU, driver=Driver(scheme="linux", name=""))),
        (LAPTOP, replace(GPU, driver=Driver(scheme="linux", name="nouveau"))),
    ),
    "one of the api's levels": (
        "api-cuda-compute",
        rule(apis_one_of={"cuda-compute": ("8.6", "8.9", "12.0+")}),
        HERE,
        (LAPTOP, replace(GPU, apis={"cuda-compute": "9.0"})),
        (LAPTOP, replace(GPU, apis={})),
    ),
    "api": (
        "api-cuda-compute",
        rule(apis={"cuda-compute": "8.6"}),
        HERE,
        (LAPTOP, replace(GPU, apis={"cuda-compute": "8.0"})),
        (LAPTOP, replace(GPU, apis={})),
    ),
}


def told(requirement: Requirement, where: tuple[Host, Device], name: str) -> tuple[Verdict, list[str]]:
    verdict = check(requirement, *where)
    return verdict, [reason.outcome for reason in verdict.reasons if reason.rule == name]


@pytest.mark.parametrize(("name", "requirement", "fits", "not_", "unknown"), CASES.values(), ids=CASES)
def test_each_rule_tells_a_host_from_the_same_host_with_one_fact_changed(
    name: str,
    requirement: Requirement,
    fits: tuple[Host, Device],
    not_: tuple[Host, Device],
    unknown: tuple[Host, Device] | None,
) -> None:
    verdict, outcomes = told(requirement, fits, name)
    assert verdict
    assert outcomes == ["fits"]
    verdict, outcomes = told(requirement, not_, name)
    assert not verdict
    assert outcomes == ["no"]
    assert [(reason.rule, reason.origin) for reason in verdict.against] == [(name, "here")]
    assert verdict.against[0].observed != verdict.against[0].required
    if unknown:
        verdict, outcomes = told(requirement, unknown, name)
        assert not verdict
        assert (verdict.outcome, outcomes) == ("unknown", ["unknown"])
        assert "profile" in verdict.against[0].fix


FIXES = {
    "no driver": "install wddm driver 32.0.15.5585 or later",
    "os-build": "update to Windows build 26100 or later",
    "onnxruntime": 'pip install "onnxruntime>=1.24.4,<2"',
    "driver within": "install wddm driver from 32.0.15.5585 to 32.0.15.6000",
    "driver exactly": "install wddm driver exactly 32.00.15.6000.0",
    "architecture": "",
}


@pytest.mark.parametrize(("case", "fix"), FIXES.items(), ids=FIXES)
def test_what_would_make_it_fit_is_told(case: str, fix: str) -> None:
    _, requirement, _, not_, _ = CASES[case]
    assert check(requirement, *not_).against[0].fix == fix


def test_memory_has_three_answers() -> None:
    requirement = Requirement(source="here", memory_bytes=8 * GB)

    def outcome(**facts: int | None) -> str:
        return check(requirement, memory(**facts), GPU).outcome

    assert outcome(total_bytes=10 * GB, free_bytes=None) == "fits"
    assert outcome(total_bytes=10 * GB - 1, free_bytes=None) == "tight"
    assert outcome(total_bytes=8 * GB, free_bytes=None) == "tight"
    assert outcome(total_bytes=8 * GB - 1, free_bytes=None) == "no"
    assert outcome(total_bytes=64 * GB, free_bytes=1 * GB) == "tight"
    assert check(requirement, memory(free_bytes=1 * GB), GPU)


def test_a_host_that_gains_memory_never_loses() -> None:
    order = ["no", "tight", "fits"]
    for needed in (1, 5, 9):
        requirement = Requirement(source="here", memory_bytes=needed)
        for free in (None, 0, 4, 8):
            came = [
                order.index(check(requirement, memory(total_bytes=total, free_bytes=free), GPU).outcome)
                for total in range(1, 20)
            ]
            assert came == sorted(came)


def test_of_alternatives_the_nearest_speaks() -> None:
    either = Requirement(
        source="the vendor",
        os=(OsRule(os="linux"), OsRule(os="windows", build_at_least=99999)),
        devices=(
            DeviceRule(kind="npu"),
            DeviceRule(kind="gpu", vendor_ids=("8086",)),
            DeviceRule(kind="gpu", vendor_ids=("10de",), apis={"cuda-compute": "12.0"}, source="a page"),
        ),
    )
    verdict = check(either, LAPTOP, GPU)
    assert [(reason.rule, reason.origin) for reason in verdict.against] == [
        ("os-build", "the vendor"),
        ("api-cuda-compute", "a page"),
    ]


def test_a_workload_may_be_left_out() -> None:
    requirement = Requirement(source="here", not_for=("generation",))
    assert check(requirement, LAPTOP, GPU)
    verdict = check(requirement, LAPTOP, GPU, "generation")
    assert [(reason.rule, reason.observed) for reason in verdict.against] == [("workload", "generation")]


def test_versions_compare_number_by_number() -> None:
    assert numbers("25.10.13.09") == numbers("25.10.13.9.0")
    assert numbers("32.0.101.1029") > numbers("32.0.100.9565")
    assert numbers("0.0") == ()
    assert [
        words(Bound(**given)) for given in ({"exactly": "1"}, {"at_most": "2"}, {"at_least": "1", "at_most": "2"})
    ] == [
        "exactly 1",
        "2 or earlier",
        "from 1 to 2",
    ]
    assert holds(Bound(at_least="1.2"), "1.10")


def test_generations_are_told_by_the_processors_numbers() -> None:
    def generation(model: int | None, family: int = 6, vendor: str | None = "GenuineIntel") -> int | None:
        return intel_generation(Cpu(vendor=vendor, family=family, model=model))

    assert [generation(model) for model in (0x8C, 0x97, 0xB7, 0xC6, 0xBD)] == [11, 12, 13, 15, 15]
    assert [generation(0x55), generation(None), generation(1, family=15)] == [None] * 3
    assert (generation(1, vendor="AuthenticAMD"), generation(1, vendor=None)) == (0, None)


WRONG: dict[str, tuple[type[msgspec.Struct], dict[str, Any], str]] = {
    "no bound": (Bound, {}, "exactly"),
    "two kinds of bound": (Bound, {"exactly": "1", "at_most": "2"}, "exactly"),
    "an empty range": (Bound, {"at_least": "2", "at_most": "1.9"}, "at_most"),
    "no version": (Bound, {"at_least": "1.x"}, "at_least"),
    "a version too long": (Bound, {"at_least": "1" * 99}, "at_least"),
    "no scheme": (DriverBound, {"at_least": "1"}, "scheme"),
    "a vendor in capitals": (DeviceRule, {"kind": "gpu", "vendor_ids": ["10DE"]}, "vendor_ids"),
    "an id of three": (DeviceRule, {"kind": "gpu", "device_ids": ["123"]}, "device_ids"),
    "a range upside down": (DeviceRule, {"kind": "gpu", "device_ids": ["2fff-2200"]}, "device_ids"),
    "a level of no api": (DeviceRule, {"kind": "gpu", "apis": {"metal": "3"}}, "apis"),
    "a level that is none": (DeviceRule, {"kind": "gpu", "apis": {"vulkan": "new"}}, "apis"),
    "no level of a set": (DeviceRule, {"kind": "gpu", "apis_one_of": {"vulkan": []}}, "apis_one_of"),
    "a level of a set that is none": (DeviceRule, {"kind": "gpu", "apis_one_of": {"vulkan": ["1.x+"]}}, "apis_one_of"),
    "an os of no kind": (OsRule, {"os": "beos"}, "os"),
    "a system's version": (OsRule, {"os": "macos", "version_at_least": "Ventura"}, "version_at_least"),
    "no source": (Requirement, {}, "source"),
}


@pytest.mark.parametrize(("kind", "given", "field"), WRONG.values(), ids=WRONG)
def test_requirements_that_say_nothing_are_refused(
    kind: type[msgspec.Struct], given: dict[str, Any], field: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(given, kind)
