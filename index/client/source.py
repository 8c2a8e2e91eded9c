"""Sources: where a model's release and the bytes of its artifacts come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...catalog.errors import InvalidManifest, MachineError
from ...catalog.manifest import read_manifest
from ..blobs import read_verified

if TYPE_CHECKING:
    from ...catalog.values.model import Artifact, Release
    from ...catalog.values.names import ModelName

MANIFEST: Final = "manifest.toml"
BUILT_IN: Final = Path(__file__).parents[1] / "builtin"


class FolderSource:
    """A folder with one folder for each model, ``namespace/name``, that holds a manifest and the artifacts it names."""

    def __init__(self, root: Path = BUILT_IN) -> None:
        """Read below ``root``: without one, the index that is part of the program."""
        self._root = root

    def names(self) -> tuple[str, ...]:
        """Return the names of all models, sorted."""
        return tuple(
            sorted(path.parent.relative_to(self._root).as_posix() for path in self._root.glob(f"*/*/{MANIFEST}"))
        )

    def release(self, name: ModelName) -> Release | None:
        """Return the release of the model ``name``, or ``None`` where there is no such model.

        Raises:
            InvalidManifest: its manifest is wrong, or is another model's.
            MachineError: its manifest cannot be read.
        """
        path = self._root / name / MANIFEST
        try:
            text = path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except UnicodeDecodeError as error:
            raise InvalidManifest(f"{path}: not UTF-8: {error}") from error
        except OSError as error:
            raise MachineError(f"{path} cannot be read: {error.strerror or error}") from error
        release = read_manifest(text, where=str(path))
        if release.name != name:
            raise InvalidManifest(f"{path}: name: `{release.name}` lies in the folder of `{name}`", field="name")
        return release

    def read(self, name: ModelName, artifact: Artifact) -> bytes:
        """Return the verified bytes of an artifact of the model ``name``.

        Raises:
            VerificationError: they are not what the manifest names.
            MachineError: they cannot be read.
        """
        return read_verified(self._root / name / artifact.path, artifact)
