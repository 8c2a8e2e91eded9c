"""What an ONNX file takes, returns and holds is read from it, and from nothing else; what is no model says why."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from inferry.catalog.errors import InvalidModel, LibraryMissing, ModelNotFound
from inferry.catalog.manifest import read_manifest
from inferry.catalog.operators import MAX_SIZE, read_graph
from inferry.registry.inspect import Inspected, inspect
from inferry.registry.memory import Step, peak
from inferry.registry.weights import DTYPES, Weight, weigh
from inferry.tests.graphs import GOOD
from inferry.tests.hostile import bent
from inferry.tests.models import add, model, saved, with_external_data
from inferry.tests.wire import HEAD, field, info, nested

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inferry.catalog.values.model import Precision

FLOAT = TensorProto.FLOAT
DIGITS = Path(__file__).parents[2] / "index/builtin/inferry/digits"


def looked(made: onnx.ModelProto | bytes, folder: Path) -> Inspected:
    path = folder / "it.onnx"
    path.write_bytes(made if isinstance(made, bytes) else saved(made))
    return inspect(path)


def tensor(name: str, element: int, *dims: int) -> TensorProto:
    """Return zeros."""
    return helper.make_tensor(name, element, dims, bytes(-(-int(np.prod(dims)) * bits(element) // 8)), raw=True)


def bits(element: int) -> int:
    return DTYPES[TensorProto.DataType.Name(element)].bits


def holding(*weights: TensorProto, nodes: Sequence[onnx.NodeProto] = (), x: int = FLOAT) -> onnx.ModelProto:
    """Return a model with these tensors in it."""
    told = x, ("n", 8)
    last = helper.make_node("Identity", ["x"], ["y"])
    sets = {"": 21, "com.microsoft": 1}
    return model(*nodes, last, inputs={"x": told}, outputs={"y": told}, weights=weights, opsets=sets)


def microsoft(operator: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, ["z"], domain="com.microsoft", **attributes)


def pairs(element: int, elements: int) -> onnx.ModelProto:
    """Return a model whose weights of that dtype are followed by ``DequantizeLinear``."""
    node = helper.make_node("DequantizeLinear", ["w", "s", "o"], ["wf"])
    return holding(tensor("w", element, elements), tensor("s", FLOAT, 64), tensor("o", element, 64), nodes=[node])


CONSTANT = helper.make_node("Constant", [], ["c"], value=tensor("", TensorProto.FLOAT16, 6))
BRANCH = helper.make_graph([], "b", [], [helper.make_tensor_value_info("w", FLOAT, [5])], [tensor("w", FLOAT, 5)])
IF = helper.make_node("If", ["x"], ["z"], then_branch=BRANCH, else_branch=BRANCH)
SPARSE = onnx.SparseTensorProto(values=tensor("v", FLOAT, 2), indices=tensor("", TensorProto.INT64, 2), dims=[9])
PRECISIONS: dict[str, tuple[onnx.ModelProto, Precision, int]] = {
    "nothing but floats go in": (holding(), "fp32", 0),
    "nothing but half floats go in": (holding(x=TensorProto.FLOAT16), "fp16", 0),
    "nothing but whole numbers go in": (holding(x=TensorProto.INT64), "fp32", 0),
    "float": (holding(tensor("w", FLOAT, 3, 4)), "fp32", 12),
    "double": (holding(tensor("w", TensorProto.DOUBLE, 3)), "fp32", 3),
    "half": (holding(tensor("w", TensorProto.FLOAT16, 3)), "fp16", 3),
    "bfloat16": (holding(tensor("w", TensorProto.BFLOAT16, 3)), "bf16", 3),
    "lengths are no weights": (
        holding(tensor("w", TensorProto.FLOAT16, 3), tensor("shape", TensorProto.INT64, 99)),
        "fp16",
        3,
    ),
    "half, and a little float": (holding(tensor("w", TensorProto.FLOAT16, 60), tensor("v", FLOAT, 10)), "fp16", 70),
    "half, and as much float": (holding(tensor("w", TensorProto.FLOAT16, 20), tensor("v", FLOAT, 10)), "mixed", 30),
    "QDQ": (pairs(TensorProto.INT8, 64), "int8", 64),
    "QDQ of 4 bits": (pairs(TensorProto.INT4, 65), "int4", 65),
    "dynamic": (
        holding(
            tensor("w", TensorProto.INT8, 64),
            tensor("o", TensorProto.INT8, 1),
            nodes=[helper.make_node("MatMulInteger", ["x", "w", "", "o"], ["z"])],
        ),
        "int8",
        64,
    ),
    "QOperator": (
        holding(
            tensor("w", TensorProto.INT8, 32),
            tensor("s", FLOAT, 64),
            tensor("b", TensorProto.INT32, 64),
            nodes=[helper.make_node("QLinearConv", ["x", "s", "", "w", "s", "", "s", "", "b"], ["z"])],
        ),
        "int8",
        32,
    ),
    "packed in blocks": (
        holding(
            tensor("w", TensorProto.UINT8, 32),
            tensor("s", FLOAT, 64),
            nodes=[microsoft("MatMulNBits", "x", "w", "s", bits=4)],
        ),
        "int4",
        64,
    ),
    "packed in blocks, 8 bits": (
        holding(tensor("w", TensorProto.UINT8, 32), nodes=[microsoft("MatMulNBits", "x", "w", bits=8)]),
        "int8",
        32,
    ),
    "packed in blocks, 2 bits": (
        holding(tensor("w", TensorProto.UINT8, 32), nodes=[microsoft("MatMulNBits", "x", "w", bits=2)]),
        "mixed",
        128,
    ),
    "float8": (holding(tensor("w", TensorProto.FLOAT8E4M3FN, 32)), "mixed", 32),
    "a constant": (holding(nodes=[CONSTANT]), "fp16", 6),
    "in both branches": (holding(nodes=[IF]), "fp32", 10),
}


@pytest.mark.parametrize(("made", "precision", "parameters"), PRECISIONS.values(), ids=PRECISIONS)
def test_precision_and_parameters(made: onnx.ModelProto, precision: str, parameters: int, tmp_path: Path) -> None:
    it = looked(made, tmp_path)
    assert (it.precision, it.weighed.parameters) == (precision, parameters)
    assert it.graph == read_graph(saved(made))
    assert it.size_bytes == len(saved(made))


def test_sparse_tensors_count_what_they_hold(tmp_path: Path) -> None:
    made = holding()
    made.graph.sparse_initializer.append(SPARSE)
    it = looked(made, tmp_path)
    assert (it.precision, it.weighed.parameters, it.weighed.size_bytes) == ("fp32", 2, 8 + 16)


def test_every_dtype_of_onnx_is_known() -> None:
    assert {*DTYPES} == {*TensorProto.DataType.keys()} - {"UNDEFINED"}
    assert {each.precision for each in DTYPES.values()} == {"fp32", "fp16", "bf16", "int8", "int4", "mixed", None}


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_the_built_in_model_is_what_its_manifest_says(precision: str) -> None:
    release = read_manifest((DIGITS / "manifest.toml").read_text(encoding="utf-8"), where="")
    variant = next(each for each in release.variants if each.name == precision)
    it = inspect(DIGITS / variant.artifact.path)
    assert (it.precision, it.size_bytes, it.graph) == (precision, variant.artifact.size_bytes, variant.graph)
    for told, stated in ((it.inputs, release.inputs), (it.outputs, release.outputs)):
        assert [(each.name, each.dtype, each.shape) for each in told] == [
            (each.name, each.dtype, each.shape) for each in stated
        ]
    assert 105_000 < it.weighed.parameters < 106_000
    assert it.memory_bytes


def value(name: str, kind: onnx.TypeProto) -> onnx.ValueInfoProto:
    return helper.make_value_info(name, kind)


TENSOR = helper.make_tensor_type_proto(FLOAT, [])
FACES: dict[str, tuple[onnx.ValueInfoProto, str, tuple[int | str, ...]]] = {
    "free axes without a name": (
        helper.make_tensor_value_info("x", FLOAT, [None, 3, None]),
        "float32",
        ("x_0", 3, "x_2"),
    ),
    "named": (helper.make_tensor_value_info("x", TensorProto.DOUBLE, ["n", 0]), "float64", ("n", 0)),
    "of negative length": (helper.make_tensor_value_info("x", TensorProto.BOOL, [-1]), "bool", ("x_0",)),
    "no axes": (helper.make_tensor_value_info("x", TensorProto.STRING, []), "string", ()),
    "nobody says the axes": (helper.make_tensor_value_info("x", TensorProto.INT4, None), "int4", ()),
    "bfloat16": (helper.make_tensor_value_info("x", TensorProto.BFLOAT16, []), "bfloat16", ()),
    "a sequence": (value("x", helper.make_sequence_type_proto(TENSOR)), "seq(tensor(float))", ()),
    "a map": (
        value("x", helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, TENSOR))),
        "seq(map(string,tensor(float)))",
        (),
    ),
    "optional": (value("x", helper.make_optional_type_proto(TENSOR)), "optional(tensor(float))", ()),
    "sparse": (value("x", helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [2])), "sparse_tensor(double)", ()),
}


@pytest.mark.parametrize(("told", "dtype", "shape"), FACES.values(), ids=FACES)
def test_inputs_and_outputs(told: onnx.ValueInfoProto, dtype: str, shape: tuple[Any, ...], tmp_path: Path) -> None:
    made = holding()
    made.graph.input[0].CopyFrom(told)
    made.graph.output[0].CopyFrom(told)
    it = looked(made, tmp_path)
    for (each,) in (it.inputs, it.outputs):
        assert (each.name, each.dtype, each.shape) == ("x", dtype, shape)


def test_an_input_with_a_value_of_its_own_is_none(tmp_path: Path) -> None:
    made = holding(tensor("w", FLOAT, 2))
    made.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [2]))
    assert [each.name for each in looked(made, tmp_path).inputs] == ["x"]


def test_memory_is_weights_and_what_is_alive_at_once(tmp_path: Path) -> None:
    """``n`` counts as 1: x 8, a 8, b 8 floats; where b is made, a is alive still; where y is, a is not."""
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"]),
        helper.make_node("Abs", ["a"], ["b"]),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    told = FLOAT, ("n", 8)
    made = model(*nodes, inputs={"x": told}, outputs={"y": told}, weights=[tensor("w", FLOAT, 8)])
    it = looked(made, tmp_path)
    assert (it.weighed.size_bytes, it.activations_bytes, it.memory_bytes) == (32, 4 * 32, 5 * 32)


def test_memory_is_not_known_where_a_shape_is_not(tmp_path: Path) -> None:
    node = helper.make_node("Nosuch", ["x"], ["y"], domain="acme")
    made = model(node, inputs={"x": (FLOAT, (2,))}, outputs={"y": (FLOAT, None)}, opsets={"": 17, "acme": 1})
    assert looked(made, tmp_path).memory_bytes is None


def test_what_a_branch_takes_from_around_it_lives_as_long() -> None:
    steps = [Step({"x"}, ["a"]), Step({"x"}, ["b"]), Step({"b", "a"}, ["y"])]
    assert peak(steps, dict.fromkeys("xaby", 1), {"x", "y"}) == 4
    assert peak([], {}, ()) == 0
    assert peak(steps, {"x": 1, "a": None}, ()) is None


def outside(tmp_path: Path, location: str = "w.bin", *, size: int = 8, **entries: Any) -> Path:
    """Write a model of 2 x 1.5 in another file of so many bytes."""
    path = with_external_data(tmp_path, location)
    made = onnx.load(path, load_external_data=False)
    told = made.graph.initializer[0].external_data
    for key, text in entries.items():
        kept = [each for each in told if each.key != key]
        del told[:]
        told.extend([*kept, onnx.StringStringEntryProto(key=key, value=text)])
    path.write_bytes(saved(made))
    (tmp_path / "w.bin").write_bytes(bytes(size))
    return path


def test_tensors_in_other_files_are_only_measured(tmp_path: Path) -> None:
    it = inspect(outside(tmp_path, offset="4", size=12))
    assert [(each.location, each.file, each.size_bytes) for each in it.external] == [("w.bin", tmp_path / "w.bin", 12)]
    assert (it.precision, it.weighed.parameters, it.weighed.size_bytes) == ("fp32", 2, 8)


PLACES = {
    "absolute": ({"location": "/etc/passwd"}, "`/etc/passwd`, which is an absolute path"),
    "of a drive": ({"location": r"C:\w.bin"}, "absolute path"),
    "of a drive's folder": ({"location": "C:w.bin"}, "absolute path"),
    "of another machine": ({"location": r"\\there\w.bin"}, "absolute path"),
    "above": ({"location": "../w.bin"}, "`../w.bin`, which leaves its folder"),
    "above, and back": ({"location": "a/../w.bin"}, "leaves its folder"),
    "above, on Windows": ({"location": r"a\..\..\w.bin"}, "leaves its folder"),
    "not there": ({"location": "nosuch.bin"}, "`nosuch.bin`, and there is no such file"),
    "a folder": ({"location": "."}, "no such file"),
    "a zero in it": ({"location": "a\0b"}, "keeps tensors in"),
    "too long": ({"location": 300 * "a"}, "aaa"),
    "too short": ({"offset": "4"}, "`w` ends at byte 12 of `w.bin`, which has 8"),
    "another length": ({"length": "4"}, "has 4 bytes in `w.bin` where its shape takes 8"),
    "a negative place": ({"offset": "-8"}, "these are no numbers"),
    "no number": ({"length": "8 bytes"}, "these are no numbers"),
    "a huge number": ({"offset": 30 * "9"}, "these are no numbers"),
}


@pytest.mark.parametrize(("entries", "words"), PLACES.values(), ids=PLACES)
def test_tensors_that_lie_elsewhere_are_refused(entries: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidModel) as raised:
        inspect(outside(tmp_path, **entries))
    assert words in raised.value.message
    assert str(tmp_path / "model.onnx") in raised.value.message
    assert raised.value.hints()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    (tmp_path / "in").mkdir()
    path = with_external_data(tmp_path / "in", "w.bin")
    (tmp_path / "in/w.bin").symlink_to(tmp_path / "secret")
    with pytest.raises(InvalidModel, match="leaves its folder"):
        inspect(path)


def odd(**fields: Any) -> onnx.ModelProto:
    """Return a model with one tensor that is wrong."""
    return holding(TensorProto(name="w", **fields))


BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "it has no graph"),
    "noise": (b"noise", "not an ONNX model"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "not an ONNX model"),
    "cut": (add()[:-10], "not an ONNX model"),
    "no graph": (HEAD, "it has no graph"),
    "no opset": (field(1, 8) + field(7, b""), "imports no operator set"),
    "nested without end": (nested(40), "within each other"),
    "ONNX Runtime's own": (b"\x18\0\0\0ORTM" + bytes(50), "own format"),
    "an input of no dtype": (saved(holding(x=0)), "`x` is of the dtype UNDEFINED, which is unknown"),
    "an input of a dtype to come": (saved(holding(x=99)), "`x` is of the dtype 99, which is unknown"),
    "an input of no type": (HEAD + field(7, field(11, field(1, b"x"))), "`x` is of no type"),
    "a tensor of a dtype to come": (saved(odd(data_type=99)), "the tensor `w` is of the dtype 99"),
    "an axis of negative length": (saved(odd(data_type=FLOAT, dims=[-1])), "`w` has an axis of negative length"),
    "fewer bytes than the shape": (
        saved(odd(data_type=FLOAT, dims=[2**40], raw_data=b"1234")),
        "holds 4 bytes where its shape takes 4,398,046,511,104",
    ),
    "fewer values than the shape": (saved(odd(data_type=FLOAT, dims=[9], float_data=[1])), "holds 1 values"),
    "a name that is no text": (HEAD + field(7, field(11, info("x").replace(b"x", b"\xff"))), "not UTF-8: b'\\xff'"),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_what_is_no_model_says_why(data: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidModel) as raised:
        looked(data, tmp_path)
    assert words in raised.value.message
    assert str(tmp_path / "it.onnx") in raised.value.message
    assert raised.value.hints()
    assert raised.value.exit_code == 9


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as file:
        file.truncate(MAX_SIZE + 1)
    with pytest.raises(InvalidModel, match="are more than an ONNX file may have") as raised:
        inspect(path)
    assert "save_as_external_data" in raised.value.hints()[0]


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFound):
        inspect(tmp_path / "nosuch.onnx")


def test_without_onnx_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(LibraryMissing) as raised:
        looked(add(), tmp_path)
    assert raised.value.hints()[0] == 'pip install "inferry[publish]"'


def test_bent_models_are_read_or_refused(tmp_path: Path) -> None:
    corpus = [*(data for data, _ in GOOD.values()), *(saved(made) for made, *_ in PRECISIONS.values())]
    models, refused = bent(Random(0), corpus), 0
    for _ in range(500):
        try:
            looked(next(models), tmp_path)
        except InvalidModel:
            refused += 1
    assert 0 < refused < 500


@pytest.mark.parametrize("how", ["raw", "listed"])
@pytest.mark.parametrize("element", ["FLOAT", "FLOAT16", "BFLOAT16", "INT8", "INT64", "BOOL", "UINT4", "COMPLEX64"])
def test_however_a_tensor_is_written_it_is_read(element: str, how: str, tmp_path: Path) -> None:
    number = TensorProto.DataType.Value(element)
    made = (
        tensor("w", number, 3)
        if how == "raw"
        else helper.make_tensor("w", number, [3], np.zeros(3, helper.tensor_dtype_to_np_dtype(number)))
    )
    assert numpy_helper.to_array(made).shape == (3,)
    assert looked(holding(made), tmp_path).weighed.size_bytes == -(-3 * bits(number) // 8)


def test_three_quarters_make_a_precision() -> None:
    three = Weight(DTYPES["FLOAT16"], 6)
    assert weigh([three, Weight(DTYPES["FLOAT"], 1)]).precision == "fp16"
    assert weigh([three, Weight(DTYPES["FLOAT"], 2)]).precision == "mixed"
    assert weigh([]).precision is None
