"""A manifest that is written reads as the release that it was written of."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper

from inferry.catalog.manifest import read_manifest
from inferry.index.composing.compose import Flags, compose
from inferry.index.composing.written import manifest, write
from inferry.tests.models import model, saved
from inferry.tests.strategies import RELEASES

if TYPE_CHECKING:
    from inferry.catalog.values.model import Release

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
AXES = st.lists(st.integers(0, 9) | st.none() | st.sampled_from(["n", "ü m", "'"]), max_size=3)
ELEMENTS = st.sampled_from([TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.BFLOAT16])


@settings(deadline=None)
@given(RELEASES)
def test_any_release(release: Release) -> None:
    assert read_manifest(manifest(release), where="") == release


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(ELEMENTS, st.integers(0, 5)), min_size=1, max_size=3), AXES, TEXTS, TEXTS)
def test_what_is_composed(weights: list[tuple[int, int]], axes: list[int | str | None], name: str, task: str) -> None:
    """Of a folder with a model for each of the weights, read again without a flag."""
    node = helper.make_node("Identity", ["x" + name], ["y"])
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        for place, (element, length) in enumerate(weights):
            weight = helper.make_tensor("w", element, [length], [1] * length)
            told = TensorProto.FLOAT, axes
            sets = {"": 17, "ai.onnx.ml": 3}
            made = model(node, inputs={"x" + name: told}, outputs={"y": told}, weights=[weight], opsets=sets)
            (folder / f"m{place}.onnx").write_bytes(saved(made))
        release = compose(folder, Flags("acme/it", "1.0", "MIT", task=task)).checked()
        write(release, folder)
        assert compose(folder).checked() == release
        assert len(release.variants) == len(weights)
