"""What is said of a release and is not so is named, with its field; all of it at once."""

from __future__ import annotations

import copy
import tomllib
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import tomlkit

from inferry.catalog.errors import Error, InvalidManifest, InvalidModel, MachineError, ModelNotFound, VerificationError
from inferry.catalog.values.digest import Digest
from inferry.index.composing.compose import Flags, compose
from inferry.tests.mine import HALF, MINE, SIX, folder, six
from inferry.tests.models import add
from inferry.tests.shelves import laid_beside, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


GRAPH = 'graph = { ir_version = 8, opsets = { "" = 17 }, operators = ["Add@17"] }'
ARTIFACT = 'path = "add.onnx"'
STATED: dict[str, tuple[str, str, type[Error], str, str]] = {
    "digest": (
        ARTIFACT,
        f'{ARTIFACT}, digest = "sha256:{64 * "0"}"',
        VerificationError,
        "variants[0].artifact.digest",
        f"says sha256:{64 * '0'}, and the file {Digest.of(add())}",
    ),
    "size": (
        ARTIFACT,
        f"{ARTIFACT}, size_bytes = 1",
        VerificationError,
        "variants[0].artifact.size_bytes",
        f"says 1, and the file {len(add())}",
    ),
    "opset": (
        "artifact",
        GRAPH.replace('"" = 17', '"" = 18') + ", artifact",
        InvalidManifest,
        "variants[0].graph.opsets",
        "says {'': 18}, and the file {'': 17}",
    ),
    "IR": (
        "artifact",
        GRAPH.replace("8", "9") + ", artifact",
        InvalidManifest,
        "variants[0].graph.ir_version",
        "says 9, and the file 8",
    ),
    "operators": (
        "artifact",
        GRAPH.replace("Add@", "Mul@") + ", artifact",
        InvalidManifest,
        "variants[0].graph.operators",
        "says ['Mul@17'], and the file ['Add@17']",
    ),
    "dtype": (
        "variants",
        'inputs = [{ name = "a", dtype = "int8" }]\nvariants',
        InvalidManifest,
        "inputs[0].dtype",
        "says int8, and the file float32",
    ),
    "rank": (
        "variants",
        'outputs = [{ name = "sum", shape = [2] }]\nvariants',
        InvalidManifest,
        "outputs[0].shape",
        "says [2], and the file ['n', 2]",
    ),
    "a free axis that is not": (
        "variants",
        'outputs = [{ name = "sum", shape = ["n", "m"] }]\nvariants',
        InvalidManifest,
        "outputs[0].shape",
        "says ['n', 'm'], and the file ['n', 2]",
    ),
    "an input that there is not": (
        "variants",
        'inputs = [{ name = "c" }]\nvariants',
        InvalidManifest,
        "inputs[0].name",
        "says `c`, and the file has `a`, `b`",
    ),
    "no such file": (ARTIFACT, 'path = "no.onnx"', MachineError, "variants[0].artifact.path", "cannot be read"),
    "a path that leaves": (ARTIFACT, 'path = "../a"', InvalidManifest, "variants[0].artifact.path", "`../a` is not"),
    "no precision of ours": (
        "artifact",
        'precision = "fp33", artifact',
        InvalidManifest,
        "variants[0].precision",
        "fp33",
    ),
    "an unknown field": ("artifact", "flavour = 1, artifact", InvalidManifest, "variants[0].flavour", "unknown field"),
    "a version": ("1.0.0", "v1", InvalidManifest, "version", "PEP 440"),
    "no name": ('name = "acme/add"', "", InvalidManifest, "name", "give --name NS/NAME"),
    "variants that are none": ("variants = [{", "variants = [7, {", InvalidManifest, "variants[0]", "object"),
    "no variants": ("variants = [", "variants = []\n# ", InvalidManifest, "variants", "at least one"),
    "two called the same": (
        "variants = [{",
        'variants = [{ name = "fp32", artifact = { path = "add.onnx" } }, { name = "fp32",',
        InvalidManifest,
        "variants",
        "two of them are called fp32",
    ),
    "tables that are none": ("variants", "inputs = [7]\ncard = 3\nvariants", InvalidManifest, "card", "object"),
}


@pytest.mark.parametrize("name", STATED)
def test_what_is_said_and_is_not_so_is_named(name: str, tmp_path: Path) -> None:
    old, new, error, field, words = STATED[name]
    assert SIX.count(old) >= 1
    it = compose(six(tmp_path, SIX.replace(old, new, 1)))
    with pytest.raises(error) as raised:
        it.checked()
    assert type(raised.value) is error
    assert words in raised.value.message
    assert field in [each.field for each in it.problems]


def test_a_precision_is_named_where_the_weights_say_another(tmp_path: Path) -> None:
    text = SIX.replace("artifact", 'precision = "PRECISION", artifact', 1).replace("add.onnx", "x.onnx")
    folder(tmp_path, x_onnx=HALF)
    for precision, field in (("fp32", "variants[0].precision"), ("fp16", ""), ("mixed", "")):
        (tmp_path / "manifest.toml").write_text(text.replace("PRECISION", precision), encoding="utf-8")
        assert "".join(each.field for each in compose(tmp_path).problems) == field


