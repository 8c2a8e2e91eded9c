"""Laws of the reader of operators: it agrees with ``onnx`` on whatever that reads, and refuses everything else."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import onnx
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper

from inferry.catalog.operators import read_graph
from inferry.tests.graphs import GOOD, outside, sparse
from inferry.tests.hostile import EDITS, bent, judge, reference, tally
from inferry.tests.models import saved

if TYPE_CHECKING:
    from collections.abc import Callable

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft", "acme", "local")
TYPES = ("Abs", "Neg", "Frob", "F", "G")
NAMES = st.sampled_from(["a", "ü", "one.bin", "data/two.bin"])


def attributes(graphs: st.SearchStrategy[onnx.GraphProto] | None) -> st.SearchStrategy[Any]:
    tensors = NAMES.map(outside) | st.just(helper.make_tensor("w", TensorProto.FLOAT, [2], [0, 1]))
    values = st.one_of(
        st.integers(-(2**63), 2**63 - 1),
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1),
        st.lists(st.floats(width=32), min_size=1),
        st.lists(st.text(), min_size=1),
        tensors,
        st.lists(tensors, min_size=1, max_size=3),
        tensors.map(sparse),
    )
    return values if graphs is None else values | graphs | st.lists(graphs, min_size=1, max_size=3)


def nodes(graphs: st.SearchStrategy[onnx.GraphProto] | None) -> st.SearchStrategy[list[onnx.NodeProto]]:
    def made(operator: str, domain: str, overload: str, given: dict[str, Any]) -> onnx.NodeProto:
        return helper.make_node(operator, ["x"], ["y"], domain=domain, overload=overload, **given)

    one = st.builds(
        made,
        st.sampled_from(TYPES),
        st.sampled_from(DOMAINS),
        st.sampled_from(["", "o"]),
        st.dictionaries(st.sampled_from(["a", "b"]), attributes(graphs), max_size=2),
    )
    return st.lists(one, max_size=4)


def graph(nodes: list[onnx.NodeProto], weights: list[str]) -> onnx.GraphProto:
    return helper.make_graph(nodes, "graph", [], [], list(map(outside, weights)))


GRAPHS = st.recursive(
    st.builds(graph, nodes(None), st.lists(NAMES, max_size=2)),
    lambda inner: st.builds(graph, nodes(inner), st.lists(NAMES, max_size=2)),
    max_leaves=6,
)
SETS = st.builds(helper.make_opsetid, st.sampled_from(DOMAINS), st.integers(0, 30))
COMPLETE = [helper.make_opsetid(domain, 7) for domain in DOMAINS]
IMPORTS = st.lists(SETS, max_size=4).map(lambda more: [*COMPLETE, *more]) | st.lists(SETS, min_size=1, max_size=7)
FUNCTIONS = st.builds(
    helper.make_function,
    st.sampled_from(["local", "acme"]),
    st.sampled_from(["F", "G"]),
    st.just(["x"]),
    st.just(["y"]),
    nodes(GRAPHS),
    IMPORTS,
    overload=st.sampled_from(["", "o"]),
)


@st.composite
def models(draw: Callable[[st.SearchStrategy[Any]], Any]) -> onnx.ModelProto:
    made = onnx.ModelProto(ir_version=draw(st.integers(0, 2**31 - 1)), graph=draw(GRAPHS))
    made.opset_import.extend(draw(IMPORTS))
    made.functions.extend(draw(st.lists(FUNCTIONS, max_size=3)))
    return made


@quick
@given(models())
def test_it_reads_what_onnx_reads(made: onnx.ModelProto) -> None:
    wanted = reference(made)
    assert judge(saved(made)) == ("read" if wanted else "refused")
    if wanted:
        assert read_graph(saved(made)) == wanted


@quick
@given(
    models().map(saved) | st.sampled_from([data for data, _ in GOOD.values()]),
    st.lists(st.tuples(st.sampled_from(EDITS), st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=4),
)
def test_whatever_was_done_to_a_model_it_is_read_or_refused(
    data: bytes, edits: list[tuple[Callable[[bytes, int, bytes], bytes], float, bytes]]
) -> None:
    for edit, share, salt in edits:
        data = edit(data, int(share * len(data)), salt)
    judge(data)


@quick
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    judge(data)


def test_every_beginning_of_a_model_is_read_or_refused() -> None:
    for data, _ in GOOD.values():
        assert tally(data[:end] for end in range(0, len(data), 3))


def test_a_thousand_bent_models() -> None:
    hostile = bent(Random(20), (data for data, _ in GOOD.values()))
    told = tally(next(hostile) for _ in range(1000))
    assert min(told["read"], told["refused"]) > 50, told
