"""The client: the Python face, the verbs in their order."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..catalog.errors import ModelNotFound
from ..catalog.values.names import ModelName, is_path
from ..index.client.source import FolderSource, Found, find_path
from .describe import Description, of_release
from .model import Model
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .outputs import Outputs


class Client:
    """Finds models by name in the built-in index, or by path; nothing global stands behind it."""

    def __init__(self) -> None:
        """Look names up in the index that is part of the program."""
        self._source = FolderSource()

    def find(self, name: str | os.PathLike[str]) -> Found:
        """Find a model, without opening it; raises what ``load`` does of names, paths and manifests."""
        if not isinstance(name, str) or is_path(name):
            return find_path(os.fspath(name))
        wanted = ModelName.parse(name)
        found = self._source.find(wanted)
        if found is None:
            near = get_close_matches(wanted, self._source.names(), n=3)
            raise ModelNotFound(
                f"no source knows the model `{wanted}`", hints=[f"did you mean {match}?" for match in near]
            )
        return found

    def describe(self, name: str | os.PathLike[str]) -> Description:
        """Tell what a model is; a file that no manifest names is opened for it. Raises what ``load`` raises."""
        found = self.find(name)
        if found.release:
            return of_release(os.fspath(name), found.release)
        with self.load(name) as model:
            return Description(os.fspath(name), model.inputs, model.outputs, found.size_bytes)

    def load(self, name: str | os.PathLike[str], *, precision: str | None = None) -> Model:
        """Find, verify and open a model.

        Args:
            name: ``namespace/name``; or the path of an ONNX file, or of a folder that holds a manifest or exactly one
                ONNX file. A text is a path where it starts with ``.``, a slash, a backslash, ``~`` or a drive letter,
                or ends in ``.onnx``. A file without a manifest may keep tensors in other files of its folder.
            precision: the variant to take, such as ``int8``; without one the release's first.

        Raises:
            InvalidName: ``name`` is no model's name.
            ModelNotFound: no source knows it, or nothing is there.
            NothingFits: there is no variant of this ``precision``.
            InvalidManifest: its manifest is wrong.
            VerificationError: its bytes are not those that the manifest names.
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: ONNX Runtime cannot read it.
            SessionError: ONNX Runtime refused to open it.
            MachineError: a file cannot be read.
        """
        found = self.find(name)
        chosen = found.choose(precision)
        session = Session(chosen.data, name=chosen.name, folder=chosen.folder)
        told = found.release.inputs if found.release else ()
        return Model(found.release, session, {each.name: found.read(each.sample) for each in told if each.sample})

    def run(self, name: str | os.PathLike[str], inputs: Mapping[str, Any], *, precision: str | None = None) -> Outputs:
        """Load a model, run it once and close it; raises what ``load`` and ``Model.run`` raise."""
        with self.load(name, precision=precision) as model:
            return model.run(inputs)


def load(name: str | os.PathLike[str], *, precision: str | None = None) -> Model:
    """``Client().load``."""
    return Client().load(name, precision=precision)


def run(name: str | os.PathLike[str], inputs: Mapping[str, Any], *, precision: str | None = None) -> Outputs:
    """``Client().run``."""
    return Client().run(name, inputs, precision=precision)
