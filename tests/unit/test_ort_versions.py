"""The ranges of ONNX Runtime, held against the one that is installed."""

from __future__ import annotations

from itertools import pairwise

import onnxruntime
import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from inferry.catalog.errors import Error
from inferry.catalog.operators import read_graph
from inferry.catalog.ort_versions import NEWEST, RELEASES, ort_range
from inferry.catalog.values.graph import Graph
from inferry.runtime.ort import OrtSession
from inferry.tests.graphs import function, node, of, with_functions
from inferry.tests.models import saved

LAST = RELEASES[-1]
INSTALLED = Version(onnxruntime.__version__)


def stamped(ir_version: int = 3, *, function_opset: int = 7, **opsets: int) -> bytes:
    """Return a model of one ``Abs`` with these versions; without any, the oldest that every ONNX Runtime takes."""
    sets = {"": 7, "local": 1} | {name.replace("_", "."): version for name, version in opsets.items()}
    made = of(node("Abs"), opsets=sets)
    made.ir_version = ir_version
    return with_functions(made, function("F", node("Abs"), opsets={"": function_opset}))


MODELS = {
    **{f"IR {n}": stamped(n) for n in range(1, LAST.ir_version + 3)},
    **{f"opset {n}": saved(of(node("Abs"), opsets={"": n})) for n in range(7, LAST.opset + 3)},
    **{f"ai.onnx.ml {n}": stamped(ai_onnx_ml=n) for n in range(1, LAST.ml + 3)},
    **{f"opset {n} of a function": stamped(function_opset=n) for n in (LAST.opset, LAST.opset + 1)},
    **{f"acme {n}": stamped(acme=n) for n in (1, 99)},
}


@pytest.mark.parametrize("data", MODELS.values(), ids=MODELS)
def test_onnx_runtime_opens_a_model_exactly_where_its_range_says_so(data: bytes) -> None:
    try:
        OrtSession(data)
        opened = True
    except Error as error:
        assert "Unsupported model IR version" in error.message or "Current official support" in error.message  # noqa: PT017
        opened = False
    assert (INSTALLED in SpecifierSet(ort_range(read_graph(data)))) is opened


def test_the_table_knows_the_installed_onnx_runtime() -> None:
    assert (INSTALLED.major, INSTALLED.minor) <= (1, NEWEST)
    assert RELEASES[-1].minor <= NEWEST


def test_later_releases_take_more() -> None:
    for older, newer in pairwise(RELEASES):
        assert newer.minor > older.minor
        assert all(more >= less for less, more in zip(older, newer, strict=True))
        assert newer[1:] != older[1:]


RANGES: dict[str, tuple[int, dict[str, int], str]] = {
    "old": (3, {"": 7}, ">=1.0"),
    "older than the table": (1, {"": 1}, ">=1.0"),
    "no ai.onnx": (3, {"ai.onnx.ml": 1}, ">=1.0"),
    "the first row's last": (6, {"": 11, "ai.onnx.ml": 2}, ">=1.0"),
    "by opset": (3, {"": 17}, ">=1.12"),
    "by IR": (10, {"": 17}, ">=1.18"),
    "by ai.onnx.ml": (8, {"": 17, "ai.onnx.ml": 4}, ">=1.17"),
    "two that rose together": (13, {"": 24}, ">=1.24"),
    "other domains": (8, {"": 17, "com.microsoft": 1, "acme": 99}, ">=1.12"),
    "the last row": (13, {"": 26, "ai.onnx.ml": 5}, ">=1.25"),
    "an opset beyond": (8, {"": 27}, ">=1.32"),
    "an IR beyond": (14, {"": 17}, ">=1.32"),
}


@pytest.mark.parametrize(("ir_version", "opsets", "told"), RANGES.values(), ids=RANGES)
def test_ranges(ir_version: int, opsets: dict[str, int], told: str) -> None:
    assert ort_range(Graph(ir_version=ir_version, opsets=opsets, operators=())) == told
