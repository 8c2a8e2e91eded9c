"""What was found: a model whose release is known, and where its files are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import MachineError, NotInstalled
from ..blobs import read_verified
from ..files import explained

if TYPE_CHECKING:
    from ...catalog.values.model import Artifact, Release, Variant
    from ..store import FolderStore


class Found(NamedTuple):
    """A model that is known: a release, or one ONNX file without a manifest."""

    folder: Path
    """Where its files lie; of a release that was pulled, or would be, where those lie that must lie side by side."""
    release: Release | None = None
    file: Path | None = None
    """The ONNX file, where there is no release."""
    source: str = ""
    """The source that knows it; empty for a path."""
    store: FolderStore | None = None
    """Where the artifacts are, of a release that was pulled."""
    base: str = ""
    """The address of the index that has the artifacts, where one has them."""

    def read(self, artifact: Artifact) -> bytes:
        """Return the bytes of one of the release's artifacts.

        Raises:
            NotInstalled: it was pulled without this one.
            VerificationError: they are not those that the release names.
            MachineError: they cannot be read.
        """
        if self.store is None and not self.base:
            return read_verified(self.folder / artifact.path, artifact)
        opened = self.store.open(artifact.digest, artifact.size_bytes) if self.store else None
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
