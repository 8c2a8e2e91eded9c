"""The place of an index: the folder that is handed out, and where in it each file lies."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ...catalog.errors import NotFoundError, Refused, VerificationError
from ..blobs import write_whole
from ..files import explained, remove, replace, sync_folder
from .release import chunks
from .roles import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from ...catalog.values.digest import Digest
    from ...catalog.values.model import Artifact

_DIGITS: Final = 64
_FOLDERS: Final = {"metadata", "targets", "blobs"}


class Place:
    """A folder with ``metadata``, ``targets`` and ``blobs``. One process at a time writes into it: it holds a lock."""

    def __init__(self, folder: Path) -> None:
        """Keep the files of an index below ``folder``."""
        self.folder = folder
        self._metadata = folder / "metadata"

    def first_root(self) -> bytes:
        """Return the first root; raise ``NotFoundError`` where the folder holds no index."""
        if not (self._metadata / TIMESTAMP).exists():
            raise NotFoundError(f"{self.folder} holds no index", hints=(f"inferry index init {self.folder} makes one",))
        return self.metadata("1.root.json")

    def newest_root(self) -> bytes:
        """Return the newest root. Raises as ``first_root``."""
        data, version = self.first_root(), 2
        while (self._metadata / f"{version}.root.json").exists():
            data = self.metadata(f"{version}.root.json")
            version += 1
        return data

    def refuse_others(self) -> None:
        """Raise ``Refused`` where the folder holds an index, or what would be handed out beside one."""
        if (self._metadata / TIMESTAMP).exists():
            raise Refused(f"{self.folder} holds an index already")
        with explained(self.folder, done="read"):
            others = {each.name for each in self.folder.iterdir()} - _FOLDERS if self.folder.exists() else set[str]()
        if others:
            raise Refused(
                f"{self.folder} holds {min(others)}: what lies in the folder of an index is handed out",
                hints=("name an empty folder, or one that is not there yet",),
            )

    def metadata_file(self, name: str) -> Path:
        """Return where a file of metadata lies."""
        return self._metadata / name

    def metadata(self, name: str) -> bytes:
        """Return a file of metadata; raise ``MachineError`` where it cannot be read."""
        path = self._metadata / name
        with explained(path, done="read"):
            return path.read_bytes()

    def target(self, path: str, digest: str) -> bytes:
        """Return the package document at ``path`` of this sha256.

        Raises:
            VerificationError: another one lies there.
            MachineError: it cannot be read.
        """
        file = self.target_file(path, digest)
        with explained(file, done="read"):
            data = file.read_bytes()
        if sha256(data).hexdigest() != digest:
            raise VerificationError(f"{file} was changed: it has another digest than was signed")
        return data

    def write_target(self, path: str, data: bytes) -> None:
        """Write a package document; raise ``MachineError`` where it cannot be."""
        self._write(self.target_file(path, sha256(data).hexdigest()), data)

    def keep_targets(self, path: str, digests: Collection[str]) -> None:
        """Remove what lies at ``path`` and is of none of these sha256; raise ``MachineError`` where it cannot be."""
        folder, _, name = path.rpartition("/")
        for file in (self.folder / "targets" / folder).glob(f"*.{name}"):
            digest = file.name.removesuffix(f".{name}")
            if len(digest) == _DIGITS and digest not in digests:
                with explained(file, done="removed"):
                    remove(file)

    def write_metadata(self, files: Mapping[str, bytes]) -> None:
        """Write files of metadata in their order; all but the last are on the disk before that is replaced."""
        *others, last = files
        for name in others:
            self._write(self._metadata / name, files[name], sync=False)
        with explained(self._metadata, done="written"):
            sync_folder(self._metadata)
        self._write(self._metadata / last, files[last])

    def write_blob(self, digest: Digest, data: bytes) -> None:
        """Write a document as a blob, if it is not there; raise ``MachineError`` where it cannot be."""
        if not (path := self.blob_file(digest)).exists():
            self._write(path, data)

    def copy_blob(self, source: Path, artifact: Artifact) -> None:
        """Copy a file into a blob, if that is not there.

        Raises:
            VerificationError: the file is no longer the artifact.
            MachineError: it cannot be read or written.
        """
        path = self.blob_file(artifact.digest)
        if path.exists():
            return
        partial, whole = path.with_name(f".{path.name}"), sha256()
        try:
            with explained(path, done="written", missing_bytes=artifact.size_bytes):
                path.parent.mkdir(parents=True, exist_ok=True)
                with partial.open("wb") as file:
                    for chunk in chunks(source):
                        whole.update(chunk)
                        file.write(chunk)
                    file.flush()
                    os.fsync(file)
                if f"sha256:{whole.hexdigest()}" != artifact.digest:
                    raise VerificationError(f"{source} was changed while it was copied")
                replace(partial, path)
                sync_folder(path.parent)
        finally:
            with explained(path, done="written"):
                remove(partial)

    def blob(self, digest: Digest) -> bytes:
        """Return a document that lies there as a blob.

        Raises:
            VerificationError: it was changed.
            MachineError: it cannot be read.
        """
        path = self.blob_file(digest)
        with explained(path, done="read"):
            data = path.read_bytes()
        if sha256(data).hexdigest() != digest.removeprefix("sha256:"):
            raise VerificationError(f"{path} was changed: it has another digest than its name tells")
        return data

    def remove_blob(self, digest: Digest) -> int | None:
        """Delete a blob; return how large it was, ``None`` where it was not there; raise ``MachineError``."""
        path = self.blob_file(digest)
        if not path.exists():
            return None
        with explained(path, done="removed"):
            size = path.stat().st_size
            remove(path)
        return size

    def sweep(self, paths: Iterable[str]) -> None:
        """Remove what a writer that was killed left half written: of metadata, and beside documents at ``paths``."""
        folders = {self._metadata, *(self.target_file(path, "").parent for path in paths)}
        for partial in [each for folder in folders for each in folder.glob(".*")]:
            with explained(partial, done="removed"):
                remove(partial)

    def blob_file(self, digest: Digest) -> Path:
        """Return where a blob lies."""
        digits = digest.removeprefix("sha256:")
        return self.folder / "blobs" / "sha256" / digits[:2] / digits[2:]

    def target_file(self, path: str, digest: str) -> Path:
        """Return where the document at ``path`` of this sha256 lies."""
        folder, _, name = path.rpartition("/")
        return self.folder / "targets" / folder / f"{digest}.{name}"

    @staticmethod
    def _write(path: Path, data: bytes, *, sync: bool = True) -> None:
        with explained(path, done="written", missing_bytes=len(data)):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data, durably=True)
            if sync:
                sync_folder(path.parent)
