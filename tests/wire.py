"""Protocol Buffers' bytes, written by hand: what no library would write."""

from __future__ import annotations

from onnx import TensorProto, helper


def varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def imports(domain: str = "", version: int = 17) -> bytes:
    """Return ``ModelProto.opset_import``."""
    return field(8, field(1, domain.encode()) + field(2, version))


HEAD = field(1, 8) + imports()
"""IR 8 and opset 17."""
TENSOR = helper.make_tensor_value_info("", TensorProto.FLOAT, [2])
CONDITION = helper.make_tensor_value_info("c", TensorProto.BOOL, [])


def info(name: str) -> bytes:
    return field(1, name.encode()) + field(2, TENSOR.type.SerializeToString())


def nested(depth: int) -> bytes:
    """Return a model of that many graphs within each other, which runs: ``If`` around ``Abs``."""
    leaf = field(1, field(1, b"x") + field(2, b"y") + field(4, b"Abs")) + field(2, b"leaf") + field(12, info("y"))
    graph = leaf
    for _ in range(depth - 1):
        branches = [
            field(5, field(1, name) + field(6, within) + field(20, 5))
            for name, within in ((b"then_branch", graph), (b"else_branch", leaf))
        ]
        node = field(1, b"c") + field(2, b"y") + field(4, b"If") + b"".join(branches)
        graph = field(1, node) + field(2, b"graph") + field(12, info("y"))
    given = field(11, info("x")) + field(11, CONDITION.SerializeToString())
    return HEAD + field(7, graph + given)
