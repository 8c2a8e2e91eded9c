"""A release as it is published: its document, and every large file with its piece list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

import msgspec

from ...catalog.errors import Refused, VerificationError
from ...catalog.values.document import PIECE_BYTES, ModelEntry
from ...catalog.values.model import Artifact
from .. import wire
from ..files import explained

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from ...catalog.values.digest import Digest
    from ...catalog.values.link import Link
    from ...catalog.values.model import Release
    from ..composing.compose import Composed

_CHUNK: Final = 1024 * 1024


class Ready(NamedTuple):
    """What is published of a release."""

    release: Release
    """With the links to the piece lists."""
    document: bytes
    """The release document."""
    documents: dict[Digest, bytes]
    """The release document and the piece lists."""
    files: dict[Path, Artifact]
    """The artifacts that may be handed out, and where they lie."""

    @property
    def entry(self) -> ModelEntry:
        """What the package document tells of it."""
        it = self.release
        return ModelEntry(
            version=it.version,
            document=wire.link(self.document),
            channel=it.channel,
            license=it.license,
            precisions=tuple(each.precision for each in it.variants),
            size_bytes=sum({each.digest: each.size_bytes for each in it.files(it.variants[0])}.values()),
        )


def prepare(composed: Composed) -> Ready:
    """Return what is published of a release; nothing is written.

    Raises:
        Refused: a file that may not be handed on lies nowhere else.
        VerificationError: a file was changed since it was composed.
        InvalidDocument: what is written of it is larger than a document may be.
        MachineError: a file cannot be read.

    And what ``Composed.checked`` raises.
    """
    release, folder = composed.checked(), composed.folder
    artifacts = {each.path: each for variant in release.variants for each in release.files(variant)}
    links: dict[Digest, Link] = {}
    documents: dict[Digest, bytes] = {}
    for artifact in artifacts.values():
        if artifact.redistribution != "allowed" and not artifact.locations:
            raise Refused(
                f"{artifact.path} may not be handed on, and lies nowhere else: its redistribution is"
                f" `{artifact.redistribution}`, and it has no locations",
                hints=('write redistribution = "allowed" where its licence lets others hand it on',),
            )
        if artifact.size_bytes > PIECE_BYTES:
            listed = _pieces(folder / artifact.path, artifact)
            links[artifact.digest] = wire.link(listed)
            documents[links[artifact.digest].digest] = listed
    listed_release: Release = _with_pieces(release, links)
    document = wire.encode(listed_release)
    documents[wire.link(document).digest] = document
    files = {folder / each.path: each for each in artifacts.values() if each.redistribution == "allowed"}
    return Ready(listed_release, document, documents, files)


def chunks(path: Path) -> Generator[bytes]:
    """Yield the bytes of a file; raise ``MachineError`` where it cannot be read."""
    with explained(path, done="read"), path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _pieces(path: Path, artifact: Artifact) -> bytes:
    """Return the piece list of a large file; raise ``VerificationError`` where it is no longer the artifact."""
    listed = wire.pieces(chunks(path))
    if listed.artifact.digest != artifact.digest:
        raise VerificationError(f"{path} was changed while it was read")
    return wire.encode(listed)


def _with_pieces(value: Any, links: dict[Digest, Link]) -> Any:  # noqa: ANN401 - whatever a release holds
    """Return a part of a release in which every artifact names its piece list, if it has one."""
    if isinstance(value, Artifact):
        return msgspec.structs.replace(value, pieces=links.get(value.digest))
    if _is_tuple(value):
        return tuple(_with_pieces(each, links) for each in value)
    if isinstance(value, msgspec.Struct):
        parts = {name: getattr(value, name) for name in value.__struct_fields__}
        made = {name: _with_pieces(each, links) for name, each in parts.items()}
        return msgspec.structs.replace(value, **{name: made[name] for name in made if made[name] is not parts[name]})
    return value


def _is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    return isinstance(value, tuple)
