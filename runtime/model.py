"""A model that is loaded: what ``inferry.load`` returns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from ..catalog.errors import InvalidManifest
from .inputs import to_tensor
from .outputs import Outputs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ..catalog.values.model import Release
    from .ort import Tensor
    from .session import Report, Session


class Model:
    """One release of a model, opened; also a context manager that closes it."""

    def __init__(self, release: Release, session: Session, samples: Mapping[str, bytes]) -> None:
        """Put the release's pipelines around a session; raise ``InvalidManifest`` where they are for another model.

        ``samples`` holds the bytes of the release's sample for each input that has one.
        """
        self.release = release
        self.samples = dict(samples)
        self._session = session
        self._declared = {told.name: told for told in release.inputs}
        _check(release, session)

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
        tensors = {told.name: to_tensor(inputs[told.name], told, self._declared.get(told.name)) for told in self.inputs}
        return Outputs(self._session.run(tensors), self.release.outputs)

    async def run_async(self, inputs: Mapping[str, Any]) -> Outputs:
        """``run`` in a thread; a caller that is cancelled does not stop what ONNX Runtime has begun."""
        return await asyncio.to_thread(self.run, inputs)

    def report(self) -> Report:
        """Return what runs where; raise ``Closed`` once the model is closed."""
        return self._session.report()

    def close(self) -> None:
        """Let go of the session; closing twice does nothing."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(release: Release, session: Session) -> None:
    """Refuse what a manifest says of inputs and outputs that the model does not have."""
    for kind, declared, real in (
        ("inputs", [told.name for told in release.inputs], session.inputs),
        ("outputs", [told.name for told in release.outputs], session.outputs),
    ):
        names = [tensor.name for tensor in real]
        for place, name in enumerate(declared):
            if name not in names:
                field = f"{kind}[{place}].name"
                raise InvalidManifest(f"{release.name}: {field}: the model has no `{name}`, only {names}", field=field)
    shapes = {tensor.name: tensor.shape for tensor in session.outputs}
    for place, output in enumerate(release.outputs):
        last = shapes[output.name][-1:]
        if output.labels and last and last[0] != len(output.labels):
            field = f"outputs[{place}].labels"
            raise InvalidManifest(
                f"{release.name}: {field}: {len(output.labels)} labels for an axis of {last[0]}", field=field
            )
