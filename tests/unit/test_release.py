"""The release of the built-in model: every file is what the manifest says, and every variant agrees with the first."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from inferry.catalog.operators import read_graph
from inferry.catalog.ort_versions import ort_range
from inferry.catalog.values.names import ModelName
from inferry.index.client.source import BUILT_IN, MANIFEST, FolderSource
from inferry.runtime.session import Session

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from inferry.catalog.values.model import Artifact, Release
    from inferry.index.client.found import Found

NAME = ModelName.parse("inferry/digits")
FOLDER = BUILT_IN / NAME
VARIANTS = ("fp32", "fp16", "int8")
LOGITS_APART = {"fp32": 1e-4, "fp16": 0.02, "int8": 1.0}
"""How far a variant's logits, which reach to 26 either way, may lie from the golden ones, and a thousandth more."""


def found() -> Found:
    it = FolderSource().find(NAME)
    assert it
    return it


def release() -> Release:
    told = found().release
    assert told
    return told


def artifacts() -> list[Artifact]:
    told = release()
    all_of_it = [variant.artifact for variant in told.variants]
    all_of_it += [one.sample for one in told.inputs if one.sample]
    all_of_it += [artifact for pair in told.golden for artifact in (pair.inputs, pair.outputs)]
    return all_of_it + [artifact for artifact in (told.card, told.license_text) if artifact]


def arrays(artifact: Artifact) -> dict[str, NDArray[np.float32]]:
    return dict(np.load(io.BytesIO(found().read(artifact)), allow_pickle=False))


def card() -> str:
    told = release().card
    assert told
    return found().read(told).decode()


def test_every_file_is_named_and_matches_its_digest() -> None:
    named = artifacts()
    for artifact in named:
        assert found().read(artifact)
    assert {path.name for path in FOLDER.iterdir()} == {MANIFEST, *(artifact.path for artifact in named)}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000


def test_the_variants_are_told_apart() -> None:
    told = release().variants
    assert tuple(variant.name for variant in told) == VARIANTS
    assert tuple(variant.precision for variant in told) == VARIANTS
    assert told[0].accuracy_loss is None
    assert all(variant.accuracy_loss is not None and variant.accuracy_loss < 0.01 for variant in told[1:])
    sizes = [variant.artifact.size_bytes for variant in told]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("place", range(3), ids=VARIANTS)
def test_each_graph_is_for_old_runtimes_too(place: int) -> None:
    """Opset 17 and IR 8; float32 goes in and comes out, in batches of any size."""
    model = onnx.load_from_string(found().read(release().variants[place].artifact))
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 8
    assert [(one.domain, one.version) for one in model.opset_import] == [("", 17)]
    for told, shape in ((model.graph.input, ["batch", 1, 28, 28]), (model.graph.output, ["batch", 10])):
        tensor = told[0].type.tensor_type
        assert tensor.elem_type == onnx.TensorProto.FLOAT
        assert [side.dim_param or side.dim_value for side in tensor.shape.dim] == shape
    weights = {onnx.TensorProto.DataType.Name(one.data_type) for one in model.graph.initializer if len(one.dims) > 1}
    assert weights == {("FLOAT", "FLOAT16", "INT8")[place]}


@pytest.mark.parametrize("place", range(3), ids=VARIANTS)
def test_the_manifest_tells_what_each_graph_needs(place: int) -> None:
    variant = release().variants[place]
    needed = read_graph(found().read(variant.artifact))
    assert variant.graph == needed
    assert ort_range(needed) == ">=1.12"


@pytest.mark.parametrize("place", range(3), ids=VARIANTS)
def test_each_variant_gives_the_golden_outputs(place: int) -> None:
    told = release()
    variant = told.variants[place]
    pair = told.golden[0]
    inputs, wanted = arrays(pair.inputs), arrays(pair.outputs)["logits"]
    assert inputs["image"].shape == (10, 1, 28, 28)
    assert inputs["image"].dtype == wanted.dtype == np.float32
    assert wanted.argmax(axis=1).tolist() == list(range(10))
    session = Session(found().read(variant.artifact), name=variant.name)
    logits = session.run(inputs)["logits"]
    assert logits.dtype == np.float32
    np.testing.assert_array_equal(logits.argmax(axis=1), wanted.argmax(axis=1))
    np.testing.assert_allclose(logits, wanted, rtol=1e-3, atol=LOGITS_APART[variant.name])


def rows() -> list[list[str]]:
    """Return the card's table of accuracies: its head, then a row for each variant."""
    lines = [line.strip("| ").split(" | ") for line in card().splitlines() if re.match(r"\| (variant|`)", line)]
    assert len({len(line) for line in lines}) == 1
    return lines


def test_the_card_tells_what_the_manifest_tells() -> None:
    told = release()
    assert card().startswith(f"# {told.name} {told.version}\n")
    head, *measured = rows()
    assert head == [
        "variant",
        "bytes",
        *(f"{name}, {paper}" for name in ("scikit-learn", "MNIST", "fonts") for paper in ("clean", "noisy")),
        "lost",
    ]
    for row, variant in zip(measured, told.variants, strict=True):
        assert row[:2] == [f"`{variant.name}`", f"{variant.artifact.size_bytes:,}"]
        assert float(row[-1]) == (variant.accuracy_loss or 0)
    for heading in ("Use", "Limits", "Data", "Training", "Accuracy"):
        assert f"\n## {heading}\n" in card()


def test_the_accuracies_are_worth_releasing() -> None:
    head, *measured = rows()
    least = {"scikit-learn": 0.98, "MNIST": 0.97, "fonts": 0.95}
    for row in measured:
        for what, share in zip(head[2:-1], row[2:-1], strict=True):
            name, _, paper = what.partition(", ")
            assert float(share) >= least[name] - (0.05 if paper == "noisy" else 0), (row[0], what)


def test_the_license_is_told_in_full() -> None:
    told = release()
    assert told.license == "MIT"
    assert told.license_text
    text = found().read(told.license_text).decode()
    assert text.startswith("MIT License\n")
    assert {artifact.redistribution for artifact in artifacts()} == {"allowed"}
    for source in ("CC BY 4.0", "CC BY-SA 3.0", "SIL Open Font License"):
        assert source in text
