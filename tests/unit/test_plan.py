"""``inferry plan`` and ``inferry.plan``: what would run, on this machine and on others; ``run`` goes by it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

import inferry
from inferry.catalog.errors import NothingFits, UsageError
from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.values.plan import Request
from inferry.cli import inferry as group
from inferry.runtime.plan import Plan
from inferry.runtime.profile import HostProfile
from inferry.tests.catalogs import ALL, DISCRETE, host, model, variant
from inferry.tests.models import add

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="inferry")


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    told = run(*arguments, "--json")
    assert told.exit_code == code
    document: dict[str, Any] = json.loads(told.stdout)
    return document


def test_the_plan_for_this_machine() -> None:
    told = run("plan", "inferry/digits", "--explain")
    assert told.exit_code == 0
    lines = told.stdout.splitlines()
    assert lines[0].startswith("inferry/digits 1.0.0: fp32 on CPUExecutionProvider (inferry/onnxruntime ")
    assert lines[0].partition("built-in), ")[2].startswith("cpu")
    assert lines[1].startswith("second: fp16 on CPUExecutionProvider ")
    assert "precision: " in lines[1]
    short = run("plan", "inferry/digits")
    assert short.stdout == f"{lines[0]}\n"
    assert "more: --explain" in short.stderr


def test_it_has_the_promised_keys() -> None:
    document = answer("plan", "inferry/digits")
    plan = document["plan"]
    assert {"model", "version", "variant", "precision", "ep", "ep_package", "delivery", "device"} <= plan.keys()
    assert plan["artifacts"] == [
        {
            "path": "digits-fp32.onnx",
            "sha256": plan["artifacts"][0]["sha256"],
            "size_bytes": plan["artifacts"][0]["size_bytes"],
        }
    ]
    assert plan["download_bytes"] == 0
    for candidate in document["candidates"]:
        assert {"fits", "reasons", "variant", "ep", "device"} <= candidate.keys()
        for reason in candidate["reasons"]:
            assert {"rule", "observed", "required", "origin", "fix"} <= reason.keys()


@pytest.mark.parametrize(
    ("pins", "code", "words"),
    [
        (("--precision", "int8"), 0, "int8 on CPUExecutionProvider"),
        (("--ep", "cpu", "--device", "cpu", "--policy", "PREFER_GPU"), 0, "fp32 on CPUExecutionProvider"),
        (("--precision", "int4"), 4, "nothing fits this host"),
    ],
)
def test_pins_are_heeded(pins: tuple[str, ...], code: int, words: str) -> None:
    told = run("plan", "inferry/digits", "--explain", *pins)
    assert (told.exit_code, words in told.stdout.splitlines()[0]) == (code, True)
    ran = run("run", "inferry/digits", *pins)
    assert ran.exit_code == code
    if code == 0:
        assert f"ran inferry/digits 1.0.0 {words.split(maxsplit=1)[0]} on cpu: CPUExecutionProvider" in ran.stderr


@pytest.mark.parametrize(
    ("pins", "code", "words"),
    [
        (("--policy", "fastest"), 2, "no device policy"),
        (("--channel", "beta"), 2, "no channel `beta`"),
        (("--device", "toaster"), 2, "selects no device"),
        (("--device", "pci:ffff:ff:1f.7"), 4, "no device of this host"),
        (("--ep", "NosuchExecutionProvider"), 4, "nothing"),
    ],
)
def test_pins_that_mean_nothing_are_told(pins: tuple[str, ...], code: int, words: str) -> None:
    for command in ("plan", "run"):
        told = run(command, "inferry/digits", *pins)
        assert (told.exit_code, words in told.output) == (code, True), (command, told.output)


def test_a_plan_for_another_machine(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    HostProfile(host(DISCRETE, ort="1.30.0")).save(file)
    told = run("plan", "inferry/digits", "--host", str(file), "--explain")
    assert told.exit_code == 0
    assert " on CPUExecutionProvider (inferry/onnxruntime 1.30.0, built-in), cpu A processor\n" in told.stdout
    document = answer("plan", "inferry/digits", "--host", str(file))
    assert document["here"]["ep_package"] == "inferry/onnxruntime@1.30.0"
    told = run("plan", "inferry/digits", "--host", str(tmp_path / "nosuch.json"))
    assert (told.exit_code, "cannot be read" in told.stderr) == (10, True)


def test_what_can_be_carried_out_is_told_beside_the_best() -> None:
    there, what = host(DISCRETE), model(variant("fp32"))
    here = resolve(what, ALL, there, Request(deliveries=("built-in",)))
    plan = Plan(resolve(what, ALL, there, Request()), here)
    lines = plan.explain().splitlines()
    assert lines[:2] == [
        "acme/thing 1.0.0: fp32 on CardsExecutionProvider (acme/cards 1.0.0, plugin), gpu A card",
        (
            "this version of inferry can carry out: fp32 on CPUExecutionProvider (acme/onnxruntime 1.31.1, built-in), "
            "cpu A processor"
        ),
    ]
    document = plan.document()
    assert (document["plan"]["ep"], document["here"]["ep"]) == ("CardsExecutionProvider", "CPUExecutionProvider")


def test_python_plans_too(tmp_path: Path) -> None:
    plan = inferry.plan("inferry/digits", host=HostProfile(host()), precision="fp16")
    assert plan.chosen
    assert plan.chosen.fitted.variant.name == "fp16"
    assert plan.explain().startswith("inferry/digits 1.0.0: fp16 on CPUExecutionProvider")
    with inferry.load("inferry/digits") as model:
        assert model.plan
        assert model.plan.chosen
        assert model.plan.chosen.offer.package.ep == model.report().ep
        assert model.plan.explain().startswith("inferry/digits 1.0.0: fp32")
    with pytest.raises(NothingFits):
        inferry.load("inferry/digits", ep="dml")
    with pytest.raises(UsageError):
        inferry.load("inferry/digits", policy="best")
    (tmp_path / "add.onnx").write_bytes(add())
    plan = inferry.plan(tmp_path / "add.onnx")
    assert plan.chosen
    assert plan.chosen.fitted.onnxruntime == ">=1.12"
    assert "add.onnx: the file on CPUExecutionProvider" in repr(plan) + plan.explain()


def test_planning_loads_neither_numpy_nor_onnx_runtime(tmp_path: Path) -> None:
    script = """
import sys
from inferry.cli import inferry
inferry(["plan", "inferry/digits"], prog_name="inferry", standalone_mode=False)
print(sorted({"numpy", "onnxruntime"} & sys.modules.keys()))
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.splitlines()[-1] == "[]"
