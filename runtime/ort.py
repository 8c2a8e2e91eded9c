"""The one door of ONNX Runtime (ORT): how it is imported, sessions opened and run, what its failures are called."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalog.errors import InvalidModel, OnnxRuntimeMissing, SessionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np

CPU = "CPUExecutionProvider"


class Tensor(NamedTuple):
    """What a model says of an input or output."""

    name: str
    dtype: str
    """ORT's word for it, such as ``tensor(float)``."""
    shape: tuple[int | str | None, ...]
    """A name or ``None`` where an axis is dynamic."""


def library() -> Any:  # noqa: ANN401 - the module has no types
    """Return the module ``onnxruntime``, imported with its telemetry off unless the user turned it on.

    Raises:
        OnnxRuntimeMissing: there is none, or what is there cannot be used.
    """
    # Importing it opens a telemetry store, unless this is set before (seen in 1.31.1).
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    hint = 'pip install "inferry[cpu]"'
    try:
        import onnxruntime
    except ImportError as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime"
        what = "is not installed in this environment" if missing else f"cannot be imported: {error}"
        raise OnnxRuntimeMissing(f"ONNX Runtime {what}", hints=(hint,)) from error
    if not hasattr(onnxruntime, "InferenceSession"):
        raise OnnxRuntimeMissing(
            f"{list(onnxruntime.__path__)} holds no usable ONNX Runtime, only what another one left behind",
            hints=(f"in a new environment: {hint}",),
        )
    return onnxruntime


class OrtSession:
    """One ORT session on the given bytes; it is gone with its last reference."""

    def __init__(self, model: bytes, *, ep: str = CPU) -> None:
        """Open ``model`` on the execution provider ``ep``.

        Raises:
            OnnxRuntimeMissing: there is no usable ORT.
            InvalidModel: the bytes are no model that this ORT can read.
            SessionError: ORT refused, or does not have ``ep``.
        """
        ort = library()
        if ep not in ort.get_available_providers():
            raise SessionError(f"ONNX Runtime {ort.__version__} has no {ep}: it has {ort.get_available_providers()}")
        options = ort.SessionOptions()
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        with _translated(ort, "open the model"):
            # Without enable_fallback=0 a failing EP is replaced by the CPU, in silence.
            self._session: Any = ort.InferenceSession(model, options, providers=[ep], enable_fallback=0)
        if (taken := self._session.get_providers())[0] != ep:
            raise SessionError(f"ONNX Runtime took {taken} where {ep} was asked for")
        self._ort = ort
        self.ep = ep
        self.version: str = ort.__version__
        self.inputs = tuple(Tensor(told.name, told.type, tuple(told.shape)) for told in self._session.get_inputs())
        self.outputs = tuple(Tensor(told.name, told.type, tuple(told.shape)) for told in self._session.get_outputs())

    def run(self, names: Sequence[str], inputs: Mapping[str, np.ndarray[Any, Any]]) -> list[Any]:
        """Return the outputs ``names`` for ``inputs``; raise ``SessionError`` with ORT's words where it refuses."""
        with _translated(self._ort, "run the model"):
            result: list[Any] = self._session.run(list(names), dict(inputs))
        return result

    def nodes(self) -> dict[str, int]:
        """Return how many of the model's nodes each EP was given, by ORT's own record, most first."""
        counts: dict[str, int] = {}
        for part in self._session.get_provider_graph_assignment_info():
            counts[part.ep_name] = counts.get(part.ep_name, 0) + len(part.get_nodes())
        return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


@contextmanager
def _translated(ort: Any, doing: str) -> Iterator[None]:  # noqa: ANN401 - as above
    """Turn what ORT raises into errors of our own."""
    state = ort.capi.onnxruntime_pybind11_state
    try:
        yield
    except (state.InvalidProtobuf, state.InvalidGraph) as error:
        raise InvalidModel(f"ONNX Runtime {ort.__version__} cannot {doing}: {error}") from error
    except Exception as error:  # ORT's classes have no base of their own, and its arguments raise Python's
        raise SessionError(f"ONNX Runtime {ort.__version__} cannot {doing}: {error}") from error
