"""Namespaces: who may speak for EP packages, and what they say.

Native code that runs in a user's process must not hang on a key that lies on a server: `targets` delegates `ep/NS/*` to
a role that the namespace's owner alone signs, and that ends the search. No other role is asked for these paths.
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import InvalidManifest, NotFoundError, Refused
from ...catalog.manifest import read_package
from ...catalog.releases import newest_first
from ...catalog.toml import parse_toml
from ...catalog.values.document import EpDocument, EpEntry
from ...catalog.values.names import PackageName
from .. import wire
from ..files import explained
from . import roles
from .keys import read_key, read_public_key

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from securesystemslib.signer import CryptoSigner, Key
    from tuf.api.metadata import Targets

    from ...catalog.values.digest import Digest
    from ...catalog.values.package import EpPackage
    from .draft import Draft
    from .keys import Ask
    from .site import Site


class Granted(NamedTuple):
    """A namespace and its owner."""

    namespace: str
    role: str
    """What signs for it."""
    keyid: str
    """Of the owner's key, as TUF names keys."""
    key: Path | None
    """The owner's key, if it was made here."""
    serial: int
    new: bool
    """Whether it was not there before."""


class Published(NamedTuple):
    """An EP package in an index."""

    name: PackageName
    version: str
    """Of the newest release in its manifest."""
    digest: Digest
    """Of that release's document."""
    serial: int
    new: bool
    """Whether anything was not so before."""


def is_package(path: Path) -> bool:
    """Return whether a file is the manifest of an EP package, well-formed or not: it names an EP."""
    if path.suffix != ".toml" or not path.is_file():
        return False
    with explained(path, done="read"):
        text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return "ep" in parse_toml(text, where=str(path), failure=InvalidManifest)
    except InvalidManifest:
        return False


def add_namespace(
    site: Site, namespace: str, now: datetime, ask: Ask | None = None, key: Path | None = None
) -> Granted:
    """Let the owner of a key, private or public, speak for the EP packages of a namespace; without one, make a key.

    Raises:
        InvalidName: the namespace is malformed.
        NotFoundError: the key of ``targets`` is not there.
        Refused: the namespace has another owner, the key is the online one, or the passphrase is not that of the keys.
        UsageError: nobody tells the passphrase.

    Raises also what ``Site.changing`` raises.
    """
    from tuf.api.metadata import Targets

    namespace = PackageName.parse(f"{namespace}/x").partition("/")[0]
    role, held, told = role_of(namespace), site.held(), cache(ask) if ask else None
    with site.changing() as draft:
        signer = read_key(held.existing("targets"), told)
        targets = draft.role("targets", signer)
        if there := roles.delegations(targets).get(role):
            if not (own := key or held.path(role)).exists() or _owner(own, ask)[1].keyid not in there.keyids:
                raise Refused(f"the namespace {namespace} has an owner already, and {own} is not that key")
            return Granted(namespace, role, there.keyids[0], None, draft.state.timestamp.version, new=False)
        if not key:
            held.made(role, told)
        owner, public = _owner(key or held.path(role), ask if key else told)
        _grant(targets, role, public, draft.online.public_key)
        draft.sign("targets", targets, signer)
        if owner:
            draft.sign(role, Targets(), owner)
        path = None if key else held.path(role)
        return Granted(namespace, role, public.keyid, path, draft.publish(now), new=True)


def publish_package(
    site: Site, manifest: Path, now: datetime, ask: Ask | None = None, key: Path | None = None
) -> Published:
    """Add the releases of an EP package, as its manifest tells them, with the key of the namespace's owner.

    Releases that are there stay. Without ``key`` the owner's is that which was made with the namespace.

    Raises:
        InvalidManifest: the manifest is wrong.
        NotFoundError: the key is not there.
        Refused: the key does not own the namespace, or a release is there with other content.

    Raises also what ``Site.changing`` raises.
    """
    from tuf.api.metadata import Targets

    with explained(manifest, done="read"):
        data = manifest.read_bytes()
    try:
        package = read_package(data.decode(), where=str(manifest))
    except UnicodeDecodeError as error:
        raise InvalidManifest(f"{manifest}: not UTF-8: {error}") from error
    role, path = role_of(package.name.partition("/")[0]), f"ep/{package.name}.json"
    with site.changing() as draft:
        owner = _owning(draft, role, read_key(key or site.held().existing(role), ask))
        signed = draft.role(role, owner) if draft.state.names(role) else Targets()
        told = signed.targets.get(path)
        there = wire.decode(draft.place.target(path, told.hashes["sha256"]), EpDocument) if told else None
        document, blobs = _document(package, there)
        newest = newest_first([each for each in document.releases if each.document.digest in blobs])[0]
        serial = draft.state.timestamp.version
        if document != there:
            for digest, each in blobs.items():
                draft.place.write_blob(digest, each)
            draft.put_as(role, signed, path, wire.encode(document), owner)
            serial = draft.publish(now)
        return Published(package.name, newest.version, newest.digest, serial, new=document != there)


def role_of(namespace: str) -> str:
    """Return the role that speaks for a namespace."""
    return f"{roles.OWNED}{namespace}"


def _owner(path: Path, ask: Ask | None) -> tuple[CryptoSigner | None, Key]:
    """Return the owner's key: both halves, or the public one alone."""
    if public := read_public_key(path):
        return None, public
    owner = read_key(path, ask)
    return owner, owner.public_key


def _grant(targets: Targets, role: str, owner: Key, online: Key) -> None:
    """Delegate the paths of a namespace to its owner, before all else that is delegated."""
    from tuf.api.metadata import DelegatedRole

    if owner.keyid == online.keyid:
        raise Refused(
            "the online key may not own a namespace: it lies open where the index is signed",
            hints=("leave --key out: a key is made",),
        )
    delegations = targets.delegations
    assert delegations  # noqa: S101 - it delegates to `models` from the first version on
    made = DelegatedRole(role, [owner.keyid], 1, terminating=True, paths=[f"ep/{role.removeprefix(roles.OWNED)}/*"])
    delegations.keys[owner.keyid] = owner
    delegations.roles = {role: made, **roles.delegations(targets)}


def _owning(draft: Draft, role: str, owner: CryptoSigner) -> CryptoSigner:
    """Return the key if it owns its namespace, as far as the index says; clients know for sure."""
    delegated = roles.delegated(draft.state, draft.place.metadata)
    namespace = role.removeprefix(roles.OWNED)
    if role not in delegated:
        raise NotFoundError(
            f"{draft.place.folder} has no namespace {namespace} for EP packages",
            hints=(f"inferry index namespace add {namespace} --data DIR makes one",),
        )
    if owner.public_key.keyid not in delegated[role].keyids:
        raise Refused(f"this key does not own the namespace {namespace}")
    return owner


def _document(package: EpPackage, there: EpDocument | None) -> tuple[EpDocument, dict[Digest, bytes]]:
    """Return the package document with the releases of a manifest, and their release documents."""
    entries = {each.version: each for each in there.releases} if there else {}
    blobs: dict[Digest, bytes] = {}
    for release in package.releases:
        data = wire.encode(release)
        entry = EpEntry(version=release.version, document=wire.link(data), channel=release.channel)
        known = entries.setdefault(release.version, entry)
        if known.document != entry.document:
            raise Refused(
                f"{package.name} {release.version} is in the index with other content: a release never changes",
                hints=("give the release another version",),
            )
        blobs[entry.document.digest] = data
    fields = {name: getattr(package, name) for name in EpDocument.__struct_fields__ if name != "releases"}
    return EpDocument(**fields, releases=tuple(newest_first([*entries.values()]))), blobs
