"""The rows of EP packages: each fact has an origin that can be looked up, and what vendors publish is in them."""

from __future__ import annotations

import fnmatch
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from inferry.catalog.values.requirement import DriverBound
from inferry.ep_packages.table import ROWS, packages

if TYPE_CHECKING:
    from inferry.catalog.values.package import EpPackage

ROOT = Path(__file__).resolve().parents[2]
DATE = r"(?P<date>\d{4}-\d\d-\d\d)"
FORMS = (
    re.compile(r"docs/reference/facts\.md#(?P<heading>[a-z0-9-]+)"),
    re.compile(rf"PyPI (?P<name>[a-z0-9-]+) (?P<version>[0-9a-z.]+), {DATE}"),
    re.compile(rf"https://[a-z0-9.]+\.[a-z]+/[A-Za-z0-9./_-]*, {DATE}"),
)
EPS = {
    "CPUExecutionProvider",
    "CUDAExecutionProvider",
    "DmlExecutionProvider",
    "MIGraphXExecutionProvider",
    "NvTensorRTRTXExecutionProvider",
    "OpenVINOExecutionProvider",
    "QNNExecutionProvider",
    "VitisAIExecutionProvider",
    "WebGpuExecutionProvider",
    "cpu_ep",
}
"""As ONNX Runtime spells them; ``cpu_ep`` is nxrt's."""
NAMES = [package.name for package in packages()]


def wddm(**bound: str) -> DriverBound:
    return DriverBound(scheme="wddm", **bound)


def package(**bound: str) -> DriverBound:
    return DriverBound(scheme="vendor-package", **bound)


RTX = tuple(f"*GeForce RTX {family}0*" for family in range(3, 10))
WINDOWS_ML: list[tuple[str, str, dict[str, Any]]] = [
    ("MIGraphXExecutionProvider", "gpu", {"drivers": (package(exactly="25.10.13.09"),)}),
    ("NvTensorRTRTXExecutionProvider", "gpu", {"names": RTX, "drivers": (wddm(at_least="32.0.15.5585"),)}),
    (
        "OpenVINOExecutionProvider",
        "cpu",
        {"intel_generation_at_least": 11, "drivers": (wddm(at_least="32.0.100.9565"),)},
    ),
    (
        "OpenVINOExecutionProvider",
        "gpu",
        {"intel_generation_at_least": 12, "drivers": (wddm(at_least="32.0.101.1029"),)},
    ),
    (
        "OpenVINOExecutionProvider",
        "npu",
        {"intel_generation_at_least": 15, "drivers": (wddm(at_least="32.0.100.4239"),)},
    ),
    ("QNNExecutionProvider", "npu", {"names": ("*X1E*", "*X1P*"), "drivers": (wddm(at_least="30.0.140.0"),)}),
    (
        "VitisAIExecutionProvider",
        "npu",
        {
            "drivers": (
                wddm(at_least="32.00.0203.280", at_most="32.00.0203.297"),
                package(at_least="25.6.3", at_most="25.9.1"),
            )
        },
    ),
]
"""Windows ML's table of 2026-04-28, a line for each kind of device that it states something of."""


def sources(row: EpPackage) -> set[str]:
    requirements = [build.requires for release in row.releases for build in release.builds]
    devices = [device.source for each in requirements for device in each.devices if device.source]
    return {fact.source for fact in row.facts} | {each.source for each in requirements} | {*devices}


def headings() -> set[str]:
    text = (ROOT / "docs/reference/facts.md").read_text(encoding="utf-8")
    return {
        re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-")
        for each in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }


@pytest.mark.parametrize("row", packages(), ids=NAMES)
def test_each_fact_and_rule_has_an_origin_that_can_be_looked_up(row: EpPackage) -> None:
    known = headings()
    assert row.facts
    for source in sources(row):
        form = next((found for form in FORMS if (found := form.fullmatch(source))), None)
        assert form is not None, source
        told = form.groupdict()
        assert "heading" not in told or told["heading"] in known, source
        if "date" in told:
            assert date(2024, 1, 1) <= date.fromisoformat(told["date"]) <= datetime.now(UTC).date(), source
        if "name" in told:
            assert told["name"] == row.distribution
            assert told["version"] in {release.version for release in row.releases}


@pytest.mark.parametrize("row", packages(), ids=NAMES)
def test_each_variable_that_a_child_keeps_is_told_of_in_a_fact(row: EpPackage) -> None:
    words = {word for fact in row.facts for word in re.findall(r"[A-Z][A-Z0-9_]+", fact.says)}
    assert not [name for name in row.environment if not fnmatch.filter(words, name)]


