"""``inferry.load`` and ``inferry.run``: verified, opened, run; wrong inputs are told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

import inferry
from inferry.catalog.errors import (
    Closed,
    Error,
    InvalidInput,
    InvalidManifest,
    InvalidName,
    ModelNotFound,
    VerificationError,
)
from inferry.catalog.values.names import ModelName
from inferry.index.client.source import BUILT_IN, MANIFEST, FolderSource
from inferry.runtime.inputs import to_tensor
from inferry.runtime.model import Model
from inferry.runtime.session import Session

if TYPE_CHECKING:
    from pathlib import Path

NAME = ModelName.parse("inferry/digits")
FOLDER = BUILT_IN / NAME


@pytest.fixture(scope="module")
def model() -> Model:
    return inferry.load(NAME)


def test_a_picture_in_any_form_is_the_same_digit(model: Model, tmp_path: Path) -> None:
    data = model.samples["image"]
    file = tmp_path / "Bild eins ü.png"
    file.write_bytes(data)
    image = Image.open(file)
    wanted = model.run({"image": data})
    assert wanted["logits"].shape == (1, 10)
    assert wanted["logits"].dtype == np.float32
    for form in (file, str(file), image, np.asarray(image)):
        np.testing.assert_array_equal(model.run({"image": form})["logits"], wanted["logits"])


def test_labels_are_ranked_by_their_softmax(model: Model) -> None:
    outputs = model.run(model.samples)
    ranked = outputs.labels()
    assert ranked == outputs.labels("logits")
    assert ranked[0].label == "7"
    assert sum(label.score for label in ranked) == pytest.approx(1)
    assert [label.score for label in ranked] == sorted((label.score for label in ranked), reverse=True)
    row = outputs["logits"][0].astype(np.float64)
    assert ranked[0].score == pytest.approx(np.exp(row[7]) / np.exp(row).sum())
    assert outputs.labels("nosuch") == []


def test_a_batch_has_labels_item_by_item(model: Model) -> None:
    sevens = to_tensor(model.samples["image"], model.inputs[0], model.release.inputs[0] if model.release else None)
    outputs = model.run({"image": np.concatenate([sevens, 1 - sevens, sevens])})
    assert [outputs.labels(item=item)[0].label for item in (0, 2)] == ["7", "7"]
    assert [line.split()[0] for line in outputs.told()] == ["0:", "1:", "2:"]
    assert outputs.told()[2].startswith("2: 7  ")
    many = model.run({"image": np.repeat(sevens, 25, axis=0)}).told()
    assert (len(many), many[-1]) == (21, "… 5 more")


def test_a_tensor_is_taken_as_it_is(model: Model) -> None:
    batch = np.random.default_rng(0).random((3, 1, 28, 28), np.float32)
    together = model.run({"image": batch})["logits"]
    assert together.shape == (3, 10)
    alone = model.run({"image": batch[:1]})["logits"]
    np.testing.assert_allclose(together[:1], alone, rtol=1e-4, atol=1e-5)


def test_it_says_what_it_is_and_what_ran(model: Model) -> None:
    assert model.inputs == (("image", "float32", ("batch", 1, 28, 28)),)
    assert model.outputs == (("logits", "float32", ("batch", 10)),)
    assert repr(model) == "<Model inferry/digits 1.0.0 fp32 on cpu>"
    report = model.report()
    assert report.model == "inferry/digits 1.0.0 fp32"
    assert (model.device, report.device, report.ep) == ("cpu", "cpu", "CPUExecutionProvider")
    assert report.nodes == {"CPUExecutionProvider": 10}


def test_once_closed_it_says_so() -> None:
    with inferry.load(NAME) as model:
        samples = model.samples
    model.close()
    for call in (model.report, lambda: model.run(samples)):
        with pytest.raises(Closed, match=r"inferry/digits .* is closed"):
            call()


def test_one_shot() -> None:
    assert inferry.run(NAME, {"image": FOLDER / "sample.png"}).labels()[0].label == "7"


WRONG_INPUTS: dict[str, tuple[dict[str, object], type[Error], str]] = {
    "missing": ({}, InvalidInput, "needs its input `image`"),
    "unknown": ({"picture": 1}, InvalidInput, "has no input `picture`"),
    "no file": ({"image": "nosuch.png"}, InvalidInput, "nosuch.png cannot be read: No such file"),
    "a folder": ({"image": BUILT_IN}, InvalidInput, "cannot be read"),
    "shape": ({"image": np.zeros((1, 1, 8, 8), np.float32)}, InvalidInput, r"got shape \[1, 1, 8, 8\]"),
    "dtype": ({"image": np.zeros((1, 1, 28, 28))}, InvalidInput, "got float64"),
}


@pytest.mark.parametrize(("inputs", "kind", "message"), WRONG_INPUTS.values(), ids=WRONG_INPUTS)
def test_wrong_inputs_are_told(model: Model, inputs: dict[str, object], kind: type[Error], message: str) -> None:
    with pytest.raises(kind, match=message):
        model.run(inputs)


def test_names_that_are_none_and_names_that_nobody_knows() -> None:
    for name in ("", "digits", "a/b/c", "in ferry/digits", "inferry/", f"inferry/{97 * 'd'}"):
        with pytest.raises(InvalidName):
            inferry.load(name)
    with pytest.raises(ModelNotFound) as caught:
        inferry.load("inferry/digit")
    assert caught.value.hints() == ("did you mean inferry/digits?",)
    release = inferry.load("Inferry/Digits").release
    assert release
    assert release.name == NAME


def changed(tmp_path: Path) -> FolderSource:
    shutil.copytree(BUILT_IN, tmp_path / "index")
    return FolderSource(tmp_path / "index")


@pytest.mark.parametrize("damage", ["a flipped bit", "cut short", "longer"])
def test_changed_bytes_are_never_handed_on(damage: str, tmp_path: Path) -> None:
    source = changed(tmp_path)
    found = source.find(NAME)
    assert found
    assert found.release
    artifact = found.release.variants[0].artifact
    good = found.read(artifact)
    path = tmp_path / "index" / NAME / artifact.path
    path.write_bytes(
        {
            "a flipped bit": good[:999] + bytes([good[999] ^ 1]) + good[1000:],
            "cut short": good[:-1],
            "longer": good + b"\0",
        }[damage]
    )
    with pytest.raises(VerificationError, match=artifact.path):
        found.read(artifact)
    path.unlink()
    with pytest.raises(Error, match="cannot be read"):
        found.read(artifact)


def test_a_manifest_of_another_model_is_refused(tmp_path: Path) -> None:
    source = changed(tmp_path)
    path = tmp_path / "index" / NAME / MANIFEST
    path.write_bytes(path.read_bytes().replace(b"inferry/digits", b"inferry/fidgets"))
    with pytest.raises(InvalidManifest, match="fidgets"):
        source.find(NAME)
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidManifest, match="UTF-8"):
        source.find(NAME)


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('name = "image"', 'name = "picture"', "inputs[0].name"),
        ('name = "logits"', 'name = "scores"', "outputs[0].name"),
        ('name = "logits"\ndtype = "float32"', 'name = "logits"\ndtype = "float64"', "outputs[0].dtype"),
        ("1, 28, 28]", "3, 28, 28]", "inputs[0].shape"),
        ("1, 28, 28]", "28, 28]", "inputs[0].shape"),
    ],
)
def test_a_manifest_must_speak_of_this_model(old: str, new: str, field: str, tmp_path: Path) -> None:
    source = changed(tmp_path)
    path = tmp_path / "index" / NAME / MANIFEST
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    found = source.find(NAME)
    assert found
    assert found.release
    session = Session(found.read(found.release.variants[0].artifact), name="it")
    with pytest.raises(InvalidManifest) as caught:
        Model(found.release, session, {})
    assert caught.value.field == field


def test_telemetry_is_off_before_onnx_runtime_is_imported(tmp_path: Path) -> None:
    """Importing it opens the telemetry store, so that afterwards is too late."""
    script = """
import json, os, sys
seen = []
def hook(event, arguments):
    if event == "import" and arguments[0] == "onnxruntime":
        seen.append(os.environ.get("ORT_DISABLE_TELEMETRY"))
sys.addaudithook(hook)
import inferry
inferry.load("inferry/digits")
print(json.dumps(seen))
"""
    # The tests' own process may have set it by now.
    unset = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, env=unset
    )
    assert set(json.loads(told.stdout)) == {"1"}


def test_a_user_who_turned_telemetry_on_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from inferry.runtime.ort import library

    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    library()
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "0"
