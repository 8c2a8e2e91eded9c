"""An ONNX file or a folder becomes a release: what nobody says is computed, what is said is held against the files."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from onnx import TensorProto

from inferry.catalog.errors import (
    InvalidManifest,
    LibraryMissing,
    Refused,
)
from inferry.catalog.manifest import read_manifest
from inferry.catalog.values.digest import Digest
from inferry.index.client.source import BUILT_IN
from inferry.index.composing.compose import Composed, Flags, compose
from inferry.index.composing.written import manifest, write
from inferry.tests.indexes import NOW, World, copied, empty_index, listing
from inferry.tests.mine import BYTE, FLOAT, HALF, MINE, SIX, folder, six, weighted
from inferry.tests.models import add, one_node, with_external_data
from inferry.tests.shelves import laid_beside, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_file_is_a_release_of_one_variant(tmp_path: Path) -> None:
    path = folder(tmp_path, add_onnx=add(), other_onnx=one_node("Log"), README_md=b"# Another") / "add.onnx"
    it = compose(path, MINE)
    release = it.checked()
    (variant,) = release.variants
    artifact = variant.artifact
    assert (release.name, release.version, release.license, release.channel) == ("acme/add", "1.0.0", "MIT", "stable")
    assert (release.task, release.summary, release.card) == ("other", "acme/add (other)", None)
    assert (variant.name, variant.precision) == ("fp32", "fp32")
    assert (artifact.path, artifact.digest, artifact.size_bytes) == ("add.onnx", Digest.of(add()), len(add()))
    assert (artifact.media_type, artifact.redistribution) == ("application/vnd.onnx", "allowed")
    assert [(each.name, each.dtype, each.shape) for each in release.inputs] == [
        ("a", "float32", ("n", 2)),
        ("b", "float32", ("n", 2)),
    ]
    assert [(each.name, each.dtype, each.shape) for each in release.outputs] == [("sum", "float32", ("n", 2))]
    assert variant.graph
    assert variant.graph.operators == ("Add@17",)
    assert (it.folder, [*it.inspected]) == (tmp_path, ["add.onnx"])


def test_the_same_file_and_flags_are_the_same_release(tmp_path: Path) -> None:
    (one, other) = (
        compose(folder(tmp_path / name, add_onnx=add()) / "add.onnx", MINE).checked().digest for name in "ab"
    )
    assert one == other


def test_flags_say_the_rest(tmp_path: Path) -> None:
    said = Flags("acme/add", "2.0rc1", "apache-2.0", "Adds two", "arithmetic", "preview")
    release = compose(folder(tmp_path, add_onnx=add()) / "add.onnx", said).checked()
    assert (release.version, release.license, release.channel) == ("2.0rc1", "Apache-2.0", "preview")
    assert (release.summary, release.task) == ("Adds two", "arithmetic")


def test_what_keeps_tensors_elsewhere_brings_them(tmp_path: Path) -> None:
    path = with_external_data(tmp_path, "weights.bin")
    (tmp_path / "weights.bin").write_bytes(bytes(8))
    (variant,) = compose(path, MINE).checked().variants
    assert [(each.path, each.size_bytes, each.redistribution) for each in variant.external_data] == [
        ("weights.bin", 8, "allowed")
    ]


def test_a_folder_is_a_release_whose_variants_are_its_files(tmp_path: Path) -> None:
    files = {
        "b_onnx": HALF,
        "a_onnx": FLOAT,
        "c_onnx": BYTE,
        "LICENSE_txt": b"Do",
        "README_md": b"# Read",
        "x_npz": b"",
    }
    release = compose(folder(tmp_path, **files), MINE).checked()
    assert [(each.name, each.precision, each.artifact.path) for each in release.variants] == [
        ("fp32", "fp32", "a.onnx"),
        ("fp16", "fp16", "b.onnx"),
        ("int8", "int8", "c.onnx"),
    ]
    assert release.card
    assert release.license_text
    assert (release.card.path, release.card.media_type) == ("README.md", "text/markdown")
    assert (release.license_text.path, release.license_text.redistribution) == ("LICENSE.txt", "allowed")
    (tmp_path / "CARD.md").write_bytes(b"# Card")
    card = compose(tmp_path, MINE).checked().card
    assert card
    assert card.path == "CARD.md"


NAMED = ["fp32", "fp16"]
NAMES: dict[str, tuple[dict[str, bytes], list[str]]] = {
    "two of one precision": ({"a_onnx": FLOAT, "b_onnx": FLOAT, "c_onnx": HALF}, ["a", "b", "fp16"]),
    "one called as another's precision": ({"a_onnx": FLOAT, "fp16_onnx": FLOAT, "c_onnx": HALF}, ["a", "fp16", "c"]),
    "axes of other names": (
        {"a_onnx": FLOAT, "c_onnx": weighted(TensorProto.FLOAT16, shape=("m", 8))},
        ["fp32", "fp16"],
    ),
}


@pytest.mark.parametrize(("files", "names"), NAMES.values(), ids=NAMES)
def test_variants_are_called_by_precision_or_file(files: dict[str, bytes], names: list[str], tmp_path: Path) -> None:
    assert [each.name for each in compose(folder(tmp_path, **files), MINE).checked().variants] == names


def test_files_that_take_or_return_other_things_are_no_variants(tmp_path: Path) -> None:
    it = compose(folder(tmp_path, a_onnx=FLOAT, b_onnx=weighted(TensorProto.FLOAT16, shape=(1, 8)), c_onnx=add()), MINE)
    with pytest.raises(InvalidManifest) as raised:
        it.checked()
    assert raised.value.fields == ("variants",)
    for each in ("a.onnx: x float32 [n, 8]", "b.onnx: x float32 [1, 8]", "c.onnx: a float32 [n, 2], b"):
        assert each in raised.value.message


def test_six_lines_are_a_manifest(tmp_path: Path) -> None:
    root = six(tmp_path)
    release = compose(root).checked()
    assert release == compose(root / "manifest.toml").checked()
    assert (release.summary, release.variants[0].name, len(release.inputs)) == ("Adds", "fp32", 2)
    assert release.variants[0].artifact.redistribution == "allowed"
    assert compose(root, Flags(version="2.0.0", license="BSD-3-Clause")).checked().license == "BSD-3-Clause"


def test_a_manifest_without_variants_says_nothing_of_redistribution(tmp_path: Path) -> None:
    root = six(tmp_path, SIX.replace("variants", "# "))
    assert compose(root).checked().variants[0].artifact.redistribution == "unknown"
    assert compose(root, Flags(license="MIT")).checked().variants[0].artifact.redistribution == "allowed"


def test_what_belongs_to_an_input_is_kept_and_the_rest_computed(tmp_path: Path) -> None:
    more = '[[inputs]]\nname = "b"\nsample = { path = "b.json" }\n[[outputs]]\nname = "sum"\nshape = [1, 2]\n'
    more += 'labels = ["x", "y"]\n[card]\npath = "card.md"\n'
    root = folder(six(tmp_path, SIX + more), b_json=b"[[1, 2]]", card_md=b"# Adds")
    release = compose(root).checked()
    assert [(each.name, each.dtype, each.shape) for each in release.inputs] == [
        ("b", "float32", ("n", 2)),
        ("a", "float32", ("n", 2)),
    ]
    sample = release.inputs[0].sample
    assert sample
    assert (sample.digest, sample.media_type) == (Digest.of(b"[[1, 2]]"), "application/json")
    assert (release.outputs[0].shape, release.outputs[0].labels) == ((1, 2), ("x", "y"))


FULL: dict[str, Callable[[Path], Path]] = {
    "built in": lambda _: BUILT_IN / "inferry/digits",
    "two variants and a card": lambda root: publish(root, precisions=("fp32", "fp16"), files={"CARD.md": b"# Adds\n"}),
    "other files": lambda root: laid_beside(root / "it"),
}


@pytest.mark.parametrize("make", FULL.values(), ids=FULL)
def test_a_full_manifest_stays_as_it_is_and_needs_no_onnx(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(tmp_path)
    stated = read_manifest((root / "manifest.toml").read_text(encoding="utf-8"), where="")
    found = compose(root).checked()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "onnx", None)
        assert compose(root).checked() == found
    for name in stated.__struct_fields__:
        if name != "variants":
            assert getattr(found, name) == getattr(stated, name)
    for one, other in zip(found.variants, stated.variants, strict=True):
        assert one.graph
        assert (one.name, one.precision, one.artifact) == (other.name, other.precision, other.artifact)


def test_without_onnx_what_must_be_read_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(LibraryMissing):
        compose(six(tmp_path))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An empty index."""
    return empty_index(tmp_path_factory.mktemp("an index"))


