"""Sources: where a model's release and the bytes of its artifacts come from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ...catalog.errors import Error, InvalidManifest, MachineError, ModelNotFound, NotInstalled
from ...catalog.manifest import read_manifest
from ...catalog.releases import choose
from ...catalog.values.names import ModelName
from ...catalog.values.source import BUILT_IN as BUILT_IN_NAME
from .found import Found

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...catalog.values.model import Release
    from ...catalog.values.names import Wanted

MANIFEST: Final = "manifest.toml"
BUILT_IN: Final = Path(__file__).parents[1] / "builtin"


class Asked(NamedTuple):
    """What a source is asked."""

    wanted: Wanted
    channels: str | Collection[str] | None = None
    """Releases of these will do, too, beside stable ones."""
    anew: bool = False
    """News is wanted, however short ago the source was asked."""
    offline: str = ""
    """What says that the network may not be used; empty where it may."""


class Unasked(NotInstalled):
    """A source may not be asked, and did not say before what is asked of it."""


class Source(Protocol):
    """Where models are looked up by name."""

    name: str
    address: str
    """Where it lies."""
    at_hand: bool
    """Whether its models need not be pulled: they are part of the program."""
    namespaces: tuple[str, ...]
    """Those that it alone is asked for; empty for all that no source has so."""

    def ask(self, asked: Asked) -> Found | None:
        """Return the release that is asked for, ``None`` where the source does not know the model.

        Raises:
            VersionNotFound: it knows the model, and has no such release.
            Error: it cannot be asked, or is not to be trusted.
        """
        ...

    def names(self) -> tuple[str, ...]:
        """Return the names of the models that it has, sorted, as far as that is known without asking anybody."""
        ...

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the versions of a model, newest first, as far as they are known without asking anybody."""
        ...


class FolderSource:
    """A folder with one folder for each model, ``namespace/name``, that holds a manifest and the artifacts it names."""

    def __init__(self, root: Path = BUILT_IN, *, name: str | None = None) -> None:
        """Read below ``root``: without one, the index that is part of the program.

        ``name`` is what the source is called; without one, the folder's path.
        """
        self._root = root
        self.name: str = name or (BUILT_IN_NAME if root == BUILT_IN else str(root))
        self.address: str = str(root)
        self.at_hand: bool = root == BUILT_IN
        """Whether its models need not be pulled: they are part of the program."""
        self.namespaces: tuple[str, ...] = ()

    def ask(self, asked: Asked) -> Found | None:
        """Return the release that is asked for, ``None`` where the folder does not have the model.

        Raises:
            VersionNotFound: it has another release of it.
            InvalidManifest: its manifest is wrong, or is another model's.
            MachineError: its manifest cannot be read.
        """
        found = self.find(ModelName(asked.wanted.name))
        if found and found.release:
            choose([found.release], asked.wanted, channel=asked.channels)
        return found

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the version of a model that there is; none where its manifest is wrong."""
        with suppress(Error):
            if (found := self.find(ModelName(name))) and found.release:
                return (found.release.version,)
        return ()

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