def test_what_bends_the_sight_of_the_large_eps_is_kept() -> None:
    kept = {row.ep: {*row.environment} for row in packages() if row.environment}
    assert (
        kept["CUDAExecutionProvider"]
        >= kept["NvTensorRTRTXExecutionProvider"]
        == {
            "CUDA_DEVICE_ORDER",
            "CUDA_VISIBLE_DEVICES",
        }
    )
    assert kept["WebGpuExecutionProvider"] >= {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_*"}
    assert kept["MIGraphXExecutionProvider"] >= {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}


@pytest.mark.parametrize("name", ["", "*", "AB*", "lower", "A B", "_A_B", "A=B", "VK_*_X", "PATH\n"])
def test_what_is_no_variable_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="environment: "):
        replace(packages()[0], environment=(name,))


@pytest.mark.parametrize(
    "source",
    [
        "our own experience",
        "PyPI onnxruntime, 2026-10-26",
        "PyPI onnxruntime 1.31.1",
        "docs/reference/proven.md#proven",
        "docs/reference/facts.md",
        "https://onnxruntime.ai/docs/",
        "http://onnxruntime.ai/docs/, 2026-10-26",
    ],
)
def test_what_is_no_origin_is_told_from_one(source: str) -> None:
    assert not any(form.fullmatch(source) for form in FORMS)


@pytest.mark.parametrize("row", packages(), ids=NAMES)
def test_each_row_is_named_as_what_it_describes(row: EpPackage) -> None:
    assert row.ep in EPS
    namespace, _, name = row.name.partition("/")
    assert namespace == "inferry"
    assert (ROWS / f"{name}.toml").is_file()
    assert name.startswith("winml-") if row.delivery == "system" else name == row.distribution
    assert re.fullmatch(r"[A-Za-z0-9.-]+( AND [A-Za-z0-9.-]+)*", row.license)
    for release in row.releases:
        assert (release.channel == "test") == ("dev" in release.version)
        for build in release.builds:
            assert build.requires.os
            assert {device.kind for device in build.requires.devices} <= {*build.kinds}
            assert row.delivery != "plugin" or build.requires.onnxruntime
            assert row.delivery == "system" or (build.size_bytes and build.requires.architectures)
            assert build.file is None or f"-{release.version}-" in build.file


def test_names_mean_one_package_and_aliases_one_ep() -> None:
    rows = packages()
    short = [row.name.partition("/")[2] for row in rows]
    assert len({*short}) == len(short)
    words = {alias: row.ep for row in rows for alias in row.aliases}
    for row in rows:  # an alias is an EP's, whoever delivers it
        assert row.aliases == tuple(alias for alias, ep in words.items() if ep == row.ep)
    assert not {word.lower() for word in EPS} & {*words, *short}
    assert not {alias for alias in words if f"inferry/{alias}" in {row.name for row in rows if row.ep != words[alias]}}
    carried = [row.distribution for row in rows if row.distribution]
    assert len({*carried}) == len(carried)
    assert {"cpu", "cuda", "directml", "dml", "migraphx", "nv", "openvino", "qnn", "vitisai", "webgpu"} <= {*words}


@pytest.mark.parametrize(("ep", "kind", "rules"), WINDOWS_ML, ids=[f"{ep} {kind}" for ep, kind, _ in WINDOWS_ML])
def test_what_windows_ml_publishes_is_in_a_row(ep: str, kind: str, rules: dict[str, Any]) -> None:
    (row,) = (each for each in packages() if each.ep == ep and each.delivery == "system")
    for release in row.releases:
        (build,) = release.builds
        (device,) = (each for each in build.requires.devices if each.kind == kind)
        assert {name: getattr(device, name) for name in rules} == rules
        assert device.vendor_ids
        assert [(rule.os, rule.build_at_least) for rule in build.requires.os] == [("windows", 26100)]
        assert build.requires.not_for == (("generation",) if ep == "MIGraphXExecutionProvider" else ())


def test_windows_mls_table_says_no_more() -> None:
    told = {(ep, kind) for ep, kind, _ in WINDOWS_ML}
    rows = [row for row in packages() if row.delivery == "system"]
    kinds = {
        (row.ep, kind) for row in rows for release in row.releases for build in release.builds for kind in build.kinds
    }
    assert kinds == told


def test_what_is_experimental_says_so() -> None:
    marked = {row.distribution for row in packages() if row.support == "experimental"}
    assert marked == {"nxrt-ep-cpu", "onnxruntime-ep-webgpu", "onnxruntime-gpu", "onnxruntime-openvino"}
    (cuda,) = (row for row in packages() if "cuda" in row.aliases)
    for release in cuda.releases:
        assert {build.requires.onnxruntime for build in release.builds} == {f"=={release.version}"}
