"""The one door of ONNX Runtime (ORT): how it is imported, sessions opened and run, what its failures are called."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..catalog.errors import Error, InvalidModel, OnnxRuntimeMissing, SessionError, UnknownOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

CPU: Final = "CPUExecutionProvider"

_DTYPES: Final = {"float": "float32", "double": "float64"}
_NO_FOLDER: Final = os.path.abspath(__file__)  # noqa: PTH100 - pathlib would be an import more
"""What stands for a folder with nothing in it: below a file there can be none."""
_FATAL: Final = 4


class Tensor(NamedTuple):
    """What a model says of an input or output."""

    name: str
    dtype: str
    """As numpy names it; ``string`` and ``bfloat16`` as ONNX does; what is no tensor as ORT does, ``seq(...)``."""
    shape: tuple[int | str | None, ...]
    """A name or ``None`` where an axis is dynamic. Empty for a scalar, and where the model does not say."""

    def told(self) -> str:
        """Return dtype and shape as people write them: ``float32 [batch, 3, ?]``."""
        return f"{self.dtype} [{', '.join('?' if side is None else str(side) for side in self.shape)}]"


class ListedDevice(NamedTuple):
    """An execution provider (EP) and a device that it says it supports, as ONNX Runtime lists the pair."""

    ep: str
    ep_vendor: str
    kind: str
    """``cpu``, ``gpu``, ``npu``, or whatever a later ONNX Runtime calls its own, in lower case."""
    vendor: str
    """Empty for GPUs on Linux."""
    vendor_id: str | None
    """Four hexadecimal digits in lower case, as PCI numbers vendors; ``None`` where ONNX Runtime has 0 for unknown."""
    device_id: str | None
    """As ``vendor_id``."""
    pci_bus_id: str | None
    """The device's PCI address, where ONNX Runtime tells it."""


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
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            # Its native part tells a Ctrl-C as "initialization failed".
            raise KeyboardInterrupt from error
        missing = isinstance(error, ModuleNotFoundError) and error.name == "onnxruntime"
        what = "is not installed in this environment" if missing else f"cannot be imported: {error}"
        raise OnnxRuntimeMissing(f"ONNX Runtime {what}", hints=(hint,)) from error
    if not hasattr(onnxruntime, "InferenceSession"):
        where = list(getattr(onnxruntime, "__path__", ())) or onnxruntime.__file__
        raise OnnxRuntimeMissing(
            f"{where} holds no usable ONNX Runtime, only what another one left behind",
            hints=(f"in a new environment: {hint}",),
        )
    return onnxruntime


def listed_devices() -> list[ListedDevice] | None:
    """Return each pair of an EP and a device that ONNX Runtime offers; ``None`` where it is too old to tell.

    Raises:
        OnnxRuntimeMissing: there is no usable ORT.
        SessionError: it refused.
    """
    ort = library()
    if not hasattr(ort, "get_ep_devices"):
        return None
    try:
        return [
            ListedDevice(
                each.ep_name,
                each.ep_vendor,
                each.device.type.name.lower(),
                each.device.vendor,
                _id(each.device.vendor_id),
                _id(each.device.device_id),
                each.device.metadata.get("pci_bus_id") or None,
            )
            for each in ort.get_ep_devices()
        ]
    except Exception as error:  # ORT's classes have no base of their own
        raise SessionError(f"ONNX Runtime {ort.__version__} cannot list its devices: {error}") from error


def _id(number: int) -> str | None:
    return f"{number:04x}" if number else None


