"""Removal: a release, or a whole model, is taken out of an index, and what nothing names any more with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ...catalog.errors import MachineError, VerificationError
from ...catalog.values.digest import Digest
from ...catalog.values.model import Release
from ...catalog.values.names import ModelName
from .. import wire
from .lifecycle import exactly, known, one

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ...catalog.values.document import ModelDocument, ModelEntry
    from .draft import Draft
    from .place import Place
    from .site import Site

_NAMED: Final = re.compile(rb'"(sha256:[0-9a-f]{64})"')


class Removed(NamedTuple):
    """What was taken out of an index."""

    name: ModelName
    versions: tuple[str, ...]
    """Of the releases, newest first."""
    serial: int
    """Of the index, without them."""
    blobs: int
    """How many were deleted: those that nothing else names."""
    freed_bytes: int


def remove(site: Site, text: str, now: datetime) -> Removed:
    """Take the release that ``text`` names exactly, or all of a model, out of an index, and delete its blobs.

    That is signed first. Whatever ends the program after it leaves at most blobs that nothing names. Where a document
    of another release cannot be read, so that nobody knows what it names, no blob is deleted.

    Raises:
        InvalidName: the name is malformed, or has a version that is not exact.
        ModelNotFound: the index has no such model.
        VersionNotFound: the model has no such release.

    Raises also what ``Site.changing`` raises.
    """
    name, versions = exactly(text) if "@" in text else (ModelName.parse(text), None)
    with site.changing() as draft:
        document = known(draft, name)
        gone = (one(document, versions),) if versions else document.releases
        left = tuple(each for each in document.releases if each not in gone)
        unnamed = _unnamed(draft, document, gone)
        if left:
            draft.put(_with(document, left, draft.place), earlier=False)
        else:
            draft.drop(name)
        serial = draft.publish(now)
        freed = [draft.place.remove_blob(digest) for digest in sorted(unnamed)]
    deleted = [size for size in freed if size is not None]
    return Removed(name, tuple(each.version for each in gone), serial, len(deleted), sum(deleted))


def _with(document: ModelDocument, releases: tuple[ModelEntry, ...], place: Place) -> ModelDocument:
    """Return a package document with these releases, of which the newest speaks."""
    made = msgspec.structs.replace(document, releases=releases)
    if releases[0] is document.releases[0]:
        return made
    link = releases[0].document
    of = wire.follow(link, place.blob(link.digest), Release)
    return msgspec.structs.replace(made, task=of.task, summary=of.summary)


def _unnamed(draft: Draft, document: ModelDocument, gone: tuple[ModelEntry, ...]) -> set[Digest]:
    """Return the blobs that only these releases of a model name."""
    leave = {each.document.digest for each in gone}
    others = {each.document.digest for each in document.releases} - leave
    for data in draft.documents(but=document.name):
        others |= _digests(data)
    try:
        kept = others.union(*(_digests(draft.place.blob(each)) for each in others))
    except (VerificationError, MachineError):
        return set()
    return leave.union(*_readable(draft.place, leave)) - kept


def _readable(place: Place, digests: Iterable[Digest]) -> list[set[Digest]]:
    """Return what documents name, of those that can be read."""
    named: list[set[Digest]] = []
    for digest in digests:
        try:
            named.append(_digests(place.blob(digest)))
        except (VerificationError, MachineError):
            continue
    return named


def _digests(data: bytes) -> set[Digest]:
    """Return every digest in a document, also where this program would leave a part out: what names none is kept."""
    return {Digest(each.decode()) for each in _NAMED.findall(data)}
