"""What is inside the ONNX Runtime at hand is offered; what does not come to run is told, and the next one runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import inferry
from inferry.catalog.errors import SessionError
from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.values.host import Distribution, OrtFacts
from inferry.catalog.values.plan import Request
from inferry.cli import inferry as group
from inferry.runtime import plan as planning
from inferry.tests.catalogs import DISCRETE, STOCK, host, model, package, variant

if TYPE_CHECKING:
    from inferry.catalog.values.host import Host
    from inferry.catalog.values.package import EpPackage

FP32 = model(variant("fp32"))
# The stock ONNX Runtime brings this one, which takes no node of a model that asks no remote service.
AZURE = package("azure", "AzureExecutionProvider", ["cpu"], reach="vendor", delivery="engine", distribution="azure")
CUDA = package("onnxruntime-gpu", "CUDAExecutionProvider", ["gpu"], reach="vendor", distribution="onnxruntime-gpu")


def with_ort(brought: str, *eps: str) -> Host:
    distribution = Distribution(name=brought, version="1.31.1")
    facts = OrtFacts(module=True, distributions=(distribution,), version="1.31.1", eps=eps or None)
    return replace(host(DISCRETE), onnxruntime=facts)


@pytest.mark.parametrize(
    ("what", "there", "delivery"),
    [
        (AZURE, with_ort("onnxruntime", "AzureExecutionProvider", "CPUExecutionProvider"), "built-in"),
        (AZURE, with_ort("ort-nightly", "azureexecutionprovider"), "built-in"),
        (AZURE, with_ort("onnxruntime", "CPUExecutionProvider"), "engine"),
        (AZURE, with_ort("azure"), "built-in"),
        (AZURE, with_ort("azure", "CPUExecutionProvider"), "engine"),  # another one wrote over its files
        (CUDA, with_ort("onnxruntime-gpu", "CUDAExecutionProvider", "CPUExecutionProvider"), "built-in"),
        (CUDA, with_ort("onnxruntime-gpu"), "built-in"),
        (CUDA, with_ort("onnxruntime", "CPUExecutionProvider"), "plugin"),
        (CUDA, replace(with_ort("onnxruntime-gpu"), onnxruntime=OrtFacts(module=False)), "plugin"),
    ],
)
def test_what_is_inside_the_onnx_runtime_at_hand_is_built_in(what: EpPackage, there: Host, delivery: str) -> None:
    best = resolve(FP32, (what,), there, Request()).best
    assert best
    assert best.offer.delivery == delivery


@pytest.fixture
def azure_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "packages", lambda: (AZURE, STOCK))


@pytest.mark.usefixtures("azure_first")
def test_the_next_candidate_runs_and_it_is_told() -> None:
    with inferry.load("inferry/digits", precision="fp32") as digits:
        assert digits.plan
        assert digits.plan.demand().offer.package is AZURE
        report = digits.report()
    assert (report.ep, report.device) == ("CPUExecutionProvider", "cpu")
    (tried,) = report.fallback
    assert tried.planned.startswith("fp32 on AzureExecutionProvider (acme/azure 1.31.1, built-in), cpu")
    assert tried.reason.startswith("ONNX Runtime gave AzureExecutionProvider none of the model's ")

    ran = CliRunner().invoke(group, ["run", "inferry/digits", "--json"])
    assert (ran.exit_code, len(json.loads(ran.stdout)["ran"]["fallback"])) == (0, 3)
    assert json.loads(ran.stdout)["ran"]["ep"] == "CPUExecutionProvider"
    assert "planned fp32 on AzureExecutionProvider" in CliRunner().invoke(group, ["run", "inferry/digits"]).stderr


@pytest.mark.usefixtures("azure_first")
def test_what_is_demanded_has_no_next_one() -> None:
    with pytest.raises(SessionError, match="none of the model's"):
        inferry.load("inferry/digits", ep="AzureExecutionProvider")
    ran = CliRunner().invoke(group, ["run", "inferry/digits", "--ep", "acme/azure"])
    assert ran.exit_code == 7


def test_a_preference_that_holds_leaves_nothing_to_tell() -> None:
    with inferry.load("inferry/digits", policy="prefer-gpu") as digits:
        assert digits.report().fallback == ()
