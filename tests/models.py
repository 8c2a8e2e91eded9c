"""Small ONNX files, written as they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def model(
    *nodes: onnx.NodeProto,
    inputs: dict[str, tuple[int, Sequence[int | str | None] | None]],
    outputs: dict[str, tuple[int, Sequence[int | str | None] | None]],
    weights: Sequence[onnx.TensorProto] = (),
    opsets: dict[str, int] | None = None,
) -> onnx.ModelProto:
    """Return a model of ``nodes``; each input and output has an element type and a shape."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(name, *told) for name, told in inputs.items()],
        [helper.make_tensor_value_info(name, *told) for name, told in outputs.items()],
        list(weights),
    )
    sets = [helper.make_opsetid(domain, version) for domain, version in (opsets or {"": 17}).items()]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def one_node(
    operator: str,
    element: int = TensorProto.FLOAT,
    shape: Sequence[int | str | None] | None = ("n", 3),
    *,
    domain: str = "",
) -> bytes:
    """Return a model whose input ``x`` becomes its output ``y`` through one node."""
    node = helper.make_node(operator, ["x"], ["y"], domain=domain)
    told = element, shape
    return saved(model(node, inputs={"x": told}, outputs={"y": told}, opsets={"": 17, domain or "ai.onnx.ml": 1}))


def add() -> bytes:
    """Return ``sum = a + b``, of shape (n, 2)."""
    told = TensorProto.FLOAT, ("n", 2)
    node = helper.make_node("Add", ["a", "b"], ["sum"])
    return saved(model(node, inputs={"a": told, "b": told}, outputs={"sum": told}))


def saved(made: onnx.ModelProto) -> bytes:
    data: bytes = made.SerializeToString()
    return data


def with_external_data(folder: Path, location: str) -> Path:
    """Write ``y = x + w`` into ``folder``, its ``w`` of 2 x 1.5 in the file that ``location`` names."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value=location)
    weight.external_data.add(key="length", value="8")
    made = model(
        helper.make_node("Add", ["x", "w"], ["y"]),
        inputs={"x": (TensorProto.FLOAT, (2,))},
        outputs={"y": (TensorProto.FLOAT, (2,))},
        weights=[weight],
    )
    path = folder / "model.onnx"
    path.write_bytes(saved(made))
    return path
