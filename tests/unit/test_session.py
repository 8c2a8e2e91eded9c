"""Sessions on models made here: what is checked, what ran where, what is refused."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from inferry.catalog.errors import Closed, Error, InvalidInput, InvalidModel, SessionError, UnknownOperator
from inferry.runtime.model import Model
from inferry.runtime.ort import OrtSession, library
from inferry.runtime.session import Session
from inferry.tests.models import add, model, one_node, saved, with_external_data

if TYPE_CHECKING:
    from pathlib import Path


def vector(*values: float) -> np.ndarray[Any, Any]:
    return np.array([values], np.float32)


def test_an_axis_without_a_length_takes_any() -> None:
    session = Session(add(), name="add")
    assert [told.told() for told in session.inputs] == ["float32 [n, 2]", "float32 [n, 2]"]
    for length in (0, 1, 7):
        ones = np.ones((length, 2), np.float32)
        np.testing.assert_array_equal(session.run({"a": ones, "b": ones})["sum"], 2 * ones)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"a": vector(1, 2)}, "add needs its input `b`"),
    "extra": ({"a": vector(1, 2), "b": vector(1, 2), "c": vector()}, "add has no input `c`"),
    "dtype": ({"a": vector(1, 2), "b": np.ones((1, 2))}, r"input `b` takes float32 \[n, 2\], got float64"),
    "byte order": ({"a": vector(1, 2), "b": np.ones((1, 2), ">f4")}, "got >f4"),
    "text": ({"a": vector(1, 2), "b": np.array([["a", "b"]])}, "got <U1"),
    "length": ({"a": vector(1, 2, 3), "b": vector(1, 2)}, r"input `a` takes .*, got shape \[1, 3\]"),
    "axes": ({"a": vector(1, 2)[0], "b": vector(1, 2)}, r"got shape \[2\]"),
    "no array": ({"a": [[1, 2]], "b": vector(1, 2)}, "got list"),
}


@pytest.mark.parametrize(("inputs", "message"), WRONG.values(), ids=WRONG)
def test_inputs_are_checked_before_they_are_run(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Session(add(), name="add").run(inputs)


def test_what_only_a_run_can_tell_is_onnx_runtimes_own_words() -> None:
    with pytest.raises(SessionError, match="cannot run the model"):
        Session(add(), name="add").run({"a": np.ones((2, 2), np.float32), "b": np.ones((3, 2), np.float32)})


def test_a_shape_that_the_model_does_not_tell_is_not_checked() -> None:
    session = Session(one_node("Neg", shape=None), name="neg")
    for shape in ((), (2,), (2, 3)):
        assert session.run({"x": np.ones(shape, np.float32)})["y"].shape == shape


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (TensorProto.FLOAT, "float32"),
        (TensorProto.DOUBLE, "float64"),
        (TensorProto.FLOAT16, "float16"),
        (TensorProto.INT8, "int8"),
        (TensorProto.UINT16, "uint16"),
        (TensorProto.INT64, "int64"),
        (TensorProto.UINT64, "uint64"),
        (TensorProto.BOOL, "bool"),
        (TensorProto.STRING, "string"),
    ],
)
def test_every_dtype_goes_in_and_comes_out(element: int, dtype: str) -> None:
    session = Session(one_node("Identity", element), name="same")
    assert session.inputs[0].dtype == session.outputs[0].dtype == dtype
    array = np.array([["a", "ü", ""]], object) if dtype == "string" else np.array([[1, 0, 1]], dtype)
    came = session.run({"x": array})["y"]
    assert came.dtype == array.dtype
    assert came.tolist() == array.tolist()
    if dtype == "string":
        assert session.run({"x": array.astype("U")})["y"].tolist() == array.tolist()
        with pytest.raises(InvalidInput, match="takes string"):
            session.run({"x": np.array([[1, "a", "b"]], object)})


def opened(data: bytes) -> Model:
    return Model(None, Session(data, name="it"), {})


def test_pythons_own_values_become_what_the_model_takes() -> None:
    with opened(add()) as adder:
        assert adder.run({"a": [[1, 2]], "b": ((0.5, 0.25),)})["sum"].tolist() == [[1.5, 2.25]]
        assert adder.run({"a": np.zeros((0, 2), np.float32), "b": np.zeros((0, 2), np.float32)})["sum"].shape == (0, 2)
    with opened(one_node("Identity", TensorProto.STRING, (1, "n"))) as texts:
        assert texts.run({"x": "a text"})["y"].tolist() == [["a text"]]
        assert texts.run({"x": [["a", "b"]]})["y"].tolist() == [["a", "b"]]
    with opened(one_node("Neg", TensorProto.INT8, ())) as number:
        assert number.run({"x": 5})["y"] == -5


UNHELD: dict[str, tuple[int, Any, str]] = {
    "a fraction for whole numbers": (TensorProto.INT64, [[1.5, 2, 3]], "become float64"),
    "too large": (TensorProto.INT8, [[1, 2, 300]], "cannot hold 300"),
    "negative": (TensorProto.UINT8, [[1, 2, -1]], "cannot hold -1"),
    "beyond all": (TensorProto.INT64, [[1, 2, 2**70]], "takes int64"),
    "infinite": (TensorProto.FLOAT16, [[1, 2, 1e30]], r"cannot hold 1e\+30"),
    "a number for a truth": (TensorProto.BOOL, [[1, 0, 1]], "become int64"),
    "a text for a number": (TensorProto.FLOAT, [["1", "2", "3"]], "become <U1"),
    "ragged": (TensorProto.FLOAT, [[1], [2, 3]], "inhomogeneous"),
}


@pytest.mark.parametrize(("element", "value", "message"), UNHELD.values(), ids=UNHELD)
def test_values_that_would_be_changed_are_refused(element: int, value: Any, message: str) -> None:
    with opened(one_node("Identity", element)) as same, pytest.raises(InvalidInput, match=message):
        same.run({"x": value})


def test_it_runs_beside_an_event_loop() -> None:
    async def both(adder: Model) -> list[Any]:
        given = [{"a": vector(n, n), "b": vector(1, 2)} for n in range(8)]
        return [out["sum"].tolist() for out in await asyncio.gather(*map(adder.run_async, given))]

    with opened(add()) as adder:
        assert asyncio.run(both(adder)) == [[[n + 1, n + 2]] for n in range(8)]
    with pytest.raises(Closed):
        asyncio.run(both(adder))


def test_threads_share_it_and_closing_lets_what_has_begun_end() -> None:
    side = 192
    weight = helper.make_tensor("w", TensorProto.FLOAT, (side, side), np.eye(side, dtype=np.float32).ravel())
    nodes = [helper.make_node("MatMul", [f"x{n}" if n else "x", "w"], [f"x{n + 1}"]) for n in range(40)]
    axes = ("n", side)
    made = model(
        *nodes, inputs={"x": (TensorProto.FLOAT, axes)}, outputs={"x40": (TensorProto.FLOAT, axes)}, weights=[weight]
    )
    session = Session(saved(made), name="it")

    def caller(number: int) -> int:
        x, runs = np.full((64, side), number, np.float32), 0
        while True:
            try:
                came = session.run({"x": x})["x40"]
            except Closed:
                return runs
            assert (came == number).all()
            runs += 1
            if number == 0 and runs == 3:
                session.close()

    with ThreadPoolExecutor(6) as pool:
        runs = list(pool.map(caller, range(6)))
    assert runs[0] == 3


def test_the_report_names_what_ran_and_what_was_left_unused() -> None:
    onnxruntime = library()
    report = Session(add(), name="add").report()
    assert (report.model, report.onnxruntime, report.ep) == ("add", onnxruntime.__version__, "CPUExecutionProvider")
    assert report.nodes == {"CPUExecutionProvider": 1}
    assert {report.ep, *report.unused} == set(onnxruntime.get_available_providers())
    assert report.ep not in report.unused


def test_an_execution_provider_that_is_not_there_is_no_silent_cpu() -> None:
    with pytest.raises(SessionError, match=r"has no CUDAExecutionProvider: it has .*CPUExecutionProvider"):
        OrtSession(add(), ep="CUDAExecutionProvider")


def test_external_data_is_read_in_the_models_folder(tmp_path: Path) -> None:
    home = tmp_path / "mödel folder"
    (home / "below").mkdir(parents=True)
    for place in ("w.bin", "below/w.bin"):
        np.full(2, 1.5, np.float32).tofile(home / place)
        data = with_external_data(home, place).read_bytes()
        session = Session(data, name="it", folder=str(home))
        assert session.run({"x": np.ones(2, np.float32)})["y"].tolist() == [2.5, 2.5]


@pytest.mark.parametrize("place", ["../w.bin", "below/../../w.bin", "ABSOLUTE", "link.bin", "nosuch.bin"])
def test_external_data_is_refused_elsewhere(place: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "below").mkdir(parents=True)
    outside = tmp_path / "w.bin"
    np.full(2, 1.5, np.float32).tofile(outside)
    if place == "link.bin":
        try:
            (home / place).symlink_to(outside)
        except OSError:
            pytest.skip("this system lets nobody make symbolic links")
    data = with_external_data(home, str(outside) if place == "ABSOLUTE" else place).read_bytes()
    with pytest.raises(InvalidModel, match="tensors in other files, which may only lie in"):
        Session(data, name="it", folder=str(home))


def test_without_a_folder_no_external_data_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even from the folder that the process stands in, which is where ONNX Runtime looks by itself."""
    np.full(2, 1.5, np.float32).tofile(tmp_path / "w.bin")
    data = with_external_data(tmp_path, "w.bin").read_bytes()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidModel, match="are not taken for this model"):
        Session(data, name="it")


def newer(data: bytes) -> bytes:
    made = onnx.load_from_string(data)
    made.opset_import[0].version = 99
    return saved(made)


REFUSED: dict[str, tuple[bytes, type[Error], str]] = {
    "nothing": (b"", InvalidModel, "cannot read the model"),
    "a text": (b"This is not a model.", InvalidModel, "cannot read the model"),
    "half a model": (add()[:40], InvalidModel, "cannot read the model"),
    "an edge from nowhere": (
        add().replace(b"\x0a\x01a\x0a\x01b", b"\x0a\x01q\x0a\x01b"),
        InvalidModel,
        "cannot read the model",
    ),
    "an unknown operator": (one_node("Nosuch"), UnknownOperator, "no operator Nosuch"),
    "an unknown domain": (
        one_node("Frob", domain="acme"),
        UnknownOperator,
        "no operator acme:Frob",
    ),
    "no kernel": (one_node("Erf", TensorProto.DOUBLE), UnknownOperator, "no kernel"),
    "a later opset": (newer(add()), SessionError, "cannot open the model"),
}


@pytest.mark.parametrize(("data", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_models_that_cannot_be_opened_are_told_apart(data: bytes, kind: type[Error], message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        Session(data, name="it")
    assert type(caught.value) is kind
