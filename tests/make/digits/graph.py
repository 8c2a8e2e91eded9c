"""The trained net as ONNX, opset 17 and IR 8, with a free batch axis; inputs and outputs are float32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

if TYPE_CHECKING:
    import torch

OPSET = 17
IR = 8


def build(net: torch.nn.Sequential) -> onnx.ModelProto:
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    weights = {name.replace(".", "_"): value.detach().numpy() for name, value in net.named_parameters()}
    same, half = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["image", "0_weight", "0_bias"], ["c1"], **same),
        node("Relu", ["c1"], ["r1"]),
        node("MaxPool", ["r1"], ["p1"], **half),
        node("Conv", ["p1", "3_weight", "3_bias"], ["c2"], **same),
        node("Relu", ["c2"], ["r2"]),
        node("MaxPool", ["r2"], ["p2"], **half),
        node("Flatten", ["p2"], ["flat"]),
        node("Gemm", ["flat", "8_weight", "8_bias"], ["g1"], transB=1),
        node("Relu", ["g1"], ["r3"]),
        node("Gemm", ["r3", "10_weight", "10_bias"], ["logits"], transB=1),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "digits",
        [info("image", onnx.TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [info("logits", onnx.TensorProto.FLOAT, ["batch", 10])],
        [onnx.numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=IR)


def sealed(model: onnx.ModelProto) -> bytes:
    """Return the bytes of a checked model, the same ones each time."""
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == IR
    assert [(one.domain, one.version) for one in model.opset_import] == [("", OPSET)]
    return model.SerializeToString(deterministic=True)
