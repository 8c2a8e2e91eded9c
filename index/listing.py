"""The listing of an index: made of its package documents, one after the other, and to bytes and back, with limits."""

from __future__ import annotations

import gzip
import zlib
from bisect import bisect_left
from typing import TYPE_CHECKING, Final

import msgspec

from ..catalog.errors import InvalidDocument
from ..catalog.values import canonical
from ..catalog.values.listing import Listed, Listing
from . import wire

if TYPE_CHECKING:
    from ..catalog.values.document import ModelDocument
    from ..catalog.values.names import ModelName

PATH: Final = "models/-/listing.json.gz"
"""Where it lies among what is signed: `-` is no namespace."""
_GZIP: Final = 16 + zlib.MAX_WBITS


def encode_listing(listing: Listing) -> bytes:
    """Return the bytes of a listing, compressed; raise ``InvalidDocument`` where they are more than it may have."""
    return gzip.compress(wire.within_limit(_canonical(listing), Listing), 6, mtime=0)


def decode_listing(data: bytes) -> Listing:
    """Return the listing that ``data`` is.

    Raises:
        InvalidDocument: it is no gzip, cut short or longer than its end, too large when decompressed, or no listing.
    """
    limit = wire.LIMITS[Listing]
    stream = zlib.decompressobj(_GZIP)
    try:
        # One byte more than is right tells a larger one without decompressing all of it.
        told = stream.decompress(data, limit + 1)
    except zlib.error as error:
        raise InvalidDocument(f"this is no Listing: {error}") from error
    if len(told) > limit:
        raise InvalidDocument(f"a Listing may have {limit:,} bytes, and this has more")
    if not stream.eof:
        raise InvalidDocument("this is no Listing: it was cut short")
    if stream.unused_data:
        raise InvalidDocument(f"this is no Listing: {len(stream.unused_data):,} bytes follow its end")
    try:
        found = msgspec.json.decode(told, type=Listing, dec_hook=canonical.from_text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return wire.decode(told, Listing)  # a newer one may say more
    if _canonical(found) != told:
        return wire.decode(told, Listing)
    return found


def _canonical(listing: Listing) -> bytes:
    """Return the canonical form, of 100,000 models ten times as fast as that of any value is made."""
    return msgspec.json.encode(listing, enc_hook=str, order="sorted")


def with_model(listing: Listing, name: ModelName, document: ModelDocument | None) -> Listing:
    """Return a listing with what it tells of one model made anew: nothing, where no release of it is to be found."""
    models = listing.models
    place = bisect_left(models, name, key=lambda each: each.name)
    after = place + (place < len(models) and models[place].name == name)
    found = listed(document) if document else None
    return Listing(models=(*models[:place], *([found] if found else []), *models[after:]))


def listed(document: ModelDocument) -> Listed | None:
    """Return what a listing tells of a model; ``None`` where every release of it is yanked or revoked."""
    found = [each for each in document.releases if each.status not in {"yanked", "revoked"}]
    if not found:
        return None
    current = (each for each in found if each.status == "current" and each.channel == "stable")
    entry = next(current, found[0])
    return Listed(
        name=document.name,
        version=entry.version,
        task=document.task,
        summary=document.summary,
        license=entry.license,
        precisions=entry.precisions,
        size_bytes=entry.size_bytes,
        channel=entry.channel,
    )
