"""Repository: an index that this machine signs."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from ...catalog.errors import Refused
from ...catalog.releases import newest_first
from ...catalog.values.document import ModelDocument
from .. import wire
from ..composing.compose import compose
from ..listing import PATH
from . import roles
from .keys import KeyFolder, make_keys
from .release import prepare
from .site import Site, fingerprint

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from ...catalog.values.digest import Digest
    from ...catalog.values.names import ModelName
    from ..composing.compose import Flags
    from .keys import Ask
    from .release import Ready

RootKey = Literal["offline", "online"]


class Made(NamedTuple):
    """An index that was made."""

    fingerprint: str
    """The sha256 of the newest root, in hexadecimal digits: what a client pins."""
    keys: Path
    """The folder with its keys."""
    passphrase: Path | None
    """Where the random passphrase was written, if nobody chose one."""


class Added(NamedTuple):
    """A release in an index."""

    name: ModelName
    version: str
    digest: Digest
    """Of its release document."""
    serial: int
    """Of the index, with this release."""
    new: bool
    """Whether it was not there before."""


class Status(NamedTuple):
    """What an index says of itself."""

    fingerprint: str
    """The sha256 of the newest root, in hexadecimal digits: what a client pins."""
    serial: int
    """The version of the timestamp: every change has the next."""
    expires: dict[str, datetime]
    """By role, all bins as one: the first that expires."""
    expired: tuple[str, ...]
    """The roles that have expired."""
    root_key: RootKey
    """``online``: what signs the root is at hand without anybody who knows its passphrase."""
    models: int


class Repository:
    """An index below a folder, and the keys that sign it, which lie elsewhere."""

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        """Sign the index in ``folder`` with the keys in the folder ``keys``; without one as ``Site`` finds them."""
        self._site = Site(folder, keys)

    def init(self, now: datetime, bins: int = roles.BINS, ask: Ask | None = None) -> Made:
        """Make an index without models; keys that are in the folder already are taken.

        ``ask`` returns the passphrase of the offline keys; without it that is a random one, which lies beside them.

        Raises:
            Refused: there is an index already, or other files; the keys would lie in it; or the passphrase is wrong.
            UsageError: ``bins`` is no power of two from 2 to 4,096, or the passphrase is empty.
            InvalidDocument: a file of a key is none.
            MachineError: a file cannot be read or written.
        """
        site = self._site
        site.refuse_inside(site.keys or site.every)
        with site.locked(site.keys or site.every):
            site.place.refuse_others()
            made = make_keys()
            if site.keys:
                held = KeyFolder(site.keys)
                made = held.fill(made, ask)
                files = roles.make(made, bins, now)
            else:
                files = roles.make(made, bins, now)
                held = KeyFolder(site.every / fingerprint(files["1.root.json"]))
                held.fill(made, ask)
            site.place.write_metadata(files)
        return Made(fingerprint(files["1.root.json"]), held.folder, None if ask else held.passphrase)

    def add(self, path: Path, now: datetime, flags: Flags | None = None) -> Added:
        """Add the release that ``path`` comes to, with ``flags``; one that is there already changes nothing.

        Of the metadata two bins, the model's and the listing's, the snapshot and the timestamp are signed anew. Until
        the last of them is replaced, all that was signed before is as it was.

        Raises:
            NotFoundError: there is no index, no model at ``path``, or no key.
            InvalidManifest: the manifest is wrong, or what the flags say.
            InvalidModel: a file is no ONNX model.
            LibraryMissing: a file must be looked into, and onnx is not here.
            VerificationError: a file is not the one that the manifest names, or the index was changed by others.
            Refused: the version is there with other content, a file may not be handed on, or the keys lie in the index.
            InvalidDocument: the documents of the model would be too large, or the index is damaged.
            MachineError: a file cannot be read or written, or another process signs for too long.
        """
        self._site.held().online()
        ready = prepare(compose(path, flags))
        name, version = ready.release.name, ready.release.version
        with self._site.changing() as draft:
            document = _with(draft.document(name), ready)
            serial = draft.state.timestamp.version
            if document:
                draft.put(document)
                for source, artifact in ready.files.items():
                    draft.place.copy_blob(source, artifact)
                for digest, data in ready.documents.items():
                    draft.place.write_blob(digest, data)
                serial = draft.publish(now)
        return Added(name, version, wire.link(ready.document).digest, serial, new=document is not None)

    def status(self, now: datetime) -> Status:
        """Return what the index says of itself; no signature is verified.

        Raises:
            NotFoundError: there is no index.
            InvalidDocument: the index is damaged.
            MachineError: a file cannot be read.
        """
        from tuf.api.metadata import Root

        place = self._site.place
        data = place.newest_root()
        root = roles.read("root.json", data, Root)
        state = roles.load(place.metadata)
        expires = roles.expiry(root, state, place.metadata)
        shared = {*root.roles["root"].keyids} & {*root.roles["timestamp"].keyids}
        return Status(
            fingerprint=fingerprint(data),
            serial=state.timestamp.version,
            expires=expires,
            expired=tuple(role for role, end in expires.items() if end <= now),
            root_key="online" if shared or self._site.held().passphrase.exists() else "offline",
            models=sum(path != PATH for each in roles.bins(state, place.metadata) for path in each.targets),
        )


def _with(there: ModelDocument | None, ready: Ready) -> ModelDocument | None:
    """Return a package document with a release more, ``None`` where it has it; raise ``Refused`` where it differs."""
    entries = there.releases if there else ()
    entry = ready.entry
    for each in entries:
        if each.version == entry.version:
            if each.document == entry.document:
                return None
            raise Refused(
                f"{ready.release.name} {entry.version} is in the index with other content: a release never changes",
                hints=("give the release another version",),
            )
    releases = tuple(newest_first([*entries, entry]))
    of = ready.release if there is None or releases[0] is entry else there
    return ModelDocument(name=ready.release.name, task=of.task, summary=of.summary, releases=releases)
