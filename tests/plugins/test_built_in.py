"""A build of ONNX Runtime with OpenVINO inside, installed in place of the stock one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.plugins
OPENVINO = "OpenVINOExecutionProvider"
DIGITS = "inferry/digits"


def inferry(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    program = Path(os.environ["INFERRY_OPENVINO"]) / "inferry"
    ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == code, ran.stderr
    return ran


def document(*arguments: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(inferry(*arguments, "--json").stdout)
    return told


def python(code: str) -> str:
    program = Path(os.environ["INFERRY_OPENVINO"]) / "python"
    return subprocess.run([program, "-c", code], capture_output=True, text=True, timeout=120, check=True).stdout.strip()


def test_devices_tells_what_is_inside() -> None:
    host = document("devices")["host"]
    assert host["onnxruntime"]["distributions"] == [{"name": "onnxruntime-openvino", "version": "1.24.1"}]
    assert host["onnxruntime"]["eps"] == [OPENVINO, "CPUExecutionProvider"]


def test_it_is_a_candidate_that_is_built_in() -> None:
    told = document("plan", DIGITS)
    mine = [each for each in told["candidates"] if each["ep_package"] == "inferry/onnxruntime-openvino@1.24.1"]
    assert [(each["delivery"], each["fits"]) for each in mine] == [("built-in", True)] * 3
    assert document("plan", DIGITS, "--ep", "openvino")["plan"]["ep"] == OPENVINO


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize("ep", ["openvino", OPENVINO.lower(), "onnxruntime-openvino@1.24.1"])
def test_it_runs_where_it_is_demanded(ep: str, precision: str) -> None:
    told = document("run", DIGITS, "--ep", ep, "--precision", precision)
    ran = told["ran"]
    assert (ran["ep"], ran["device"], ran["fallback"], ran["onnxruntime"]) == (OPENVINO, "cpu", None, "1.24.1")
    assert [*ran["nodes"]] == [OPENVINO]
    best = told["outputs"]["logits"]["labels"][0]
    assert best["label"] == "7"
    assert best["score"] > 0.99


def test_the_processors_own_stays_the_default() -> None:
    assert document("run", DIGITS)["ran"]["ep"] == "CPUExecutionProvider"


def test_both_compute_the_same() -> None:
    code = """
import numpy as np, inferry
both = []
for ep in ("openvino", "cpu"):
    with inferry.load("inferry/digits", ep=ep, precision="fp32") as model:
        both.append(model.run(model.samples)["logits"])
        print(model.report().ep)
print(float(np.abs(both[0] - both[1]).max()) < 1e-2)
"""
    assert python(code).splitlines() == [OPENVINO, "CPUExecutionProvider", "True"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"no_such_option": "1"}, "Invalid OpenVINO EP option: no_such_option"),
        # Of this one ONNX Runtime prints a warning, and goes on without the EP.
        ({"device_type": "NO_SUCH_DEVICE"}, f"took CPUExecutionProvider where {OPENVINO} was asked for"),
    ],
)
def test_an_option_that_it_does_not_take_is_no_silent_fallback(options: dict[str, str], words: str) -> None:
    code = f"""
from inferry.catalog.errors import SessionError
from inferry.index.client.source import BUILT_IN
from inferry.runtime.session import Place, Session
data = (BUILT_IN / "inferry/digits/digits-fp32.onnx").read_bytes()
try:
    Session(data, name="it", place=Place({OPENVINO!r}, "cpu", {options}))
except SessionError as error:
    print(error.message)
"""
    assert words in python(code)


def test_the_doctor_finds_nothing_wrong_with_it() -> None:
    assert "nothing is wrong" in inferry("doctor").stderr
