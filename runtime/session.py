"""A session: one verified model, opened; its inputs are checked, its runs go where it says."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..catalog.errors import Closed, InvalidInput
from .arrays import is_array
from .ort import CPU, OrtSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..catalog.values.model import Variant
    from ..index.client.found import Found

from .ort import Tensor

_NUMPY: Final = frozenset(
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
    ]
)
"""The dtypes that numpy and ONNX both have."""
_TEXT: Final = np.dtype(object)


class Fallback(NamedTuple):
    """What was planned before, and did not come to run."""

    planned: str
    """The variant, the EP and the device."""
    reason: str


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
    unused: tuple[str, ...]
    """The EPs that the installed ONNX Runtime has and that this session does not use."""
    fallback: tuple[Fallback, ...] = ()
    """What was tried before, in the plan's order."""


class Place(NamedTuple):
    """Where a model is to run."""

    ep: str = CPU
    """An EP that the installed ONNX Runtime has."""
    device: str = "cpu"
    """What reports call the device."""
    options: Mapping[str, str] | None = None
    """What the EP is told, by its own names."""


class Session:
    """A model opened on one execution provider (EP). Threads may run it at the same time."""

    def __init__(self, model: bytes, *, name: str, folder: str | None = None, place: Place | None = None) -> None:
        """Open the ONNX file in ``model``, verified by the caller.

        Args:
            model: the file's bytes.
            name: what errors and reports call it.
            folder: where files are that the model keeps tensors in; without one it must keep them all itself.
            place: where to open it; without one, on the CPU.

        Raises:
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: the bytes are no model that it can read, or name files outside ``folder``.
            UnknownOperator: the model needs an operator that it does not have.
            SessionError: it refused.
        """
        place = place or Place()
        self.name = name
        self.device: str = place.device
        self._ort: OrtSession | None = OrtSession(model, folder=folder, ep=place.ep, ep_options=place.options)
        self.inputs: tuple[Tensor, ...] = self._ort.inputs
        self.outputs: tuple[Tensor, ...] = self._ort.outputs
        self._wanted = {told.name: (_dtype(told.dtype), _sides(told.shape)) for told in self.inputs}
        self._returned = [told.name for told in self.outputs]

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Return every output by its name.

        Raises:
            InvalidInput: an input is missing or unknown, or has another dtype or shape than the model takes.
            SessionError: ONNX Runtime refused.
            Closed: the session is closed.
        """
        ort = self._open()
        self._check(inputs)
        return dict(zip(self._returned, ort.run(self._returned, inputs), strict=True))

    def check_names(self, inputs: Mapping[str, object]) -> None:
        """Raise ``InvalidInput`` where an input is missing, or the model has none of that name."""
        listed = ", ".join(f"`{name}`" for name in self._wanted)
        for name in inputs:
            if name not in self._wanted:
                raise InvalidInput(f"{self.name} has no input `{name}`", hints=(f"its inputs are {listed}",))
        for name in self._wanted:
            if name not in inputs:
                raise InvalidInput(f"{self.name} needs its input `{name}`", hints=(f"its inputs are {listed}",))

    def report(self) -> Report:
        """Return what runs where; raise ``Closed`` once the session is closed."""
        ort = self._open()
        unused = tuple(ep for ep in ort.offered if ep not in ort.taken)
        return Report(self.name, ort.version, self.device, ort.taken[0], ort.nodes(), unused)

    def close(self) -> None:
        """Let go of the model; runs that have begun end as they would; closing twice does nothing."""
        self._ort = None

    def _open(self) -> OrtSession:
        if self._ort is None:
            raise Closed(f"{self.name} is closed", hints=("load it again",))
        return self._ort

    def _check(self, inputs: Mapping[str, Any]) -> None:
        if inputs.keys() != self._wanted.keys():
            self.check_names(inputs)
        for name, (dtype, sides) in self._wanted.items():
            array = inputs[name]
            if dtype is None:
                continue
            if not is_array(array):
                raise InvalidInput(f"{self._told(name)}, got {type(array).__name__}", hints=("give a numpy array",))
            if not (_is_text(array) if dtype is _TEXT else array.dtype == dtype):
                raise InvalidInput(f"{self._told(name)}, got {array.dtype}", hints=_convert(array, dtype))
            shape = array.shape
            # Of an input without axes ONNX Runtime says the same as of one whose axes the model does not tell.
            if sides and (len(shape) != len(sides) or any(map(_differ, sides, shape))):
                raise InvalidInput(f"{self._told(name)}, got shape {list(shape)}")

    def _told(self, name: str) -> str:
        told = next(each for each in self.inputs if each.name == name)
        return f"{self.name}: input `{name}` takes {told.told()}"


def _dtype(word: str) -> np.dtype[Any] | None:
    """Return numpy's dtype, or ``None`` where numpy has none and ONNX Runtime itself must judge."""
    if word == "string":
        return _TEXT
    return np.dtype(word) if word in _NUMPY else None


def _sides(shape: tuple[int | str | None, ...]) -> tuple[int, ...]:
    """Return the length that each axis must have, -1 for any."""
    return tuple(side if isinstance(side, int) else -1 for side in shape)


def _differ(side: int, have: int) -> bool:
    return side not in {-1, have}


def _is_text(array: NDArray[Any]) -> bool:
    return array.dtype.kind == "U" or (array.dtype == object and all(isinstance(each, str) for each in array.flat))


def _convert(array: NDArray[Any], dtype: np.dtype[Any]) -> tuple[str, ...]:
    return () if dtype is _TEXT or array.dtype.kind not in "biuf" else (f'convert it: array.astype("{dtype}")',)


def open_release(found: Found, variant: Variant, place: Place) -> tuple[Session, ExitStack]:
    """Open a variant of a release, and return it with what keeps its files from being collected until it is closed.

    Raises what ``Found.read`` and ``Session`` raise.
    """
    assert found.release  # noqa: S101 - a file that no manifest names is no variant
    name = f"{found.release.name} {found.release.version} {variant.name}"
    with ExitStack() as held:
        if found.store:
            from ..index.leases import lease

            digests = [each.digest for each in found.release.files(variant)]
            held.enter_context(lease(found.store, digests, f"load {found}"))
        session = Session(found.read(variant.artifact), name=name, folder=found.beside(variant), place=place)
        return session, held.pop_all()
