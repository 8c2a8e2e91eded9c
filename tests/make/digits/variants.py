"""The variants of the trained net: half precision, and 8 bits calibrated on pictures that were seen in training."""

from __future__ import annotations

import numpy as np
import onnx
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    QuantFormat,
    QuantType,
    quantize_static,
)


def half(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with float16 between a Cast in and a Cast out: what goes in and comes out stays float32."""
    kept = onnx.ModelProto()
    kept.CopyFrom(model)
    graph = kept.graph
    source, target = graph.input[0].name, graph.output[0].name
    for node in graph.node:
        node.input[:] = [f"{name}_half" if name == source else name for name in node.input]
        node.output[:] = [f"{name}_half" if name == target else name for name in node.output]
    for weight in graph.initializer:
        values = onnx.numpy_helper.to_array(weight).astype(np.float16)
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    into = onnx.helper.make_node("Cast", [source], [f"{source}_half"], to=onnx.TensorProto.FLOAT16)
    out = onnx.helper.make_node("Cast", [f"{target}_half"], [target], to=onnx.TensorProto.FLOAT)
    nodes = [into, *graph.node, out]
    del graph.node[:]
    graph.node.extend(nodes)
    return kept


class _Seen(CalibrationDataReader):
    def __init__(self, images: np.ndarray) -> None:
        self._batches = iter(np.split(images, len(images) // 100))

    def get_next(self) -> dict[str, np.ndarray] | None:
        batch = next(self._batches, None)
        return None if batch is None else {"image": batch}


def eight_bits(model: onnx.ModelProto, images: np.ndarray, target: str) -> onnx.ModelProto:
    """Return the model quantised as QuantizeLinear and DequantizeLinear pairs, calibrated on ``images``."""
    kept = onnx.ModelProto()
    kept.CopyFrom(model)  # the tool moves the weights of what it is given into a file
    quantize_static(
        kept,
        target,
        _Seen(images),
        quant_format=QuantFormat.QDQ,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # without VNNI, x86 adds two products in 16 bits: weights of 7 bits cannot saturate it
        calibrate_method=CalibrationMethod.MinMax,
    )
    small = onnx.load(target)
    # The tool declares domains that no node is of.
    used = {node.domain for node in small.graph.node}
    told = [one for one in small.opset_import if one.domain in used]
    del small.opset_import[:]
    small.opset_import.extend(told)
    return small