def test_adding_twice_changes_nothing(made: World, tmp_path: Path) -> None:
    world = copied(made, tmp_path)
    path = folder(tmp_path / "mine", add_onnx=add()) / "add.onnx"
    added = world.repository.add(path, NOW, MINE)
    before = listing(world.site)
    again = world.repository.add(path, NOW, MINE)
    assert (added.name, added.serial, added.new, again.new, again.digest) == ("acme/add", 2, True, False, added.digest)
    assert listing(world.site) == before
    with pytest.raises(Refused, match="with other content"):
        world.repository.add(path, NOW, MINE._replace(summary="Adds"))
    assert any(name.endswith(Digest.of(add())[9:]) for name in before)


def written(it: Composed) -> Any:
    return read_manifest(write(it.checked(), it.folder).read_text(encoding="utf-8"), where="")


def test_a_manifest_that_is_written_reads_as_the_same_release(tmp_path: Path) -> None:
    it = compose(folder(tmp_path, a_onnx=FLOAT, b_onnx=HALF, CARD_md=b"# It"), MINE)
    assert written(it) == it.checked() == compose(tmp_path).checked()
    with pytest.raises(Refused, match="never written over"):
        write(it.checked(), tmp_path)
    built_in = compose(BUILT_IN / "inferry/digits").checked()
    assert read_manifest(manifest(built_in), where="") == built_in
