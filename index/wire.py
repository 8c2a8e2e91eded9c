"""The wire: documents to bytes and back, with limits, and what newer writers may add to them.

The bytes are the canonical form of ``catalog.values.canonical``. A reader passes over keys that it does not know, so
that documents may gain some; only what a host must have is never read in part: a variant, a build or a location that
says more of it than this program understands is left out, as if it did not fit.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from ..catalog.errors import InvalidDocument, VerificationError
from ..catalog.fields import known
from ..catalog.values import canonical
from ..catalog.values.digest import Digest
from ..catalog.values.document import PIECE_BYTES, EpDocument, ModelDocument, PieceList
from ..catalog.values.link import Link
from ..catalog.values.listing import Listing
from ..catalog.values.model import Release, Variant
from ..catalog.values.package import Build, EpRelease
from ..catalog.values.requirement import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

_Document = TypeVar("_Document", ModelDocument, EpDocument, Release, EpRelease, PieceList, Listing)
_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | float | bool | None"

LIMITS: Final[dict[type, int]] = {
    ModelDocument: 64_000,
    EpDocument: 64_000,
    Release: 1_000_000,
    EpRelease: 1_000_000,
    PieceList: 5_000_000,
    Listing: 100_000_000,
}
"""How many bytes a document of each kind may have."""
_PARTS: Final = (Variant, Build)
"""What is left out whole where a requirement in it says more than is understood."""


def encode(document: _Document) -> bytes:
    """Return the bytes of a document; raise ``InvalidDocument`` where they are more than its kind may have."""
    data = canonical.encode(document)
    return within_limit(data, type(document))


def decode(data: bytes, kind: type[_Document]) -> _Document:
    """Return the document of ``kind`` that ``data`` is.

    Raises:
        InvalidDocument: it is too large, not in the canonical form, or none of that kind.
    """
    within_limit(data, kind)
    try:
        told = msgspec.json.decode(data)
        if msgspec.json.encode(told, order="sorted") != data:
            raise InvalidDocument(f"this is no {kind.__name__}: its JSON is not in the canonical form")
        return msgspec.convert(known(told, kind, whole=Requirement, parts=_PARTS), kind, dec_hook=canonical.from_text)
    except RecursionError:
        raise InvalidDocument(f"this is no {kind.__name__}: it is nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidDocument(
            f"this is no {kind.__name__}: {error}", hints=("update inferry, if a newer one wrote it",)
        ) from error


def link(data: bytes) -> Link:
    """Return what names a document that has these bytes."""
    return Link(digest=Digest.of(data), size_bytes=len(data))


def follow(to: Link, data: bytes, kind: type[_Document]) -> _Document:
    """Return the document that a link names, of what came for it; raise ``VerificationError`` where that is another.

    Raises also what ``decode`` raises.
    """
    if len(data) != to.size_bytes or Digest.of(data) != to.digest:
        raise VerificationError(
            f"what came for the {kind.__name__} {to.digest} is another document, of {len(data):,} bytes"
        )
    return decode(data, kind)


def blob_path(digest: Digest) -> str:
    """Return where a blob lies within an index."""
    digits = digest.removeprefix("sha256:")
    return f"blobs/sha256/{digits[:2]}/{digits[2:]}"


def pieces(chunks: Iterable[bytes]) -> PieceList:
    """Return the piece list of an artifact, of its bytes in any parts; raise ``InvalidDocument`` of no bytes."""
    whole, piece, digests = sha256(), sha256(), list[str]()
    size = 0
    for chunk in chunks:
        whole.update(chunk)
        rest = memoryview(chunk)
        while rest:
            taken = rest[: PIECE_BYTES - size % PIECE_BYTES]
            piece.update(taken)
            size += len(taken)
            rest = rest[len(taken) :]
            if size % PIECE_BYTES == 0:
                digests.append(piece.hexdigest())
                piece = sha256()
    if size % PIECE_BYTES:
        digests.append(piece.hexdigest())
    if not size:
        raise InvalidDocument("an artifact without a byte has no pieces")
    named = Link(digest=Digest(f"sha256:{whole.hexdigest()}"), size_bytes=size)
    return PieceList(artifact=named, sha256=tuple(digests))


def schemas() -> dict[str, Any]:
    """Return the JSON Schema of each kind of document, by the kind's name."""
    return {kind.__name__: _open(msgspec.json.schema(kind, schema_hook=_schema)) for kind in LIMITS}


def within_limit(data: bytes, kind: type) -> bytes:
    """Return ``data``; raise ``InvalidDocument`` where it has more bytes than a document of that kind may."""
    if len(data) > LIMITS[kind]:
        raise InvalidDocument(f"a {kind.__name__} may have {LIMITS[kind]:,} bytes, and this has {len(data):,}")
    return data


def _schema(kind: type) -> dict[str, Any]:
    """Return the schema of a value that is a text."""
    pattern = {"pattern": "^sha256:[0-9a-f]{64}$"} if kind is Digest else {}
    return {"type": "string", "description": (kind.__doc__ or "").splitlines()[0], **pattern}


def _open(schema: _Json) -> _Json:
    """Return a schema that lets objects have further keys, as ``decode`` does, and is the same by every Python."""
    if isinstance(schema, str):
        from inspect import cleandoc

        return cleandoc(schema)  # from 3.13 on docstrings are so already
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _open(each) for key, each in schema.items() if (key, each) != ("additionalProperties", False)}
