"""The client: the Python face, the verbs in their order."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..catalog.errors import ModelNotFound
from ..catalog.values.names import ModelName
from ..index.client.source import FolderSource
from .model import Model
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .outputs import Outputs


class Client:
    """Looks models up in the built-in index, verifies what it reads, and opens it; nothing global stands behind it."""

    def __init__(self) -> None:
        """Look up in the index that is part of the program."""
        self._source = FolderSource()

    def load(self, name: str) -> Model:
        """Find, verify and open a model.

        Args:
            name: ``namespace/name``.

        Raises:
            InvalidName: ``name`` is no model's name.
            ModelNotFound: no source knows it.
            InvalidManifest: its manifest is wrong.
            VerificationError: its bytes are not those that the manifest names.
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: ONNX Runtime cannot read it.
            SessionError: ONNX Runtime refused to open it.
        """
        wanted = ModelName.parse(name)
        release = self._source.release(wanted)
        if release is None:
            near = get_close_matches(wanted, self._source.names(), n=3)
            raise ModelNotFound(
                f"no source knows the model `{wanted}`", hints=[f"did you mean {match}?" for match in near]
            )
        variant = release.variants[0]
        session = Session(
            self._source.read(wanted, variant.artifact),
            name=f"{release.name} {release.version} {variant.name}",
        )
        samples = {told.name: self._source.read(wanted, told.sample) for told in release.inputs if told.sample}
        return Model(release, session, samples)

    def run(self, name: str, inputs: Mapping[str, Any]) -> Outputs:
        """Load a model, run it once and close it; raises what ``load`` and ``Model.run`` raise."""
        with self.load(name) as model:
            return model.run(inputs)


def load(name: str) -> Model:
    """``Client().load``."""
    return Client().load(name)


def run(name: str, inputs: Mapping[str, Any]) -> Outputs:
    """``Client().run``."""
    return Client().run(name, inputs)
