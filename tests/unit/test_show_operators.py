"""``inferry show`` tells what a model needs of ONNX Runtime."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from inferry.cli import inferry as group
from inferry.index.client.source import BUILT_IN, MANIFEST
from inferry.runtime.ort import library
from inferry.tests.graphs import LOCAL, function, node, of, with_functions
from inferry.tests.models import add, one_node
from inferry.tests.wire import varint

if TYPE_CHECKING:
    from pathlib import Path


def show(name: object, *options: str, code: int = 0) -> str:
    told = CliRunner().invoke(group, ["show", str(name), *options])
    assert told.exit_code == code, told.output
    return told.stdout or told.stderr


def model(name: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(show(name, "--json"))["model"]
    return document


def functions() -> bytes:
    return with_functions(of(node("F", "local"), opsets=LOCAL), function("F", node("Abs"), opsets={"": 13}))


LINES: dict[str, tuple[bytes, str]] = {
    "one": (add(), "Add (opset 17, IR 8)  ONNX Runtime >=1.12"),
    "several domains": (
        one_node("Gelu", domain="com.microsoft"),
        "com.microsoft:Gelu (opset 17, com.microsoft 1, IR 8)  ONNX Runtime >=1.12",
    ),
    "a function of another opset": (functions(), "Abs (opset 17, local 1, IR 8)  ONNX Runtime >=1.12"),
}


@pytest.mark.parametrize(("data", "line"), LINES.values(), ids=LINES)
def test_people_read_one_line(data: bytes, line: str, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    assert show(file).splitlines()[-2] == f"operators  {line}"


def test_programs_read_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(functions())
    told = model(file)
    assert told["operators"] == [{"domain": "", "type": "Abs", "opset": 13}]
    assert (told["opsets"], told["ir_version"], told["external"]) == ({"": 17, "local": 1}, 8, [])
    assert told["onnxruntime"] == ">=1.12"


def test_variants_that_differ_are_told_apart() -> None:
    lines = show("inferry/digits").splitlines()
    assert lines[lines.index("operators") + 1 : -1] == [
        "  fp32  Conv, Flatten, Gemm, MaxPool, Relu (opset 17, IR 8)  ONNX Runtime >=1.12",
        "  fp16  Cast, Conv, Flatten, Gemm, MaxPool, Relu (opset 17, IR 8)  ONNX Runtime >=1.12",
        "  int8  Conv, DequantizeLinear, Flatten, Gemm, MaxPool, QuantizeLinear (opset 17, IR 8)  ONNX Runtime >=1.12",
    ]
    told = model("inferry/digits")
    assert told["operators"] == told["variants"][0]["operators"]
    assert {"domain": "", "type": "Cast", "opset": 17} in told["variants"][1]["operators"]
    assert [each["onnxruntime"] for each in told["variants"]] == 3 * [">=1.12"]


def copied(folder: Path, *, keep: str) -> Path:
    """Return a folder with the built-in release, whose manifest keeps the graphs of some variants only."""
    text = (BUILT_IN / "inferry/digits" / MANIFEST).read_text(encoding="utf-8")
    head, *variants = text.split("[[variants]]")
    kept = [each if keep in each else each.partition("[variants.graph]")[0] for each in variants]
    (folder / MANIFEST).write_text("[[variants]]".join([head, *kept]), encoding="utf-8")
    return folder


def test_a_manifest_need_not_tell(tmp_path: Path) -> None:
    assert "operators" not in show(copied(tmp_path, keep="nothing"))
    assert model(tmp_path)["operators"] is model(tmp_path)["onnxruntime"] is None
    assert "operators  Cast, Conv" in show(copied(tmp_path, keep='"fp16"'))


def test_variants_that_need_the_same_are_told_once(tmp_path: Path) -> None:
    manifest = copied(tmp_path, keep="") / MANIFEST
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"Cast@17", ', ""), encoding="utf-8")
    assert "  fp32, fp16  Conv, Flatten, Gemm" in show(tmp_path)


def test_a_file_in_the_format_of_onnx_runtime_has_none(tmp_path: Path) -> None:
    onnxruntime, file = library(), tmp_path / "model.ort"
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(file)
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(add(), options)
    assert "operators" not in show(file)
    assert model(file)["operators"] is None


def test_a_file_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    """ONNX Runtime opens this one: it steps over groups, which no ONNX file has."""
    file = tmp_path / "model.onnx"
    file.write_bytes(add() + varint(999 << 3 | 3) + varint(999 << 3 | 4))
    assert "wire type 3" in show(file, code=9)
