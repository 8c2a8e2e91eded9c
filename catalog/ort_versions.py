"""Which ONNX Runtime (ORT) opens a model, by the version of its form and of the operator sets that it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .values.graph import Graph


class Release(NamedTuple):
    """The newest that an ORT release takes."""

    minor: int
    """Of ORT 1."""
    ir_version: int
    opset: int
    """Of ``ai.onnx``."""
    ml: int
    """Of ``ai.onnx.ml``."""


RELEASES: Final = (
    Release(0, 6, 11, 2),
    Release(3, 7, 12, 2),
    Release(6, 7, 13, 2),
    Release(8, 7, 14, 2),
    Release(9, 8, 15, 2),
    Release(11, 8, 16, 2),
    Release(12, 8, 17, 3),
    Release(14, 8, 18, 3),
    Release(15, 9, 19, 3),
    Release(17, 9, 20, 4),
    Release(18, 10, 21, 5),
    Release(21, 10, 22, 5),
    Release(23, 11, 23, 5),
    Release(24, 13, 25, 5),
    Release(25, 13, 26, 5),
)
"""The releases that took something newer than the one before.

Up to 1.14 as ORT publishes it (onnxruntime.ai, Reference, Compatibility, ONNX opset support). From 1.15 on as measured,
with the last patch of each release up to 1.31: that page says less of 1.15 (IR 8) and of 1.18 to 1.20 (ai.onnx.ml 4),
and ends at 1.20.
"""
NEWEST: Final = 31
"""The newest minor release of ORT 1 that this table knows."""


def ort_range(graph: Graph) -> str:
    """Return the ORT releases that take the model's form and operator sets, as a specifier of PEP 440: ``>=1.12``.

    ORT refuses whatever is newer than it knows, also where no operator needs it, so that each range has a floor; it
    keeps what it once took, so that none has a ceiling. What is older than ORT 1.0 has the floor 1.0. For what no known
    release takes, the floor is the one after the newest known: older ones refuse it for certain, more is not known.

    Other domains, such as ``com.microsoft``, are not judged: ORT numbers them 1 for ever, and adds operators as it
    grows. Neither are operators of ``ai.onnx`` below opset 7, of which ORT has some and lacks others.
    """
    for release in RELEASES:
        newest = {"": release.opset, "ai.onnx.ml": release.ml}
        if graph.ir_version <= release.ir_version and all(
            version <= newest.get(domain, version) for domain, version in graph.opsets.items()
        ):
            return f">=1.{release.minor}"
    return f">=1.{NEWEST + 1}"
