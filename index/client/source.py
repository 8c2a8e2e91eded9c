"""Sources: where a model's release and the bytes of its artifacts come from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ...catalog.errors import InvalidManifest, MachineError, ModelNotFound, NotInstalled
from ...catalog.manifest import read_manifest
from ...catalog.values.names import ModelName
from ..blobs import read_verified
from ..files import explained

if TYPE_CHECKING:
    from ...catalog.values.model import Artifact, Release, Variant
    from ..store import FolderStore

MANIFEST: Final = "manifest.toml"
SOURCE: Final = "built-in"
"""The name of the source that is part of the program."""
BUILT_IN: Final = Path(__file__).parents[1] / "builtin"


class Found(NamedTuple):
    """A model that is known: a release, or one ONNX file without a manifest."""

    folder: Path
    """Where its files lie; of a release that was pulled, where those lie that must lie side by side."""
    release: Release | None = None
    file: Path | None = None
    """The ONNX file, where there is no release."""
    source: str = ""
    """The source that knows it; empty for a path."""
    store: FolderStore | None = None
    """Where the artifacts are, of a release that was pulled."""

    def read(self, artifact: Artifact) -> bytes:
        """Return the bytes of one of the release's artifacts.

        Raises:
            NotInstalled: it was pulled without this one.
            VerificationError: they are not those that the release names.
            MachineError: they cannot be read.
        """
        if self.store is None:
            return read_verified(self.folder / artifact.path, artifact)
        opened = self.store.open(artifact.digest, artifact.size_bytes)
        if opened is None:
            raise NotInstalled(f"{artifact.path} of {self} is not here", hints=(f"inferry pull {self}",))
        with opened, explained(Path(opened.name), done="read"):
            return opened.read()

    def beside(self, variant: Variant) -> str | None:
        """Return the folder where the files lie that a variant keeps tensors in, verified; ``None`` if it has none.

        Raises what ``read`` raises.
        """
        if not variant.external_data:
            return None
        for artifact in variant.external_data:
            if self.store is None:
                read_verified(self.folder / artifact.path, artifact)
            else:
                lay_out(self.store, artifact, self.folder / artifact.path)
        return str((self.folder / variant.artifact.path).parent)

    def __str__(self) -> str:
        return f"{self.release.name}@={self.release.version}" if self.release else str(self.file)

    def read_file(self) -> bytes:
        """Return the bytes of the ONNX file that no manifest names; raise ``MachineError`` where it cannot be read."""
        assert self.file  # noqa: S101 - it is a release or a file
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise MachineError(f"{self.file} cannot be read: {error.strerror or error}") from error


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


def lay_out(store: FolderStore, artifact: Artifact, target: Path) -> None:
    """Put an artifact at ``target`` too, unless it lies there; raise ``NotFoundError`` where the store lacks it."""
    blob = store.path(artifact.digest, artifact.size_bytes)
    with suppress(OSError):
        if blob:
            one, other = blob.stat(), target.stat()
            # A copy has the time of what it is a copy of.
            if (one.st_ino, one.st_dev) == (other.st_ino, other.st_dev) or (one.st_size, one.st_mtime_ns) == (
                other.st_size,
                other.st_mtime_ns,
            ):
                return
    store.place(artifact.digest, artifact.size_bytes, target)


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
