"""A model that is loaded: what ``inferry.load`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from ..catalog.errors import InvalidManifest
from .inputs import to_tensor
from .outputs import Outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from ..catalog.values.model import Input, Output, Release, Shape
    from ..index.client.found import Found
    from .ort import Tensor
    from .plan import Plan
    from .session import Fallback, Report, Session


class Samples(Mapping[str, bytes]):
    """The release's sample for each input that has one, read when it is asked for."""

    def __init__(self, found: Found) -> None:
        """Read from where the model's files are."""
        told = found.release.inputs if found.release else ()
        self._artifacts = {each.name: each.sample for each in told if each.sample}
        self._found = found

    def __getitem__(self, name: str) -> bytes:
        return self._found.read(self._artifacts[name])

    def __contains__(self, name: object) -> bool:
        return name in self._artifacts  # the mixin's would read it

    def __iter__(self) -> Iterator[str]:
        return iter(self._artifacts)

    def __len__(self) -> int:
        return len(self._artifacts)


class Opening(NamedTuple):
    """How a model came to be open."""

    resolve_s: float = 0.0
    fetch_s: float = 0.0
    open_s: float = 0.0
    fetched_bytes: int = 0
    fallback: tuple[Fallback, ...] = ()
    """What of its plan was tried before."""
    changed: tuple[str, ...] = ()
    """What made the plan of an earlier load void, in words."""


class Model:
    """A model, opened; also a context manager that closes it."""

    def __init__(
        self,
        release: Release | None,
        session: Session,
        samples: Mapping[str, bytes],
        plan: Callable[[], Plan] | None = None,
        opening: Opening | None = None,
    ) -> None:
        """Put the release's pipelines around a session; raise ``InvalidManifest`` where they are for another model.

        ``samples`` holds the bytes of the release's sample for each input that has one. A file that no manifest names
        has no ``release``; ``plan`` makes what the session was opened by.
        """
        self.release = release
        self.samples = samples
        self.opening: Opening = opening or Opening()
        self.held: ExitStack = ExitStack()
        """What is let go when the model is closed."""
        self._session = session
        self._plan = plan
        self._inputs: dict[str, Input] = {}
        self._outputs: tuple[Output, ...] = ()
        if release:
            _check(release, session)
            self._inputs = {told.name: told for told in release.inputs}
            self._outputs = release.outputs

    @cached_property
    def plan(self) -> Plan | None:
        """What was chosen for it, and why; of a plan that was recalled, chosen again to tell it."""
        return self._plan() if self._plan else None

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Each input's name, dtype and shape."""
        return self._session.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Each output's name, dtype and shape."""
        return self._session.outputs

    @property
    def device(self) -> str:
        """The device that it runs on."""
        return self._session.device

    def run(self, inputs: Mapping[str, Any]) -> Outputs:
        """Run once and return every output by its name.

        A value is an array of the input's dtype and shape, or Python's lists, numbers and texts that the dtype can
        hold; or, where the release declares how a picture becomes that input, a path, the bytes of a picture file, a
        Pillow image, or uint8 pixels, (height, width[, channels]). Threads may run at the same time.

        Raises:
            InvalidInput: an input is missing or unknown, or its value cannot be taken.
            LibraryMissing: a picture is given, and Pillow is not installed.
            SessionError: ONNX Runtime refused.
            Closed: the model is closed.
        """
        self._session.check_names(inputs)
        tensors = {told.name: to_tensor(inputs[told.name], told, self._inputs.get(told.name)) for told in self.inputs}
        return Outputs(self._session.run(tensors), self._outputs)

    async def run_async(self, inputs: Mapping[str, Any]) -> Outputs:
        """``run`` in a thread; a caller that is cancelled does not stop what ONNX Runtime has begun."""
        import asyncio

        return await asyncio.to_thread(self.run, inputs)

    def report(self) -> Report:
        """Return what runs where; raise ``Closed`` once the model is closed."""
        return self._session.report()._replace(fallback=self.opening.fallback)

    def close(self) -> None:
        """Let go of the session; closing twice does nothing."""
        self._session.close()
        self.held.close()

    def __repr__(self) -> str:
        return f"<Model {self._session.name} on {self.device}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(release: Release, session: Session) -> None:
    """Refuse a manifest that does not tell the inputs and outputs that the model has."""
    pairs: tuple[tuple[str, Sequence[Input | Output], tuple[Tensor, ...]], ...] = (
        ("inputs", release.inputs, session.inputs),
        ("outputs", release.outputs, session.outputs),
    )
    for kind, declared, real in pairs:
        tensors = {tensor.name: tensor for tensor in real}
        for place, told in enumerate(declared):
            tensor = tensors.pop(told.name, None)
            if tensor is None:
                _refuse(release, f"{kind}[{place}].name", f"the model has no `{told.name}`")
            elif told.dtype != tensor.dtype:
                _refuse(release, f"{kind}[{place}].dtype", f"{told.dtype} where the model has {tensor.dtype}")
            elif not _agree(told.shape, tensor.shape):
                _refuse(release, f"{kind}[{place}].shape", f"{list(told.shape)} where the model has {tensor.told()}")
        if tensors:
            _refuse(release, kind, f"`{next(iter(tensors))}` of the model is not told")


def _agree(told: Shape, real: tuple[int | str | None, ...]) -> bool:
    """Return whether both have the same axes: those that are free in either may be anything in the other."""
    fixed = zip(told, real, strict=False)
    return len(told) == len(real) and all(a == b for a, b in fixed if isinstance(a, int) and isinstance(b, int))


def _refuse(release: Release, field: str, words: str) -> NoReturn:
    raise InvalidManifest(f"{release.name}: {field}: {words}", field=field)