def test_tensors_in_a_file_that_is_not_told_are_named(tmp_path: Path) -> None:
    root = laid_beside(tmp_path / "it")
    text = (root / "manifest.toml").read_text(encoding="utf-8")
    lines = [line if not line.startswith("external_data") else "external_data = []" for line in text.splitlines()]
    (root / "manifest.toml").write_text("\n".join(lines), encoding="utf-8")
    (problem,) = compose(root).problems
    assert (problem.field, problem.message) == (
        "variants[0].external_data",
        "model.onnx keeps tensors in weights.bin too",
    )


def test_all_is_told_at_once(tmp_path: Path) -> None:
    text = (
        SIX.replace('"1.0.0"', '"v1"')
        .replace(ARTIFACT, f"{ARTIFACT}, size_bytes = 1")
        .replace("MIT", "MIT")
        .replace('task = "arithmetic"', "task = 3")
    )
    it = compose(six(tmp_path, text), Flags(license="free"))
    assert [each.field for each in it.problems] == ["license", "variants[0].artifact.size_bytes", "task"]
    with pytest.raises(InvalidManifest) as raised:
        it.checked()
    assert raised.value.fields == tuple(each.field for each in it.problems)
    assert "(line 5)" in raised.value.message


def spaced(root: Path) -> Path:
    (root / "my model.onnx").write_bytes(add())
    return root / "my model.onnx"


def noise(root: Path) -> Path:
    return folder(root, it_onnx=b"noise") / "it.onnx"


def no_text(root: Path) -> Path:
    return folder(root, manifest_toml=b"\xff")


def no_toml(root: Path) -> Path:
    return folder(root, manifest_toml=b"name =")


def nested(root: Path) -> Path:
    return folder(root, manifest_toml=b"name = " + 5000 * b"[")


def a_folder_in_the_way(root: Path) -> Path:
    (root / "manifest.toml").mkdir()
    return root


BAD: list[tuple[Callable[[Path], Path], type[Error], str]] = [
    (spaced, InvalidManifest, "`my model.onnx` is not a relative path of letters, digits"),
    (noise, InvalidModel, "not an ONNX model"),
    (no_text, InvalidManifest, "not UTF-8"),
    (nested, InvalidManifest, "nested too deeply"),
    (no_toml, InvalidManifest, "manifest.toml"),
    (a_folder_in_the_way, MachineError, "manifest.toml"),
    (lambda root: root, ModelNotFound, "neither a manifest.toml nor an ONNX file"),
    (lambda root: root / "nosuch.onnx", ModelNotFound, "there is no file or folder"),
]


@pytest.mark.parametrize(("make", "error", "words"), BAD, ids=[each[2] for each in BAD])
def test_what_no_release_comes_of(make: Callable[[Path], Path], error: type[Error], words: str, tmp_path: Path) -> None:
    with pytest.raises(error) as raised:
        compose(make(tmp_path), MINE).checked()
    assert words in raised.value.message


def test_a_manifest_beside_a_file_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    with pytest.raises(InvalidManifest) as raised:
        compose(six(tmp_path) / "add.onnx", Flags(version="1.0.0")).checked()
    assert raised.value.fields == ("name", "license")
    assert raised.value.hints() == ("the manifest.toml beside it was not read: name the folder for that",)


JUNK: list[Any] = [
    *(7, -1, "", "x", [], {}, [[]], [{}], True, 1.5, "fp32", "../x", "add.onnx", {"path": 3}, ["n", 2]),
    {"path": "add.onnx", "size_bytes": "x"},
    [{"name": ["a"]}],
    [{"artifact": {"path": "add.onnx"}, "name": [1]}],
]


def bent(data: Any, random: Random) -> None:
    """Remove something of a document, or put in its place what does not belong there."""
    places: list[tuple[Any, Any]] = []
    left: list[Any] = [data]
    while left:
        at: Any = left.pop()
        here: list[tuple[Any, Any]] = [(at, key) for key in (at if hasattr(at, "keys") else range(len(at)))]
        places += here
        left += [below for _, key in here if isinstance(below := at[key], dict | list)]
    held, key = random.choice(places)
    if random.random() < 0.2:
        del held[key]
    else:
        held[key] = random.choice(JUNK)


def test_whatever_a_manifest_holds_is_a_release_or_an_error_of_ours(tmp_path: Path) -> None:
    full = tomllib.loads((publish(tmp_path, precisions=("fp32", "fp16")) / "manifest.toml").read_text("utf-8"))
    folder(tmp_path, add_onnx=add())
    random, wrong = Random(0), 0
    for _ in range(300):
        data = copy.deepcopy(random.choice([full, tomllib.loads(SIX)]))
        bent(data, random)
        (tmp_path / "manifest.toml").write_text(tomlkit.dumps(data), encoding="utf-8")
        try:
            compose(tmp_path).checked()
        except Error:
            wrong += 1
    assert 100 < wrong < 300
