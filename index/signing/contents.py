"""Contents: the documents of an index and all that they name, held against digests and sizes."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from ...catalog.errors import VerificationError
from ...catalog.values.document import EpDocument, ModelDocument, PieceList
from ...catalog.values.model import Release
from ...catalog.values.package import EpRelease
from .. import wire
from ..files import hash_file
from ..listing import PATH, decode_listing, listed
from .release import chunks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tuf.api.metadata import TargetFile, Targets

    from ...catalog.values.digest import Digest
    from ...catalog.values.document import EpEntry, ModelEntry
    from ...catalog.values.link import Link
    from ...catalog.values.listing import Listing
    from ...catalog.values.model import Artifact
    from .place import Place
    from .report import Report

Takes: TypeAlias = "Callable[[str], bool]"
"""Returns whether a role may speak for a path."""
_MODELS: Final = "models/"
_PACKAGES: Final = "ep/"


class Contents:
    """What an index hands out, as it is found from its metadata on."""

    def __init__(self, place: Place, report: Report) -> None:
        """Begin with nothing."""
        self.paths: set[str] = set()
        """What is signed."""
        self.models: dict[str, ModelDocument | None] = {}
        """By name; ``None`` where the package document is not what was signed."""
        self.packages: int = 0
        """How many EP packages are signed."""
        self._place = place
        self._report = report
        self._listing: tuple[Path, Listing] | None = None
        self._done: set[Digest] = set()

    def hold(self, file: Path, signed: Targets, takes: Takes) -> None:
        """Check all for which a role speaks, whose file is ``file``."""
        for path, told in signed.targets.items():
            if not takes(path):
                self._report.wrong(file, f"speaks for {path}, which is not its own")
                continue
            self.paths.add(path)
            target = self._place.target_file(path, told.hashes.get("sha256", ""))
            if path == PATH:
                self._list(target, told)
            elif path.startswith(_PACKAGES):
                self._package(path, target, told)
            else:
                self._model(path, target, told)

    def compare(self) -> None:
        """Hold the listing against the package documents that could be read."""
        expected = {name: listed(document) for name, document in self.models.items() if document}
        if not self._listing:
            if self.models and PATH not in self.paths:
                self._report.wrong(self._place.target_file(PATH, ""), "is not signed: nothing lists the models")
            return
        file, listing = self._listing
        models = {str(each.name): each for each in listing.models}
        unread = {name for name, document in self.models.items() if not document}
        for name in sorted({*expected, *models} - unread):
            if models.get(name) != expected.get(name):
                self._report.wrong(file, f"does not tell of {name} what its package document does")

    def _list(self, file: Path, told: TargetFile) -> None:
        if listing := self._report.read(file, lambda data: decode_listing(_same(told, data))):
            self._listing = file, listing

    def _model(self, path: str, file: Path, told: TargetFile) -> None:
        def read(data: bytes) -> ModelDocument:
            found = wire.decode(_same(told, data), ModelDocument)
            if f"{_MODELS}{found.name}.json" != path:
                raise VerificationError(f"is the package document of {found.name}")
            return found

        document = self._report.read(file, read)
        self.models[path.removeprefix(_MODELS).removesuffix(".json")] = document
        if document:
            for entry in document.releases:
                self._release(document.name, entry)

    def _package(self, path: str, file: Path, told: TargetFile) -> None:
        """Check an EP package; its files lie where its delivery says, and not here."""
        self.packages += 1

        def read(data: bytes) -> EpDocument:
            found = wire.decode(_same(told, data), EpDocument)
            if f"{_PACKAGES}{found.name}.json" != path:
                raise VerificationError(f"is the package document of {found.name}")
            return found

        if document := self._report.read(file, read):
            for entry in document.releases:
                self._report.read(self._place.blob_file(entry.document.digest), partial(_ep_release, entry))

    def _release(self, name: str, entry: ModelEntry) -> None:
        def read(data: bytes) -> Release:
            found = wire.follow(entry.document, data, Release)
            if (found.name, found.version) != (name, entry.version):
                raise VerificationError(f"is the release document of {found.name}@={found.version}")
            return found

        if not (release := self._report.read(self._place.blob_file(entry.document.digest), read)):
            return
        for variant in release.variants:
            for artifact in release.files(variant):
                self._artifact(artifact)

    def _artifact(self, artifact: Artifact) -> None:
        """Check a file once, however many name it; what may not be handed on is not expected."""
        listed_pieces = self._pieces(artifact, artifact.pieces) if artifact.pieces else None
        if artifact.redistribution != "allowed" or artifact.digest in self._done:
            return
        self._done.add(artifact.digest)
        self._report.hold(self._place.blob_file(artifact.digest), partial(_whole, artifact, listed_pieces))

    def _pieces(self, artifact: Artifact, link: Link) -> PieceList | None:
        def read(data: bytes) -> PieceList:
            found = wire.follow(link, data, PieceList)
            if (found.artifact.digest, found.artifact.size_bytes) != (artifact.digest, artifact.size_bytes):
                raise VerificationError(f"is the piece list of {found.artifact.digest}")
            return found

        return self._report.read(self._place.blob_file(link.digest), read)


def _ep_release(entry: EpEntry, data: bytes) -> EpRelease:
    found = wire.follow(entry.document, data, EpRelease)
    if found.version != entry.version:
        raise VerificationError(f"is the release document of {found.version}, and not of {entry.version}")
    return found


def _same(told: TargetFile, data: bytes) -> bytes:
    from tuf.api.exceptions import LengthOrHashMismatchError

    try:
        told.verify_length_and_hashes(data)
    except LengthOrHashMismatchError as error:
        raise VerificationError(f"is not what was signed: {error}") from error
    return data


def _whole(artifact: Artifact, pieces: PieceList | None, file: Path) -> None:
    """Raise ``VerificationError`` where a file is not an artifact, or has other pieces."""
    if (size := file.stat().st_size) != artifact.size_bytes:
        raise VerificationError(f"has {size:,} bytes, and not {artifact.size_bytes:,}")
    found = wire.pieces(chunks(file)) if pieces else None
    if (found.artifact.digest if found else hash_file(file)) != artifact.digest:
        raise VerificationError("has another digest than its name tells")
    if found != pieces:
        raise VerificationError("has other pieces than its piece list tells")
