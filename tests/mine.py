"""Files of a publisher that no manifest tells of, or one of six lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto, helper

from inferry.index.composing.compose import Flags
from inferry.tests.models import add, model, saved

if TYPE_CHECKING:
    from pathlib import Path

MINE = Flags("acme/add", "1.0.0", "MIT")
SIX = """name = "acme/add"
version = "1.0.0"
license = "MIT"
summary = "Adds"
task = "arithmetic"
variants = [{ artifact = { path = "add.onnx", redistribution = "allowed" } }]
"""


def weighted(element: int, *, shape: tuple[str | int | None, ...] = ("n", 8)) -> bytes:
    """Return a model that takes and returns floats, and holds 64 weights of that dtype."""
    sizes: dict[int, int] = {TensorProto.FLOAT: 32, TensorProto.FLOAT16: 16, TensorProto.INT8: 8}
    weight = helper.make_tensor("w", element, [64], bytes(8 * sizes[element]), raw=True)
    told = TensorProto.FLOAT, shape
    node = helper.make_node("Identity", ["x"], ["y"])
    return saved(model(node, inputs={"x": told}, outputs={"y": told}, weights=[weight]))


FLOAT, HALF, BYTE = (weighted(each) for each in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8))


def folder(root: Path, **files: bytes) -> Path:
    """Write files; ``_`` in a name becomes a point."""
    root.mkdir(exist_ok=True)
    for name, data in files.items():
        (root / name.replace("_", ".")).write_bytes(data)
    return root


def six(root: Path, text: str = SIX) -> Path:
    return folder(root, add_onnx=add(), manifest_toml=text.encode())
