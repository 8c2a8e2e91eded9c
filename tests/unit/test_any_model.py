"""Any model: a file, a folder, arrays in files, by the command line and by Python."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper

import inferry
from inferry.catalog.errors import ModelNotFound, NothingFits
from inferry.catalog.values.names import is_path
from inferry.cli import inferry as group
from inferry.index.client.source import BUILT_IN
from inferry.tests.models import add, model, one_node, saved, with_external_data

if TYPE_CHECKING:
    from collections.abc import Callable


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="inferry", input=stdin)


@pytest.fixture
def adder(tmp_path: Path) -> str:
    folder = tmp_path / "with a späce"
    folder.mkdir()
    file = folder / "add.onnx"
    file.write_bytes(add())
    return str(file)


@pytest.mark.parametrize("text", ["./a", "../a", ".", "/a/b", "~/a", "C:a", r"\\server\share", "a/b.ONNX", "m.onnx"])
def test_what_is_a_path_is_told_by_its_form(text: str) -> None:
    assert is_path(text)


@pytest.mark.parametrize("text", ["a/b", "hf:org/repo", "inferry/digits", "a.onnx/b", "", "onnx"])
def test_what_is_a_name_is_told_by_its_form(text: str) -> None:
    assert not is_path(text)


def test_a_folder_that_lies_about_shadows_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inferry/digits").mkdir(parents=True)
    (tmp_path / "inferry/digits/add.onnx").write_bytes(add())
    monkeypatch.chdir(tmp_path)
    with inferry.load("inferry/digits") as model:
        assert model.release
    with inferry.load("./inferry/digits") as model:
        assert [told.name for told in model.inputs] == ["a", "b"]


def test_a_file_a_folder_and_a_release_in_a_folder(adder: str, tmp_path: Path) -> None:
    for name in (adder, Path(adder), Path(adder).parent):
        with inferry.load(name) as model:
            assert model.run({"a": [[1, 2]], "b": [[3, 4]]})["sum"].tolist() == [[4, 6]]
            assert model.report().model == adder
    shutil.copytree(BUILT_IN / "inferry/digits", tmp_path / "copy")
    with inferry.load(tmp_path / "copy") as model:
        assert model.run(model.samples).labels()[0].label == "7"


def test_a_file_may_keep_tensors_beside_it(tmp_path: Path) -> None:
    np.full(2, 1.5, np.float32).tofile(tmp_path / "w.bin")
    file = with_external_data(tmp_path, "w.bin")
    assert inferry.run(file, {"x": [1, 2]})["y"].tolist() == [2.5, 3.5]


def test_nothing_there(tmp_path: Path, adder: str) -> None:
    for name, words in (("nosuch.onnx", "no file or folder"), ("~nosuchuser/m.onnx", "no such home folder")):
        with pytest.raises(ModelNotFound, match=words):
            inferry.load(name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFound, match="no ONNX file"):
        inferry.load(tmp_path / "empty")
    shutil.copy(adder, Path(adder).with_name("second.onnx"))
    with pytest.raises(ModelNotFound, match="2 ONNX files") as caught:
        inferry.load(Path(adder).parent)
    assert caught.value.hints()[0] == f"give one of them: {adder}"
    for name, have in ((adder, "nobody says which"), ("inferry/digits", "fp32")):
        with pytest.raises(NothingFits, match="fits this machine and what was asked for") as refused:
            inferry.load(name, precision="int4")
        assert f"precision: {have}, required: int4" in refused.value.hints()[0]


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


ROW = np.array([[1, 2]], np.float32)
FORMS: dict[str, bytes] = {
    "npy": npy(ROW),
    "the only one in an npz": npz(other=ROW),
    "by name in an npz": npz(a=ROW, c=ROW + 1),
    "JSON": b"\n [[1, 2.0]]",
    "by name in JSON": b'{"c": [0], "a": [[1, 2]]}',
    "as we write JSON": b'{"a": {"shape": [1, 2], "dtype": "float32", "data": [[1, 2]]}}',
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_arrays_come_from_files_of_any_form(data: bytes, adder: str, tmp_path: Path) -> None:
    file = tmp_path / "whatever"
    file.write_bytes(data)
    (tmp_path / "row.npy").write_bytes(npy(ROW))
    for words in ("-", str(file)):
        told = run("run", adder, "--input", f"a={words}", "--input", f"b={tmp_path / 'row.npy'}", stdin=data)
        assert (told.exit_code, told.stdout) == (0, "sum: float32 [1, 2] [[2. 4.]]\n")
    with inferry.load(adder) as model:
        assert model.run({"a": data, "b": ROW})["sum"].tolist() == [[2, 4]]


WRONG_FILES: dict[str, tuple[bytes, str]] = {
    "a picture": ((BUILT_IN / "inferry/digits/sample.png").read_bytes(), "does not say how any other file"),
    "half an npy": (npy(ROW)[:90], "cannot be read"),
    "an npy that claims a terabyte": (
        npy(ROW).replace(b"'shape': (1, 2), }            ", b"'shape': (1, 262144000000), }"),
        "cannot be read",
    ),
    "a pickle": (npy(np.array([{"a": 1}], object)), "allow_pickle"),
    "half an npz": (npz(a=ROW)[:100], "cannot be read"),
    "an npz of others": (npz(x=ROW, y=ROW), "holds `x`, `y`, and nothing called `a`"),
    "half JSON": (b"[[1, 2", "cannot be read"),
    "deep JSON": (100_000 * b"[", "cannot be read"),
    "words in JSON": (b'[["one", "two"]]', "become <U3"),
    "another dtype": (npy(ROW.astype(np.float64)), "got float64"),
}


@pytest.mark.parametrize(("data", "words"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_files_that_hold_no_such_array_are_told(data: bytes, words: str, adder: str, tmp_path: Path) -> None:
    file = tmp_path / "given"
    file.write_bytes(data)
    told = run("run", adder, "--input", f"a={file}", "--input", "b=random")
    assert told.exit_code == 2
    assert words in told.stderr
    assert told.stderr.startswith("error: ")


def test_random_is_the_same_for_the_same_seed(adder: str) -> None:
    def drawn(a: str, b: str) -> str:
        told = run("run", adder, "--input", f"a={a}", "--input", f"b={b}")
        assert told.exit_code == 0
        return told.stdout

    assert drawn("random", "random") == drawn("random:0", "random:0") != drawn("random", "random:1")
    told = run("run", adder, "--input", "a=random:x", "--input", "b=random")
    assert (told.exit_code, "a seed is a whole number" in told.stderr) == (2, True)


@pytest.mark.parametrize("element", [TensorProto.FLOAT16, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL])
def test_random_fits_every_dtype(element: int, tmp_path: Path) -> None:
    file = tmp_path / "same.onnx"
    file.write_bytes(one_node("Identity", element, ("n", None, 3)))
    told = run("run", str(file), "--input", "x=random")
    assert told.exit_code == 0
    assert "[1, 1, 3]" in told.stdout


def test_texts_are_given_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "same.onnx"
    file.write_bytes(one_node("Identity", TensorProto.STRING, ("n",)))
    text = tmp_path / "text.txt"
    text.write_text("[not JSON, ü", encoding="utf-8")
    for words, told in (("random", "random"), (f"@{text}", "[not JSON, ü"), ("-", "piped")):
        ran = run("run", str(file), "--input", f"x={words}", stdin=b"piped")
        assert (ran.exit_code, ran.stdout) == (0, f"y: string [1] ['{told}']\n")
    text.write_bytes(b"\xff")
    ran = run("run", str(file), "--input", f"x=@{text}")
    assert (ran.exit_code, "no text in UTF-8" in ran.stderr) == (2, True)


def test_a_picture_comes_by_stdin_and_as_jpeg(tmp_path: Path) -> None:
    from PIL import Image

    sample = BUILT_IN / "inferry/digits/sample.png"
    jpeg = tmp_path / "seven.jpg"
    Image.open(sample).convert("RGB").save(jpeg, quality=85)
    for words, stdin in (("-", sample.read_bytes()), (str(jpeg), b"")):
        told = run("run", "inferry/digits", "--input", f"image={words}", stdin=stdin)
        assert (told.exit_code, told.stdout.split()[0]) == (0, "7")
    told = run("run", "inferry/digits", "--input", "image=-", "--input", "image2=-")
    assert (told.exit_code, "stdin can be read once only" in told.stderr) == (2, True)


def loaded(file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        return {name: told["data"] for name, told in json.loads(file.read_text(encoding="utf-8")).items()}
    held = np.load(file)
    return {name: held[name].tolist() for name in held.files} if file.suffix == ".npz" else {"sum": held.tolist()}


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".json", ".JSON"])
def test_outputs_go_into_files(suffix: str, adder: str, tmp_path: Path) -> None:
    file = tmp_path / f"out{suffix}"
    file.write_text("an earlier one", encoding="utf-8")
    out = run("run", adder, "--input", "a=random", "--input", "b=random", "--output", str(file))
    assert (out.exit_code, out.stdout) == (0, "")
    assert out.stderr.endswith(f"wrote {file}\n")
    with inferry.load(adder) as model:
        drawn = np.random.default_rng(0).random((1, 2)).astype(np.float32)
        assert (
            loaded(file.rename(file.with_suffix(suffix.lower())))["sum"]
            == model.run({"a": drawn, "b": drawn})["sum"].tolist()
        )
    assert len(list(tmp_path.iterdir())) == 2


def test_numbers_that_json_does_not_have_survive_a_round(adder: str, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    with inferry.load(adder) as model:
        model.run({"a": [[np.inf, -np.inf]], "b": [[0, np.inf]]}).save(file)
        assert json.loads(file.read_text(encoding="utf-8"))["sum"]["data"] == [["Infinity", "NaN"]]
        again = model.run({"a": file, "b": [[0, 0]]})["sum"]
    assert np.isposinf(again[0, 0])
    assert np.isnan(again[0, 1])


def test_outputs_of_many_and_of_texts(tmp_path: Path) -> None:
    told = TensorProto.STRING, ("n",)
    nodes = [helper.make_node("Identity", ["x"], [name]) for name in ("file", "b/c")]
    source = tmp_path / "two.onnx"
    source.write_bytes(saved(model(*nodes, inputs={"x": told}, outputs={"file": told, "b/c": told})))
    out = run("run", str(source), "--input", "x=ü", "--output", str(tmp_path / "out.npz"))
    assert out.exit_code == 0
    assert loaded(tmp_path / "out.npz") == {"file": ["ü"], "b/c": ["ü"]}
    out = run("run", str(source), "--input", "x=ü", "--output", str(tmp_path / "out.npy"))
    assert (out.exit_code, "has 2 outputs" in out.stderr) == (2, True)


@pytest.mark.parametrize(
    ("file", "code", "words"), [("out.txt", 2, "end it in .npy"), ("nosuch/out.npy", 10, "cannot be written")]
)
def test_outputs_that_cannot_be_written(file: str, code: int, words: str, adder: str, tmp_path: Path) -> None:
    out = run("run", adder, "--input", "a=random", "--input", "b=random", "--output", str(tmp_path / file))
    assert (out.exit_code, words in out.stderr) == (code, True)
    assert [each.name for each in tmp_path.iterdir()] == ["with a späce"]


def test_without_a_sample_it_names_the_inputs_and_a_command_that_works(adder: str) -> None:
    told = run("run", adder, "--input", "a=random")
    assert told.exit_code == 2
    assert "comes with no sample: give its input `b`, float32 [n, 2]" in told.stderr
    command = re.search(r"hint: try: inferry (.+)\n", told.stderr)
    assert command
    import shlex

    assert run(*shlex.split(command[1])).exit_code == 0


def sequence() -> bytes:
    node = helper.make_node("SequenceAt", ["x", "at"], ["y"])
    made = model(node, inputs={"at": (TensorProto.INT64, ())}, outputs={"y": (TensorProto.FLOAT, None)})
    made.graph.input.append(helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None))
    return saved(made)


SHOWN: dict[str, Callable[[], bytes]] = {
    "two inputs": add,
    "texts": lambda: one_node("Identity", TensorProto.STRING, (1, 1)),
    "a scalar": lambda: one_node("Neg", shape=()),
}


@pytest.mark.parametrize("made", SHOWN.values(), ids=SHOWN)
def test_show_ends_with_a_command_that_works(made: Callable[[], bytes], tmp_path: Path) -> None:
    import shlex

    file = tmp_path / "my model.onnx"
    file.write_bytes(made())
    told = run("show", str(file))
    assert told.exit_code == 0
    assert told.stdout.startswith(f"{file}  {file.stat().st_size} B\ninputs\n")
    ran = run(*shlex.split(told.stdout.splitlines()[-1].removeprefix("try: inferry ")))
    assert ran.exit_code == 0, ran.stderr


def test_a_sequence_is_for_python(tmp_path: Path) -> None:
    file = tmp_path / "sequence.onnx"
    file.write_bytes(sequence())
    assert "x=FILE.npy" in run("show", str(file)).stdout
    with inferry.load(file) as model:
        assert model.run({"x": [ROW, 2 * ROW], "at": 1})["y"].tolist() == [[2, 4]]
    ran = run("run", str(file), "--input", "x=random", "--input", "at=random")
    assert (ran.exit_code, "cannot be drawn" in ran.stderr) == (2, True)


def test_show_tells_a_release_without_opening_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told = run("show", "inferry/digits")
    assert told.exit_code == 0
    assert "inputs\n  image  float32 [batch, 1, 28, 28]  a picture\n" in told.stdout
    assert told.stdout.endswith("try: inferry run inferry/digits\n")