class OrtSession:
    """One ORT session on the given bytes; it is gone with its last reference. Threads may run it at the same time."""

    def __init__(
        self, model: bytes, *, folder: str | None = None, ep: str = CPU, ep_options: Mapping[str, str] | None = None
    ) -> None:
        """Open ``model`` on the execution provider ``ep``.

        Args:
            model: an ONNX file.
            folder: where files are that the model keeps tensors in; without one it must keep them all itself.
            ep: the name of an execution provider that the installed ORT has.
            ep_options: what ORT passes on to it, by the names that the EP gives them.

        Raises:
            OnnxRuntimeMissing: there is no usable ORT.
            InvalidModel: the bytes are no model that this ORT can read, or name files outside ``folder``.
            UnknownOperator: the model needs an operator that this ORT does not have.
            SessionError: ORT refused, does not have ``ep``, or gave it none of the model's nodes.
        """
        self._ort = ort = library()
        self.version: str = ort.__version__
        self.offered: tuple[str, ...] = tuple(ort.get_available_providers())
        """The execution providers that the installed ORT has."""
        if ep not in self.offered:
            raise SessionError(f"ONNX Runtime {self.version} has no {ep}: it has {', '.join(self.offered)}")
        options = ort.SessionOptions()
        # What is fatal is raised as well, so that printing it would tell it twice.
        options.log_severity_level = _FATAL
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        # Without an entry, ORT looks for a model's files in the folder that the process happens to stand in.
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder or _NO_FOLDER)
        try:
            # Without enable_fallback=0 a failing EP is replaced by the CPU, in silence.
            asked = [(ep, dict(ep_options or {}))]
            self._session: Any = ort.InferenceSession(model, options, providers=asked, enable_fallback=0)
        except Exception as error:  # as above, and its arguments raise Python's
            raise _why_not_opened(ort, error, folder) from error
        self.taken: tuple[str, ...] = tuple(self._session.get_providers())
        """The execution providers of this session: the one asked for, and the CPU, which ORT always adds."""
        if self.taken[0] != ep:
            raise SessionError(f"ONNX Runtime took {', '.join(self.taken)} where {ep} was asked for")
        if ep != CPU and (others := self.nodes()) and ep not in others:
            raise SessionError(
                f"ONNX Runtime gave {ep} none of the model's {sum(others.values())} nodes: {', '.join(others)} has them"
            )
        self.inputs: tuple[Tensor, ...] = tuple(_tensor(told) for told in self._session.get_inputs())
        self.outputs: tuple[Tensor, ...] = tuple(_tensor(told) for told in self._session.get_outputs())

    def run(self, names: Sequence[str], inputs: Mapping[str, np.ndarray[Any, Any]]) -> list[Any]:
        """Return the outputs ``names`` for ``inputs``; raise ``SessionError`` with ORT's words where it refuses."""
        try:
            result: list[Any] = self._session.run(names, inputs)
        except Exception as error:  # as above
            raise SessionError(f"ONNX Runtime {self.version} cannot run the model: {error}") from error
        return result

    def nodes(self) -> dict[str, int]:
        """Return how many of the model's nodes each EP was given, by ORT's own record, most first."""
        counts: dict[str, int] = {}
        for part in self._session.get_provider_graph_assignment_info():
            counts[part.ep_name] = counts.get(part.ep_name, 0) + len(part.get_nodes())
        return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def _tensor(told: Any) -> Tensor:  # noqa: ANN401 - as above
    word: str = told.type
    if word.startswith("tensor("):
        word = word[len("tensor(") : -1]
        word = _DTYPES.get(word) or word
    return Tensor(told.name, word, tuple(told.shape))


def _why_not_opened(ort: Any, error: Exception, folder: str | None) -> Error:  # noqa: ANN401 - as above
    """Return what ORT raised in our words: it tells many refusals apart by their text alone."""
    state, words, who = ort.capi.onnxruntime_pybind11_state, str(error), f"ONNX Runtime {ort.__version__}"
    if named := re.search(r"No Op registered for (\S+)|Fatal error: (\S+?)\(-?\d+\) is not a registered", words):
        return UnknownOperator(
            f"{who} has no operator {named[1] or named[2]}: {words}",
            hints=("try a newer ONNX Runtime, or export the model with standard operators",),
        )
    if isinstance(error, state.NotImplemented):
        return UnknownOperator(f"{who} has no kernel for an operator of the model: {words}")
    if "xternal data" in words:
        where = f"may only lie in {folder}" if folder else "are not taken for this model"
        return InvalidModel(f"the model keeps tensors in other files, which {where}: {words}")
    unread = isinstance(error, state.InvalidProtobuf | state.InvalidGraph)
    if unread or "Invalid model" in words or "No graph was found" in words:
        return InvalidModel(f"{who} cannot read the model: {words}", hints=("is the file whole, and an ONNX model?",))
    return SessionError(f"{who} cannot open the model: {words}")
