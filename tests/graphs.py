"""Models with all that leads to an operator, and what each needs of a runtime."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import TensorProto, helper

from inferry.catalog.values.graph import Graph, Operator
from inferry.tests.models import add, model, saved
from inferry.tests.wire import HEAD, field, imports, varint


def node(operator: str, domain: str = "", output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, ["x"], [output], domain=domain, **attributes)


def of(*nodes: onnx.NodeProto, opsets: dict[str, int] | None = None, weights: tuple[Any, ...] = ()) -> onnx.ModelProto:
    told = TensorProto.FLOAT, (2,)
    return model(*nodes, inputs={"x": told}, outputs={"y": told}, weights=weights, opsets=opsets)


def graph(*nodes: onnx.NodeProto) -> onnx.GraphProto:
    return of(*nodes).graph


def function(
    name: str, *nodes: onnx.NodeProto, opsets: dict[str, int] | None = None, overload: str = ""
) -> onnx.FunctionProto:
    sets = [helper.make_opsetid(domain, version) for domain, version in (opsets or {}).items()]
    return helper.make_function("local", name, ["x"], ["y"], list(nodes), sets, overload=overload)


def with_functions(made: onnx.ModelProto, *functions: onnx.FunctionProto) -> bytes:
    made.functions.extend(functions)
    return saved(made)


def outside(location: str) -> onnx.TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="offset", value="0")
    tensor.external_data.add(key="location", value=location)
    return tensor


def sparse(values: onnx.TensorProto) -> onnx.SparseTensorProto:
    indices = helper.make_tensor("i", TensorProto.INT64, [2], [0, 1])
    return onnx.SparseTensorProto(values=values, indices=indices, dims=[4])


def sparse_weights() -> bytes:
    made = of(node("Abs"))
    made.graph.sparse_initializer.append(sparse(outside("sparse.bin")))
    return saved(made)


def training() -> bytes:
    made = of(node("Abs"))
    made.training_info.add().algorithm.CopyFrom(graph(node("Nosuch")))
    return saved(made)


def needs(*told: str, opsets: dict[str, int] | None = None, external: tuple[str, ...] = ()) -> Graph:
    operators = tuple(map(Operator, told))
    return Graph(ir_version=8, opsets=opsets or {"": 17}, operators=operators, external=external)


LOCAL = {"": 17, "local": 1}
BRANCHES = node("If", then_branch=graph(node("Abs")), else_branch=graph())
CALL = node("If", then_branch=graph(node("G", "local")), else_branch=graph())
GOOD: dict[str, tuple[bytes, Graph]] = {
    "one": (add(), needs("Add@17")),
    "none": (saved(of()), needs()),
    "each one once": (saved(of(node("Abs"), node("Neg"), node("Abs"))), needs("Abs@17", "Neg@17")),
    "branches within a loop": (
        saved(of(node("Loop", body=graph(node("Neg"), BRANCHES)))),
        needs("Abs@17", "If@17", "Loop@17", "Neg@17"),
    ),
    "graphs in a list": (
        saved(of(node("Some", bodies=[graph(node("Abs")), graph(node("Neg"))]))),
        needs("Abs@17", "Neg@17", "Some@17"),
    ),
    "several domains": (
        saved(of(node("Abs"), node("Scaler", "ai.onnx.ml"), node("F", "a"), opsets={"": 21, "ai.onnx.ml": 5, "a": 3})),
        needs("Abs@21", "a:F@3", "ai.onnx.ml:Scaler@5", opsets={"": 21, "ai.onnx.ml": 5, "a": 3}),
    ),
    "ai.onnx spelled": (
        saved(of(node("Abs", "ai.onnx"), node("Abs", output="z"), opsets={"ai.onnx": 13})),
        needs("Abs@13", opsets={"": 13}),
    ),
    "a set that nobody uses": (
        saved(of(node("Abs"), opsets={"": 17, "acme": 2})),
        needs("Abs@17", opsets={"": 17, "acme": 2}),
    ),
    "a domain of the runtime that is not imported": (
        saved(of(node("FastGelu", "com.microsoft"))),
        needs("com.microsoft:FastGelu"),
    ),
    "only other domains": (
        saved(of(node("Abs"), opsets={"ai.onnx.ml": 3})),
        needs("Abs", opsets={"ai.onnx.ml": 3}),
    ),
    "a set imported twice": (
        saved(of(node("Abs"), opsets={"": 18, "ai.onnx": 13})),
        needs("Abs@18", opsets={"": 18}),
    ),
    "a function": (
        with_functions(of(node("F", "local"), opsets=LOCAL), function("F", node("Abs"), opsets={"": 17})),
        needs("Abs@17", opsets=LOCAL),
    ),
    "a function of another opset": (
        with_functions(of(node("F", "local"), node("Abs"), opsets=LOCAL), function("F", node("Abs"), opsets={"": 13})),
        needs("Abs@13", "Abs@17", opsets=LOCAL),
    ),
    "a function that calls another within a branch": (
        with_functions(
            of(node("F", "local"), opsets=LOCAL),
            function("F", CALL, opsets={"": 18, "local": 1}),
            function("G", node("Scaler", "ai.onnx.ml"), opsets={"ai.onnx.ml": 3}),
        ),
        needs("If@18", "ai.onnx.ml:Scaler@3", opsets={"": 18, "ai.onnx.ml": 3, "local": 1}),
    ),
    "a function that nobody calls": (
        with_functions(of(node("Abs"), opsets=LOCAL), function("F", node("Neg"), opsets={"": 17})),
        needs("Abs@17", "Neg@17", opsets=LOCAL),
    ),
    "an overload that is called": (
        with_functions(
            of(node("F", "local", overload="b"), opsets=LOCAL),
            function("F", node("Abs"), opsets={"": 17}, overload="b"),
        ),
        needs("Abs@17", opsets=LOCAL),
    ),
    "an overload that is another": (
        with_functions(
            of(node("F", "local", overload="b"), opsets=LOCAL),
            function("F", node("Abs"), opsets={"": 17}, overload="a"),
        ),
        needs("Abs@17", "local:F@1", opsets=LOCAL),
    ),
    "external weights": (
        saved(of(node("Abs"), weights=(outside("b/w.bin"), outside("a.bin"), outside("a.bin")))),
        needs("Abs@17", external=("a.bin", "b/w.bin")),
    ),
    "external constants": (
        saved(of(node("Constant", value=outside("ü.bin")), node("Some", of=[outside("2")], more=sparse(outside("3"))))),
        needs("Constant@17", "Some@17", external=("2", "3", "ü.bin")),
    ),
    "sparse weights": (sparse_weights(), needs("Abs@17", external=("sparse.bin",))),
    "what training needs": (training(), needs("Abs@17")),
    "lists of numbers": (
        saved(of(node("Some", ints=[0, -1, 2**62], floats=[0.0, 1e30], texts=["a"] * 300))),
        needs("Some@17"),
    ),
    "a graph in two pieces": (
        HEAD + field(7, field(1, field(4, b"Abs"))) + field(7, field(1, field(4, b"Neg"))),
        needs("Abs@17", "Neg@17"),
    ),
    "fields from the future": (
        add() + field(999, 5) + field(999, b"news") + varint(999 << 3 | 1) + bytes(8) + varint(999 << 3 | 5) + bytes(4),
        needs("Add@17"),
    ),
    "a tag whose first byte looks like the tag": (
        HEAD + field(7, field(1, field(4, b"A") + field(5, 2 * (b"\xa0\x01" + varint(0xA0))))),
        needs("A@17"),
    ),
    "numbers in a row that are not packed": (
        HEAD + field(7, b"") + 100 * (b"\x19" + bytes(8)) + 9 * field(5, 300),
        needs(),
    ),
    "varints longer than they need be": (b"\x88\x00\x88\x80\x80\x00" + imports() + field(7, b""), needs()),
}
"""Each model, and what it needs."""
