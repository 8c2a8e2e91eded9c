"""The choice: which candidate comes first and why, what is refused and in which words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from inferry.catalog.errors import NothingFits, UsageError
from inferry.catalog.policy import policy
from inferry.catalog.resolver.explain import decisive, document, explain, named
from inferry.catalog.resolver.resolution import Resolution, resolve
from inferry.catalog.selectors import select
from inferry.catalog.values.graph import Graph, Operator
from inferry.catalog.values.host import Device, Host, Node, OrtFacts
from inferry.catalog.values.plan import Request
from inferry.catalog.values.requirement import DeviceRule, Requirement
from inferry.tests.catalogs import (
    ALL,
    ANY_GPU,
    CARDS,
    DISCRETE,
    GB,
    NPU,
    NPUS,
    SHARED,
    STOCK,
    host,
    model,
    package,
    variant,
)

if TYPE_CHECKING:
    from inferry.catalog.values.package import EpPackage
    from inferry.catalog.values.plan import Subject

FP32, FP16, INT8 = variant("fp32"), variant("fp16", "fp16", 500), variant("int8", "int8", 250, accuracy_loss=0.01)
THREE = model(FP32, FP16, INT8)


def chosen(resolution: Resolution) -> tuple[str, str, str]:
    best = resolution.best
    assert best
    return best.fitted.variant.name, best.offer.package.ep, best.offer.device.kind


def ask(where: Host, what: Subject = THREE, packages: tuple[EpPackage, ...] = ALL, **request: Any) -> Resolution:
    return resolve(what, packages, where, Request(**request))


CHOICES: dict[str, tuple[Host, dict[str, Any], tuple[str, str, str]]] = {
    "nothing but a processor": (host(), {}, ("fp32", "CPUExecutionProvider", "cpu")),
    "a card": (host(DISCRETE), {}, ("fp16", "CardsExecutionProvider", "gpu")),
    "a card beside its own graphics": (host(SHARED, DISCRETE), {}, ("fp16", "CardsExecutionProvider", "gpu")),
    "its own graphics and an NPU": (host(SHARED, NPU), {}, ("int8", "NpuExecutionProvider", "npu")),
    "its own graphics": (host(SHARED), {}, ("fp16", "WebGpuExecutionProvider", "gpu")),
    "prefer-cpu": (host(DISCRETE), {"policy": "prefer-cpu"}, ("fp32", "CPUExecutionProvider", "cpu")),
    "prefer-npu": (host(DISCRETE, NPU), {"policy": "prefer-npu"}, ("int8", "NpuExecutionProvider", "npu")),
    "prefer-npu without one": (host(DISCRETE), {"policy": "prefer-npu"}, ("fp16", "CardsExecutionProvider", "gpu")),
    "min-power": (host(DISCRETE), {"policy": "min-power"}, ("fp32", "CPUExecutionProvider", "cpu")),
    "a precision": (host(DISCRETE), {"precision": "fp32"}, ("fp32", "CardsExecutionProvider", "gpu")),
    "an EP by its alias": (host(DISCRETE), {"ep": "webgpu"}, ("fp16", "WebGpuExecutionProvider", "gpu")),
    "an EP in any case": (host(DISCRETE), {"ep": "CPUEXECUTIONPROVIDER"}, ("fp32", "CPUExecutionProvider", "cpu")),
    "a package and its version": (host(DISCRETE), {"ep": "webgpu@1.0.0"}, ("fp16", "WebGpuExecutionProvider", "gpu")),
    "a device": (host(SHARED, DISCRETE), {"device": "intel:1"}, ("fp16", "WebGpuExecutionProvider", "gpu")),
    "what can be carried out": (
        host(DISCRETE),
        {"deliveries": ("built-in",)},
        ("fp32", "CPUExecutionProvider", "cpu"),
    ),
}


@pytest.mark.parametrize(("where", "request_", "expected"), CHOICES.values(), ids=CHOICES)
def test_what_is_chosen(where: Host, request_: dict[str, Any], expected: tuple[str, str, str]) -> None:
    assert chosen(ask(where, **request_)) == expected


def test_int8_on_a_processor_needs_the_publishers_word() -> None:
    assert chosen(ask(host(), model(FP32, INT8)))[0] == "fp32"
    assert chosen(ask(host(), model(FP32, INT8, limit=0.01)))[0] == "int8"
    assert chosen(ask(host(), model(FP32, INT8, limit=0.009)))[0] == "fp32"
    assert chosen(ask(host(), model(FP32, variant("int8", "int8"), limit=1.0)))[0] == "fp32"


ORDER: dict[str, tuple[tuple[EpPackage, ...], str]] = {
    "reach": (
        (CARDS, ANY_GPU),
        "an EP of the device's own vendor comes before a generic one, and that before the CPU's: vendor before generic",
    ),
    "support": (
        (ANY_GPU, package("other", "OtherExecutionProvider", ["gpu"], support="experimental", size=1)),
        "what is supported comes before what is experimental",
    ),
    "newer": (
        (package("two", "TwoExecutionProvider", ["gpu"], versions=["1.9.0", "1.10.0"]),),
        "the newer release comes first: 1.10.0 before 1.9.0",
    ),
    "smaller": (
        (ANY_GPU, package("other", "OtherExecutionProvider", ["gpu"], size=11)),
        "the smaller download comes first",
    ),
    "delivery": (
        (ANY_GPU, package("other", "OtherExecutionProvider", ["gpu"], delivery="engine")),
        "what is here already comes before what must be installed: plugin before engine",
    ),
    "offer": (
        (ANY_GPU, package("other", "OtherExecutionProvider", ["gpu"])),
        "nothing tells them apart but their names",
    ),
}


@pytest.mark.parametrize(("key", "packages", "words"), [(key, *case) for key, case in ORDER.items()], ids=ORDER)
def test_why_the_first_beats_the_second(key: str, packages: tuple[EpPackage, ...], words: str) -> None:
    for given in (packages, packages[::-1]):
        resolution = ask(host(DISCRETE), model(FP32), given)
        assert resolution.order.why(*resolution.ranked[:2]) == (key, words)


def test_more_memory_comes_first_of_two_alike() -> None:
    small = replace(DISCRETE, memory_bytes=8 * GB, name="A small card")
    for devices in ((small, DISCRETE), (DISCRETE, small)):
        resolution = ask(host(*devices), model(FP32), (CARDS,))
        assert resolution.best
        assert resolution.best.offer.device == DISCRETE
        assert resolution.order.why(*resolution.ranked[:2])[0] == "memory"


REFUSED: dict[str, tuple[Host, tuple[EpPackage, ...], dict[str, Any], tuple[str, str, str]]] = {
    "no such device": (host(), (NPUS,), {}, ("device-kind", "none", "npu")),
    "nobody looked": (replace(host(), searched=("cpu",)), (NPUS,), {}, ("device-kind", "unknown", "npu")),
    "another vendor": (host(SHARED), (CARDS,), {}, ("vendor", "8086", "10de")),
    "a channel": (
        host(DISCRETE),
        (package("early", "EarlyExecutionProvider", ["gpu"], channel="test"),),
        {},
        ("channel", "test", "stable"),
    ),
    "a delivery": (host(DISCRETE), (CARDS,), {"deliveries": ("built-in",)}, ("delivery", "plugin", "built-in")),
    "a precision": (host(), (STOCK,), {"precision": "int4"}, ("precision", "fp32", "int4")),
    "an EP": (
        host(DISCRETE),
        (CARDS,),
        {"ep": "webgpu"},
        ("ep", "CardsExecutionProvider of acme/cards 1.0.0", "webgpu"),
    ),
    "a version": (
        host(DISCRETE),
        (CARDS,),
        {"ep": "cards@2.0"},
        ("ep", "CardsExecutionProvider of acme/cards 1.0.0", "cards@2.0"),
    ),
    "a device": (
        host(DISCRETE),
        (STOCK,),
        {"device": "nvidia"},
        ("device", "cpu A processor (8086)", "gpu A card (10de:2684)"),
    ),
    "software": (
        host(replace(DISCRETE, software=True)),
        (CARDS,),
        {},
        ("software", "played by software", "a real device"),
    ),
    "a node that is missing": (
        host(replace(DISCRETE, nodes=(Node(path="/dev/nvidia0", access="missing"),))),
        (CARDS,),
        {"device": "gpu"},
        ("device-node", "/dev/nvidia0 is missing", "read and write /dev/nvidia0"),
    ),
    "a node that is closed, of a card for others": (
        host(replace(SHARED, nodes=(Node(path="/dev/dri/renderD128", access="denied"),))),
        (CARDS,),
        {},
        ("vendor", "8086", "10de"),
    ),
}


@pytest.mark.parametrize(("where", "packages", "request_", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_and_why(
    where: Host, packages: tuple[EpPackage, ...], request_: dict[str, Any], reason: tuple[str, str, str]
) -> None:
    resolution = ask(where, model(FP32), packages, **request_)
    assert resolution.best is None
    assert [decisive(each)[:1] + decisive(each)[2:4] for each in resolution.rejected] == [reason]
    lines = explain(resolution)
    assert lines[0] == "acme/thing 1.0.0: nothing fits this host"
    assert f": {reason[0]}: {reason[1]}, required: {reason[2]} (" in lines[1]
    assert document(resolution)["plan"] is None


def test_software_runs_where_it_is_named() -> None:
    resolution = ask(host(replace(DISCRETE, software=True)), model(FP32), (CARDS,), device="gpu")
    assert chosen(resolution) == ("fp32", "CardsExecutionProvider", "gpu")


@pytest.mark.parametrize(
    "node",
    [
        Node(path="/dev/nvidia0"),
        Node(path="/dev/nvidia0", access="open"),
        Node(path="/dev/kfd", access="denied", only_for="ROCm"),
    ],
)
def test_a_node_that_may_do_or_is_for_another_program_speaks_against_nothing(node: Node) -> None:
    assert chosen(ask(host(replace(DISCRETE, nodes=(node,))))) == ("fp16", "CardsExecutionProvider", "gpu")


def test_of_two_cards_the_one_that_may_be_opened_runs() -> None:
    closed = replace(DISCRETE, memory_bytes=80 * GB, nodes=(Node(path="/dev/nvidia0", access="missing"),))
    best = ask(host(closed, replace(DISCRETE, nodes=(Node(path="/dev/nvidia1", access="open"),)))).best
    assert best
    assert best.offer.place == 2


def test_a_variant_may_be_built_for_some_providers() -> None:
    made = variant("cards", "fp16", eps=("cardsexecutionprovider",))
    resolution = ask(host(DISCRETE), model(made))
    assert chosen(resolution) == ("cards", "CardsExecutionProvider", "gpu")
    assert {each.offer.package.ep: decisive(each).rule for each in resolution.rejected} == {
        "WebGpuExecutionProvider": "variant-ep",
        "CPUExecutionProvider": "variant-ep",
        "NpuExecutionProvider": "device-kind",
    }


def test_a_variant_may_need_more_than_its_provider() -> None:
    needs = Requirement(source="the publisher", devices=(DeviceRule(kind="gpu", memory_bytes=30 * GB),))
    resolution = ask(host(DISCRETE), model(variant("large", requires=needs)))
    assert resolution.best is None
    assert {each.offer.package.ep: decisive(each).rule for each in resolution.rejected}["CardsExecutionProvider"] == (
        "device-memory"
    )


def test_operators_bound_the_onnx_runtime_that_would_run_them() -> None:
    graph = Graph(ir_version=13, opsets={"": 25}, operators=(Operator("Relu@25"),))
    new = model(variant("new", graph=graph))
    old = ask(host(ort="1.20.0"), new, (STOCK,))
    assert old.best is None
    assert decisive(old.rejected[0]).words() == (
        "operators: ONNX Runtime 1.20.0, required: ONNX Runtime >=1.24 (the variant's operators)"
    )
    none = replace(host(ort=None), onnxruntime=OrtFacts(module=False, distributions=()))
    engine = ask(none, new, (STOCK,))
    assert engine.best
    assert (engine.best.offer.delivery, engine.best.offer.onnxruntime) == ("engine", "1.31.1")


def test_what_the_onnx_runtime_at_hand_has_is_built_in() -> None:
    best = ask(host(), model(FP32), (STOCK,)).best
    assert best
    assert (best.offer.delivery, best.offer.release.version) == ("built-in", "1.31.1")
    older = ask(host(ort="1.24.4"), model(FP32), (STOCK,)).best
    assert older
    assert (older.offer.delivery, older.offer.release.version) == ("built-in", "1.24.4")


def test_it_is_explained_in_lines() -> None:
    assert explain(ask(host(DISCRETE), model(FP32, FP16))) == [
        "acme/thing 1.0.0: fp16 on CardsExecutionProvider (acme/cards 1.0.0, plugin), gpu A card",
        (
            "second: fp32 on CardsExecutionProvider (acme/cards 1.0.0, plugin), gpu A card; precision: on this kind of "
            "device the one precision comes before the other: fp16 before fp32"
        ),
        "also fits: fp16, fp32 on WebGpuExecutionProvider (acme/webgpu 1.0.0, plugin), gpu A card",
        "also fits: fp32, fp16 on CPUExecutionProvider (acme/onnxruntime 1.31.1, built-in), cpu A processor",
        (
            "no: fp16, fp32 on NpuExecutionProvider (acme/npus 1.0.0, plugin), npu: device-kind: none, required: npu "
            "(the vendor of npus)"
        ),
    ]


def test_it_is_a_document_too() -> None:
    told = document(ask(host(DISCRETE), model(FP32, FP16)))
    plan = told["plan"]
    assert plan.keys() >= {"model", "version", "variant", "precision", "ep", "ep_package", "delivery", "device"}
    assert (plan["variant"], plan["ep_package"], plan["device"]["kind"]) == ("fp16", "acme/cards@1.0.0", "gpu")
    assert plan["artifacts"][0]["path"] == "fp16.onnx"
    assert len(plan["artifacts"][0]["sha256"]) == 64
    assert len(told["candidates"]) == 8
    assert [each["fits"] for each in told["candidates"]] == [True] * 6 + [False] * 2
    reason = told["candidates"][-1]["reasons"][-1]
    assert reason.keys() >= {"rule", "observed", "required", "origin", "fix"}


def test_without_the_winner_the_runner_up_wins() -> None:
    resolution = ask(host(SHARED, DISCRETE, NPU))
    left = list(resolution.ranked)
    second = resolution.best
    while resolution.runner_up:
        second = resolution.runner_up
        left = left[1:]
        resolution = resolution._replace(ranked=left)
        assert resolution.best == second
    assert second
    assert named(second) == "int8 on CPUExecutionProvider (acme/onnxruntime 1.31.1, built-in), cpu A processor"


SELECTORS: dict[str, int] = {
    "cpu": 0,
    "gpu:0": 1,
    "gpu:1": 2,
    "GPU:1": 2,
    "nvidia": 2,
    "10DE:2684": 2,
    "pci:0000:01:00.0": 2,
    "luid:0:1008": 1,
    "npu": 3,
    "intel:1": 1,
}
LAPTOP = host(replace(SHARED, luid="0:1008"), replace(DISCRETE, pci="0000:01:00.0"), NPU)


@pytest.mark.parametrize(("text", "place"), SELECTORS.items(), ids=SELECTORS)
def test_a_selector_means_one_device(text: str, place: int) -> None:
    assert select(text, LAPTOP) == place


def test_a_selector_that_means_several_lists_them() -> None:
    with pytest.raises(UsageError, match="`gpu` means 2 devices") as caught:
        select("gpu", LAPTOP)
    assert caught.value.hints() == ("gpu:0 is gpu Its own graphics (8086:7d55)", "gpu:1 is gpu A card (10de:2684)")


def test_a_selector_that_means_none() -> None:
    for text in ("gpu:2", "amd", "1234:5678", "pci:0000:02:00.0", "luid:0:1"):
        with pytest.raises(NothingFits, match="no device of this host is"):
            select(text, LAPTOP)
    for text in ("", "tpu", "gpu:", "gpu:x", "10de", "pci:1"):
        with pytest.raises(UsageError, match="selects no device") as caught:
            select(text, LAPTOP)
        assert "write cpu, gpu" in caught.value.hints()[0]
    assert Device(kind="cpu") not in LAPTOP.devices


def test_policies_are_spelled_as_onnx_runtime_does_too() -> None:
    assert [policy(text) for text in ("PREFER_GPU", "Max-Performance", "MIN_OVERALL_POWER", "default")] == [
        "prefer-gpu",
        "max-performance",
        "min-power",
        "default",
    ]
    with pytest.raises(UsageError, match="no device policy `fastest`"):
        policy("fastest")
