"""Lifecycle: what becomes of a release after it was added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ...catalog.errors import InvalidName, ModelNotFound, Refused, UsageError, VersionNotFound
from ...catalog.values.names import ModelName
from ...catalog.values.version import VersionSpec

if TYPE_CHECKING:
    from datetime import datetime

    from ...catalog.values.document import ModelDocument, ModelEntry, Status
    from .draft import Draft
    from .site import Site

_LONGEST_REASON: Final = 300


class Marked(NamedTuple):
    """A release and what it is."""

    name: ModelName
    version: str
    status: Status
    reason: str
    """Why it is not current."""
    serial: int
    """Of the index, with that."""
    changed: bool
    """Whether it was not so before."""


def mark(site: Site, text: str, status: Status, now: datetime, reason: str = "") -> Marked:
    """Give the release that ``text`` names exactly, ``namespace/name@version``, another status, and say why.

    Raises:
        InvalidName: the name is malformed, or does not say one version.
        UsageError: the reason is empty, too long, or not one line.
        ModelNotFound: the index has no such model.
        VersionNotFound: the model has no such release.
        Refused: the release was revoked: it stays so.

    Raises also what ``Site.changing`` raises.
    """
    name, versions = exactly(text)
    if status != "current" and not (reason.isprintable() and 0 < len(reason.strip()) <= _LONGEST_REASON):
        raise UsageError(f"a reason is one line of up to {_LONGEST_REASON} characters, for people")
    with site.changing() as draft:
        document = known(draft, name)
        entry = one(document, versions)
        if entry.status == "revoked" and status != "revoked":
            raise Refused(
                f"{name}@={entry.version} was revoked, and stays so: {entry.reason}",
                hints=("add what is right about it as another version",),
            )
        made = msgspec.structs.replace(entry, status=status, reason=reason.strip())
        serial = draft.state.timestamp.version
        if made != entry:
            releases = tuple(made if each is entry else each for each in document.releases)
            draft.put(msgspec.structs.replace(document, releases=releases))
            serial = draft.publish(now)
    return Marked(name, made.version, status, made.reason, serial, changed=made != entry)


def exactly(text: str) -> tuple[ModelName, VersionSpec]:
    """Return the model and the one version that ``text`` names; raise ``InvalidName`` where it does not."""
    called, _, spelled = text.partition("@")
    name = ModelName.parse(called)
    versions = VersionSpec.parse(f"={spelled.removeprefix('=')}") if spelled else None
    if not versions or not versions.exact:
        raise InvalidName(f"`{text[:200]}` does not say which release", hints=(f"write {name}@1.0.0",))
    return name, versions


def known(draft: Draft, name: ModelName) -> ModelDocument:
    """Return the package document of a model; raise ``ModelNotFound`` where there is none."""
    if not (document := draft.document(name)):
        raise ModelNotFound(f"{draft.place.folder} has no {name}")
    return document


def one(document: ModelDocument, versions: VersionSpec) -> ModelEntry:
    """Return what a package document tells of one release; raise ``VersionNotFound`` where there is none."""
    for entry in document.releases:
        if versions.takes(entry.version):
            return entry
    raise VersionNotFound(
        f"{document.name} has no release {versions.lstrip('=')}",
        hints=[f"there is {document.name}@={each.version}" for each in document.releases[:5]],
    )
