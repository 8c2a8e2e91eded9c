"""A session: one verified model, opened; its inputs are named, its runs go where it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalog.errors import Closed, InvalidInput
from .ort import CPU, OrtSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from .ort import Tensor


class Report(NamedTuple):
    """What ran where."""

    model: str
    """Name, version and variant."""
    onnxruntime: str
    """The version of ONNX Runtime."""
    device: str
    ep: str
    nodes: dict[str, int]
    """How many of the model's nodes each EP was given, by ONNX Runtime's own record."""


class Session:
    """A model opened on the CPU."""

    device = "cpu"

    def __init__(self, model: bytes, *, name: str) -> None:
        """Open the ONNX file in ``model``, verified by the caller; ``name`` is what errors and reports call it.

        Raises:
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: the bytes are no model that it can read.
            SessionError: it refused.
        """
        self._name = name
        self._ort: OrtSession | None = OrtSession(model, ep=CPU)
        self.inputs: tuple[Tensor, ...] = self._ort.inputs
        self.outputs: tuple[Tensor, ...] = self._ort.outputs

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> dict[str, np.ndarray[Any, Any]]:
        """Return every output by its name.

        Raises:
            InvalidInput: an input is missing, or the model has none of that name.
            SessionError: ONNX Runtime refused.
            Closed: the session is closed.
        """
        ort = self._open()
        self.check_names(inputs)
        names = [told.name for told in self.outputs]
        return dict(zip(names, ort.run(names, inputs), strict=True))

    def check_names(self, inputs: Mapping[str, object]) -> None:
        """Raise ``InvalidInput`` where an input is missing, or the model has none of that name."""
        known = [told.name for told in self.inputs]
        listed = ", ".join(f"`{name}`" for name in known)
        for name in inputs:
            if name not in known:
                raise InvalidInput(f"{self._name} has no input `{name}`", hints=(f"its inputs are {listed}",))
        for name in known:
            if name not in inputs:
                raise InvalidInput(f"{self._name} needs its input `{name}`", hints=(f"its inputs are {listed}",))

    def report(self) -> Report:
        """Return what runs where; raise ``Closed`` once the session is closed."""
        ort = self._open()
        return Report(self._name, ort.version, self.device, ort.ep, ort.nodes())

    def close(self) -> None:
        """Let go of the model; closing twice does nothing."""
        self._ort = None

    def _open(self) -> OrtSession:
        if self._ort is None:
            raise Closed(f"{self._name} is closed", hints=("load it again",))
        return self._ort
