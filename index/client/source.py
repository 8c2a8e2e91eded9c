"""Sources: where a model's release and the bytes of its artifacts come from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...catalog.errors import InvalidManifest, MachineError, ModelNotFound
from ...catalog.manifest import read_manifest
from ...catalog.values.names import ModelName
from .found import Found

if TYPE_CHECKING:
    from ...catalog.values.model import Release

MANIFEST: Final = "manifest.toml"
SOURCE: Final = "built-in"
"""The name of the source that is part of the program."""
BUILT_IN: Final = Path(__file__).parents[1] / "builtin"


class FolderSource:
    """A folder with one folder for each model, ``namespace/name``, that holds a manifest and the artifacts it names."""

    def __init__(self, root: Path = BUILT_IN, *, name: str | None = None) -> None:
        """Read below ``root``: without one, the index that is part of the program.

        ``name`` is what the source is called; without one, the folder's path.
        """
        self._root = root
        self.name: str = name or (SOURCE if root == BUILT_IN else str(root))
        self.at_hand: bool = root == BUILT_IN
        """Whether its models need not be pulled: they are part of the program."""

    def names(self) -> tuple[str, ...]:
        """Return the names of all models, sorted."""
        return tuple(
            sorted(path.parent.relative_to(self._root).as_posix() for path in self._root.glob(f"*/*/{MANIFEST}"))
        )

    def find(self, name: ModelName) -> Found | None:
        """Return the model ``name``, or ``None`` where there is no such model.

        Raises:
            InvalidManifest: its manifest is wrong, or is another model's.
            MachineError: its manifest cannot be read.
        """
        folder = self._root / name
        try:
            release = _read_release(folder / MANIFEST)
        except (FileNotFoundError, NotADirectoryError):
            if not self._root.is_dir():
                raise MachineError(f"the source {self._root} is no folder") from None
            return None
        if release.name != name:
            raise InvalidManifest(
                f"{folder / MANIFEST}: name: `{release.name}` lies in the folder of `{name}`", field="name"
            )
        return Found(folder, release, source=self.name)

    def all(self) -> list[Found]:
        """Return all models, by name; raise what ``find`` raises."""
        return [found for name in self.names() if (found := self.find(ModelName(name)))]


def find_path(text: str) -> Found:
    """Return the model at the path ``text``: an ONNX file, or a folder with a manifest or with exactly one ONNX file.

    Raises:
        ModelNotFound: there is nothing of the kind.
        InvalidManifest: its manifest is wrong.
        MachineError: its manifest cannot be read.
    """
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ModelNotFound(f"{text}: there is no such home folder") from error
    if path.is_file():
        return Found(path.parent, file=path)
    if not path.is_dir():
        raise ModelNotFound(f"there is no file or folder {path}")
    if (path / MANIFEST).exists():
        return Found(path, _read_release(path / MANIFEST))
    files = sorted(file for file in path.iterdir() if file.suffix.lower() == ".onnx" and file.is_file())
    if len(files) != 1:
        held = f"{len(files)} ONNX files" if files else "no ONNX file"
        raise ModelNotFound(
            f"the folder {path} holds {held} and no {MANIFEST}",
            hints=[f"give one of them: {file}" for file in files[:3]],
        )
    return Found(path, file=files[0])


def _read_release(path: Path) -> Release:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise
    except UnicodeDecodeError as error:
        raise InvalidManifest(f"{path}: not UTF-8: {error}") from error
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror or error}") from error
    return read_manifest(text, where=str(path))
