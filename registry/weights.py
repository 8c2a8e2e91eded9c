"""Weights: which precision a model is of, and how many parameters it has, by the tensors that it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..catalog.values.model import Precision


class Dtype(NamedTuple):
    """An element type of ONNX."""

    name: str
    """As numpy names it; what numpy does not have as ONNX does, in lower case."""
    bits: int
    """Of each element; 0 where they differ."""
    precision: Precision | None
    """Of weights that are of it; ``None``: it holds places, lengths and texts, no weights."""


DTYPES: Final[Mapping[str, Dtype]] = {
    "FLOAT": Dtype("float32", 32, "fp32"),
    "DOUBLE": Dtype("float64", 64, "fp32"),
    "FLOAT16": Dtype("float16", 16, "fp16"),
    "BFLOAT16": Dtype("bfloat16", 16, "bf16"),
    "INT8": Dtype("int8", 8, "int8"),
    "UINT8": Dtype("uint8", 8, "int8"),
    "INT4": Dtype("int4", 4, "int4"),
    "UINT4": Dtype("uint4", 4, "int4"),
    "INT2": Dtype("int2", 2, "mixed"),
    "UINT2": Dtype("uint2", 2, "mixed"),
    "FLOAT4E2M1": Dtype("float4e2m1", 4, "mixed"),
    "FLOAT6E2M3": Dtype("float6e2m3", 6, "mixed"),
    "FLOAT6E3M2": Dtype("float6e3m2", 6, "mixed"),
    "FLOAT8E4M3FN": Dtype("float8e4m3fn", 8, "mixed"),
    "FLOAT8E4M3FNUZ": Dtype("float8e4m3fnuz", 8, "mixed"),
    "FLOAT8E5M2": Dtype("float8e5m2", 8, "mixed"),
    "FLOAT8E5M2FNUZ": Dtype("float8e5m2fnuz", 8, "mixed"),
    "FLOAT8E8M0": Dtype("float8e8m0", 8, "mixed"),
    "INT16": Dtype("int16", 16, "mixed"),
    "UINT16": Dtype("uint16", 16, "mixed"),
    "COMPLEX64": Dtype("complex64", 64, "mixed"),
    "COMPLEX128": Dtype("complex128", 128, "mixed"),
    "INT32": Dtype("int32", 32, None),
    "UINT32": Dtype("uint32", 32, None),
    "INT64": Dtype("int64", 64, None),
    "UINT64": Dtype("uint64", 64, None),
    "BOOL": Dtype("bool", 8, None),
    "STRING": Dtype("string", 0, None),
}
"""By their names in ``TensorProto.DataType``."""

SCALES: Final[Mapping[str, tuple[int, ...]]] = {
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "ConvInteger": (2, 3),
    "MatMulInteger": (2, 3),
    "QLinearConv": (1, 2, 4, 5, 6, 7),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "QLinearAdd": (1, 2, 4, 5, 6, 7),
    "QLinearMul": (1, 2, 4, 5, 6, 7),
    "QGemm": (1, 2, 4, 5, 7, 8),
    "DynamicQuantizeMatMul": (2, 3),
    "MatMulIntegerToFloat": (2, 3, 4, 5),
    "MatMulNBits": (2, 3, 4),
    "MatMulBnb4": (2,),
    "GatherBlockQuantized": (2, 3),
}
"""Which inputs of an operator say how weights are written, and are none themselves: scales and zero points."""
PACKED: Final[Mapping[str, tuple[int, str]]] = {
    "MatMulNBits": (1, "bits"),
    "MatMulBnb4": (1, ""),
    "GatherBlockQuantized": (0, "bits"),
}
"""Operators whose weights lie packed in bytes: which input, and the attribute with the bits of each, 4 without it."""
PACKED_BITS: Final = 4
_BY_BITS: Final[Mapping[int, Precision]] = {4: "int4", 8: "int8"}
_BYTE: Final = 8
_NEARLY_ALL: Final = (3, 4)


class Weight(NamedTuple):
    """A tensor that a model holds."""

    dtype: Dtype
    elements: int
    scale: bool = False
    """Whether it says how others are written."""
    packed_bits: int | None = None
    """Where its bytes are several weights each: the bits of one."""

    @property
    def size_bytes(self) -> int:
        """Of its elements; those of texts are not known."""
        return -(-self.elements * self.dtype.bits // _BYTE)


class Weighed(NamedTuple):
    """What the tensors of a model come to."""

    by_precision: Mapping[Precision, int]
    """The bytes of its weights."""
    parameters: int
    size_bytes: int
    """Of all tensors, scales and lengths too."""

    @property
    def precision(self) -> Precision | None:
        """That of three quarters of the bytes of weights or more; else ``mixed``; ``None`` without weights."""
        total = sum(self.by_precision.values())
        if not total:
            return None
        most = max(self.by_precision, key=self.by_precision.__getitem__)
        share, of = _NEARLY_ALL
        return most if self.by_precision[most] * of >= total * share else "mixed"


def weigh(held: Iterable[Weight]) -> Weighed:
    """Return what tensors come to.

    Weights are those of a floating type, or of whole numbers of 16 bits or fewer, but for scales and zero points:
    so a model has nearly as many in each precision. Biases of quantised operators, int32, are not counted.
    """
    by_precision: dict[Precision, int] = {}
    parameters = size = 0
    for each in held:
        size += each.size_bytes
        if each.scale or each.dtype.precision is None:
            continue
        precision: Precision = each.dtype.precision
        elements = each.elements
        if each.packed_bits and each.dtype.bits == _BYTE:
            precision = _BY_BITS.get(each.packed_bits, "mixed")
            elements = elements * _BYTE // each.packed_bits
        by_precision[precision] = by_precision.get(precision, 0) + each.size_bytes
        parameters += elements
    return Weighed(by_precision, parameters, size)
