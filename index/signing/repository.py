"""Repository: an index that this machine signs."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ...catalog.errors import Refused
from ...catalog.releases import newest_first
from ...catalog.values.document import ModelDocument
from .. import wire
from ..files import explained
from ..home import config_folder
from ..locks import hold
from . import roles
from .keys import KeyFolder, make_keys
from .place import Place
from .release import prepare

if TYPE_CHECKING:
    from collections.abc import Generator
    from datetime import datetime
    from pathlib import Path

    from tuf.api.metadata import Targets

    from ...catalog.values.digest import Digest
    from ...catalog.values.names import ModelName
    from .keys import Ask
    from .release import Ready
    from .roles import State

RootKey = Literal["offline", "online"]
_WAIT_S: Final = 600.0


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
        """Sign the index in ``folder`` with the keys in the folder ``keys``.

        Without one they lie in the user's folder for settings, below ``keys``, under the fingerprint of the first root:
        so they are found wherever the index is moved.
        """
        self._place = Place(folder)
        self._keys = keys

    def init(self, now: datetime, bins: int = roles.BINS, ask: Ask | None = None) -> Made:
        """Make an index without models; keys that are in the folder already are taken.

        ``ask`` returns the passphrase of the offline keys; without it that is a random one, which lies beside them.

        Raises:
            Refused: there is an index already, or other files; the keys would lie in it; or the passphrase is wrong.
            UsageError: ``bins`` is no power of two from 2 to 4,096, or the passphrase is empty.
            InvalidDocument: a file of a key is none.
            MachineError: a file cannot be read or written.
        """
        every = config_folder() / "keys"
        self._refuse_inside(self._keys or every)
        with self._locked(self._keys or every):
            self._place.refuse_others()
            made = make_keys()
            if self._keys:
                held = KeyFolder(self._keys)
                made = held.fill(made, ask)
                files = roles.make(made, bins, now)
                fingerprint = _fingerprint(files["1.root.json"])
            else:
                files = roles.make(made, bins, now)
                fingerprint = _fingerprint(files["1.root.json"])
                held = KeyFolder(every / fingerprint)
                held.fill(made, ask)
            self._place.write_metadata(files)
        return Made(fingerprint, held.folder, None if ask else held.passphrase)

    def add(self, folder: Path, now: datetime) -> Added:
        """Add the release in ``folder``, a manifest and its files; one that is there already changes nothing.

        Of the metadata one bin, the snapshot and the timestamp are signed anew. Until the last of them is replaced,
        all that was signed before is as it was.

        Raises:
            NotFoundError: there is no index, no model in ``folder``, or no key.
            InvalidManifest: the manifest is wrong.
            VerificationError: a file is not the one that the manifest names, or the index was changed by others.
            Refused: the version is there with other content, a file may not be handed on, or the keys lie in the index.
            InvalidDocument: the documents of the model would be too large, or the index is damaged.
            MachineError: a file cannot be read or written, or another process signs for too long.
        """
        from tuf.api.metadata import Targets

        held = self._held()
        self._refuse_inside(held.folder)
        online = held.online()
        ready = prepare(folder)
        name, version = ready.release.name, ready.release.version
        path = f"models/{name}.json"
        with self._locked(held.folder):
            state = roles.load(self._place.metadata, online)
            role = state.bins.get_role_for_target(path)
            file = f"{state.version(role)}.{role}.json"
            signed = roles.read(file, self._place.metadata(file), Targets, online)
            document = _with(self._document(signed, path), ready)
            serial = state.timestamp.version
            if document:
                serial = self._publish(ready, wire.encode(document), _Bin(state, role, signed), held, now)
        return Added(name, version, wire.link(ready.document).digest, serial, new=document is not None)

    def status(self, now: datetime) -> Status:
        """Return what the index says of itself; no signature is verified.

        Raises:
            NotFoundError: there is no index.
            InvalidDocument: the index is damaged.
            MachineError: a file cannot be read.
        """
        from tuf.api.metadata import Root, Targets

        data = self._place.newest_root()
        root = roles.read("root.json", data, Root)
        state = roles.load(self._place.metadata)
        names = [f"{state.version(role)}.{role}.json" for role in state.bins.get_roles()]
        bins = [roles.read(name, self._place.metadata(name), Targets) for name in names]
        name = f"{state.version('targets')}.targets.json"
        targets = roles.read(name, self._place.metadata(name), Targets)
        expires = {
            "root": root.expires,
            "targets": targets.expires,
            "models": state.models.expires,
            roles.PREFIX: min(each.expires for each in bins),
            "snapshot": state.snapshot.expires,
            "timestamp": state.timestamp.expires,
        }
        shared = {*root.roles["root"].keyids} & {*root.roles["timestamp"].keyids}
        return Status(
            fingerprint=_fingerprint(data),
            serial=state.timestamp.version,
            expires=expires,
            expired=tuple(role for role, end in expires.items() if end <= now),
            root_key="online" if shared or self._held().passphrase.exists() else "offline",
            models=sum(len(each.targets) for each in bins),
        )

    def _publish(self, ready: Ready, document: bytes, one: _Bin, held: KeyFolder, now: datetime) -> int:
        """Write a release into the index, what names a file after it; return the new serial."""
        path = f"models/{ready.release.name}.json"
        self._place.sweep(path)
        for source, artifact in ready.files.items():
            self._place.copy_blob(source, artifact)
        for digest, data in ready.documents.items():
            self._place.write_blob(digest, data)
        self._place.write_target(path, document)
        one.signed.targets[path] = roles.target(path, document)
        self._place.write_metadata(roles.change(one.state, one.role, one.signed, held.online(), now))
        return one.state.timestamp.version + 1

    def _document(self, signed: Targets, path: str) -> ModelDocument | None:
        """Return the package document at ``path``, if there is one."""
        if not (told := signed.targets.get(path)):
            return None
        return wire.decode(self._place.target(path, told.hashes["sha256"]), ModelDocument)

    def _held(self) -> KeyFolder:
        first = _fingerprint(self._place.first_root())
        return KeyFolder(self._keys or config_folder() / "keys" / first)

    def _refuse_inside(self, keys: Path) -> None:
        """Raise ``Refused`` where keys would be handed out."""
        if keys.resolve().is_relative_to(self._place.folder.resolve()):
            raise Refused(
                f"the keys would lie in {self._place.folder}, all of which is handed out",
                hints=("name with --keys a folder beside it",),
            )

    @contextmanager
    def _locked(self, folder: Path) -> Generator[None]:
        """Hold the lock in a folder of keys."""
        path = folder / "lock"
        with explained(path, done="locked"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = hold(path, limit_s=_WAIT_S)
        try:
            yield
        finally:
            os.close(descriptor)


class _Bin(NamedTuple):
    state: State
    role: str
    signed: Targets


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


def _fingerprint(root: bytes) -> str:
    return sha256(root).hexdigest()
