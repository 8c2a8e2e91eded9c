"""What an index may be turned into, by whoever hands it out or holds a key: each case by its name."""
# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import DelegatedRole, Delegations, Metadata, MetaFile, Root, TargetFile
from tuf.api.serialization.json import JSONSerializer

from inferry.catalog.values.document import ModelDocument
from inferry.index import wire
from inferry.index.signing.keys import read_key
from inferry.tests.indexes import NOW, PASSPHRASE, World
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tuf.api.metadata import Snapshot, Targets, Timestamp

NAME: Final = "acme/add"
TARGET: Final = f"models/{NAME}.json"
STRANGER: Final = CryptoSigner.generate_ed25519()


class Forger:
    """An index, and the keys to sign it with."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.metadata = world.site / "metadata"

    def key(self, role: str) -> CryptoSigner:
        return read_key(self.world.keys / f"{role}.pem", lambda: PASSPHRASE)

    def signed(self, name: str) -> Any:
        return Metadata[Any].from_file(str(self.metadata / name)).signed

    def timestamp(self) -> Timestamp:
        told: Timestamp = self.signed("timestamp.json")
        return told

    def snapshot(self) -> Snapshot:
        told: Snapshot = self.signed(f"{self.timestamp().snapshot_meta.version}.snapshot.json")
        return told

    def role(self, name: str) -> Targets:
        told: Targets = self.signed(f"{self.snapshot().meta[f'{name}.json'].version}.{name}.json")
        return told

    @property
    def bin(self) -> str:
        delegations = self.role("models").delegations
        assert delegations
        assert delegations.succinct_roles
        return delegations.succinct_roles.get_role_for_target(TARGET)

    def write(self, name: str, signed: Any, *keys: CryptoSigner) -> bytes:
        metadata = Metadata(signed)
        for key in keys:
            metadata.sign(key, append=True)
        data = metadata.to_bytes(JSONSerializer(compact=True))
        (self.metadata / name).write_bytes(data)
        return data

    def stamp(self, snapshot: Snapshot, key: CryptoSigner | None = None, **more: Any) -> None:
        """Sign a snapshot, and a timestamp that names it, as the next of each."""
        online = self.key("online")
        timestamp = self.timestamp()
        snapshot.version = timestamp.snapshot_meta.version + 1
        data = self.write(f"{snapshot.version}.snapshot.json", snapshot, key or online)
        timestamp.version += 1
        timestamp.snapshot_meta = MetaFile.from_data(snapshot.version, data, ["sha256"])
        for field, value in more.items():
            setattr(timestamp, field, value)
        self.write("timestamp.json", timestamp, online)

    def replace(self, name: str, signed: Targets, *keys: CryptoSigner) -> None:
        """Sign the next version of a role, and what names it."""
        snapshot = self.snapshot()
        signed.version = snapshot.meta[f"{name}.json"].version + 1
        self.write(f"{signed.version}.{name}.json", signed, *keys)
        snapshot.meta[f"{name}.json"] = MetaFile(signed.version)
        self.stamp(snapshot)

    def document(self) -> Path:
        found = self.role(self.bin).targets[TARGET]
        return self.world.site / f"targets/models/acme/{found.hashes['sha256']}.add.json"

    def name_document(self, data: bytes, length: int | None = None) -> None:
        """Sign another package document."""
        told = TargetFile.from_data(TARGET, data, ["sha256"])
        (self.world.site / f"targets/models/acme/{told.hashes['sha256']}.add.json").write_bytes(data)
        if length is not None:
            told.length = length
        signed = self.role(self.bin)
        signed.targets[TARGET] = told
        self.replace(self.bin, signed, self.key("online"))


def _expired(role: str) -> Callable[[Forger], None]:
    past = NOW.replace(microsecond=0) - timedelta(hours=1)

    def forge(it: Forger) -> None:
        if role == "timestamp":
            it.stamp(it.snapshot(), expires=past)
        elif role == "snapshot":
            snapshot = it.snapshot()
            snapshot.expires = past
            it.stamp(snapshot)
        elif role == "root":
            root = it.signed("1.root.json")
            root.version, root.expires = 2, past
            it.write("2.root.json", root, it.key("root"))
        else:
            name = it.bin if role == "bin" else role
            signed = it.role(name)
            signed.expires = past
            it.replace(name, signed, it.key("targets" if role == "targets" else "online"))

    return forge


def _by_a_stranger(role: str) -> Callable[[Forger], None]:
    def forge(it: Forger) -> None:
        if role == "timestamp":
            timestamp = it.timestamp()
            timestamp.version += 1
            it.write("timestamp.json", timestamp, STRANGER)
        elif role == "snapshot":
            it.stamp(it.snapshot(), STRANGER)
        elif role == "root":
            root = it.signed("1.root.json")
            root.version = 2
            it.write("2.root.json", root, STRANGER)
        else:
            name = it.bin if role == "bin" else role
            it.replace(name, it.role(name), STRANGER)

    return forge


def _root(version: int, *, signers: tuple[str, ...], told: int | None = None) -> Callable[[Forger], None]:
    """Make a new root key, and have the next root signed by some of the old and the new one."""

    def forge(it: Forger) -> None:
        root: Root = it.signed("1.root.json")
        (old,) = root.roles["root"].keyids
        root.revoke_key(old, "root")
        root.add_key(STRANGER.public_key, "root")
        root.version = told or version
        keys = {"old": it.key("root"), "new": STRANGER}
        it.write(f"{version}.root.json", root, *(keys[each] for each in signers))

    return forge


def _changed(data: Callable[[bytes], bytes], which: Callable[[Forger], Path]) -> Callable[[Forger], None]:
    def forge(it: Forger) -> None:
        path = which(it)
        path.write_bytes(data(path.read_bytes()))

    return forge


def _timestamp(it: Forger) -> Path:
    return it.metadata / "timestamp.json"


def _next_snapshot(it: Forger) -> Path:
    it.stamp(it.snapshot())
    return it.metadata / f"{it.timestamp().snapshot_meta.version}.snapshot.json"


def _next_bin(it: Forger) -> Path:
    it.replace(it.bin, it.role(it.bin), it.key("online"))
    return it.metadata / f"{it.snapshot().meta[f'{it.bin}.json'].version}.{it.bin}.json"


def _next_document(it: Forger) -> Path:
    it.name_document(it.document().read_bytes() + b" ")
    return it.document()


def _older_timestamp(it: Forger) -> None:
    timestamp = it.timestamp()
    timestamp.version -= 1
    it.write("timestamp.json", timestamp, it.key("online"))


def _older_snapshot(it: Forger) -> None:
    timestamp = it.timestamp()
    timestamp.version += 1
    timestamp.snapshot_meta = MetaFile(timestamp.snapshot_meta.version - 1)
    it.write("timestamp.json", timestamp, it.key("online"))


def _older_role(it: Forger) -> None:
    snapshot = it.snapshot()
    snapshot.meta[f"{it.bin}.json"] = MetaFile(snapshot.meta[f"{it.bin}.json"].version - 1)
    it.stamp(snapshot)


def _forgotten_role(it: Forger) -> None:
    snapshot = it.snapshot()
    del snapshot.meta[f"{it.bin}.json"]
    it.stamp(snapshot)


def _of_another_moment(it: Forger) -> None:
    snapshot = it.snapshot()
    it.stamp(snapshot)
    snapshot.meta[f"{it.bin}.json"] = MetaFile(1)
    it.write(f"{snapshot.version}.snapshot.json", snapshot, it.key("online"))


def _bin_of_another_moment(it: Forger) -> None:
    path = _next_bin(it)
    version, _, rest = path.name.partition(".")
    shutil.copyfile(it.metadata / f"{int(version) - 1}.{rest}", path)


def _an_unsafe_name(it: Forger) -> None:
    models = it.role("models")
    key = it.key("online").public_key
    evil = "../../../evil"
    role = DelegatedRole(evil, [key.keyid], 1, terminating=True, paths=["models/*/*"])
    models.delegations = Delegations({key.keyid: key}, {evil: role})
    it.replace("models", models, it.key("online"))


def _a_path_that_leads_out(it: Forger) -> None:
    it.name_document(it.document().read_bytes().replace(b'"acme/add"', b'"../add"'))


def _another_model(it: Forger) -> None:
    it.name_document(it.document().read_bytes().replace(b'"acme/add"', b'"acme/odd"'))


def _a_larger_document(it: Forger) -> None:
    it.name_document(b'{"name":"acme/add","summary":"' + b"x" * 70_000 + b'"}')


def _nested(it: Forger) -> None:
    it.name_document(b"[" * 30_000 + b"]" * 30_000)


def _another_release(it: Forger) -> None:
    """Name the release document of 1.0.0 as that of 1.1.0."""
    document = wire.decode(it.document().read_bytes(), ModelDocument)
    newer, older = document.releases
    forged = msgspec.structs.replace(newer, document=older.document)
    it.name_document(wire.encode(msgspec.structs.replace(document, releases=(forged, older))))


class Case(NamedTuple):
    """One forgery."""

    forge: Callable[[Forger], None]
    words: str
    """What is told of it."""


FORGERIES: Final[dict[str, Case]] = {
    "an older timestamp": Case(_older_timestamp, "is not trusted: .*version"),
    "an older snapshot": Case(_older_snapshot, "is not trusted: .*version"),
    "an older role": Case(_older_role, "is not trusted: .*version"),
    "a role that the snapshot forgot": Case(_forgotten_role, "is not trusted"),
    "a snapshot of another moment": Case(_of_another_moment, "what came is not what its signed metadata name"),
    "a role of another moment": Case(_bin_of_another_moment, r"is not trusted: Expected bins-\w v4, got v3"),
    **{
        f"{role} that has expired": Case(_expired(role), "has expired")
        for role in ("root", "timestamp", "snapshot", "targets", "models", "bin")
    },
    **{
        f"{role} signed by a stranger": Case(_by_a_stranger(role), "is not trusted: .*signed")
        for role in ("root", "timestamp", "snapshot", "targets", "models", "bin")
    },
    "a new root that the old one did not sign": Case(_root(2, signers=("new",)), "is not trusted: .*signed"),
    "a new root that it did not sign itself": Case(_root(2, signers=("old",)), "is not trusted: .*signed"),
    "a new root of another version": Case(_root(2, signers=("old", "new"), told=3), "is not trusted"),
    "a timestamp without an end": Case(_changed(lambda it: it + b" " * 20_000, _timestamp), "more than the 16,384"),
    "a snapshot that is longer than named": Case(_changed(lambda it: it + b" ", _next_snapshot), "more than the"),
    "a snapshot that is cut short": Case(_changed(lambda it: it[:-9], _next_snapshot), "what came is not"),
    "a role without an end": Case(_changed(lambda it: it + b" " * 5_000_000, _next_bin), "more than the 5,000,000"),
    "a role that is cut short": Case(_changed(lambda it: it[:-9], _next_bin), "is not trusted"),
    "a role that is no JSON": Case(_changed(lambda _: b"\xff<html>", _next_bin), "is not trusted"),
    "a document that was changed": Case(_changed(lambda it: it[:-1] + b"!", _next_document), "what came is not"),
    "a document that is longer": Case(_changed(lambda it: it + b"!", _next_document), "more than the"),
    "a document that is cut short": Case(_changed(lambda it: it[:-1], _next_document), "what came is not"),
    "a role whose name leads out of a folder": Case(_an_unsafe_name, "is not trusted"),
}
"""What anybody may do who hands an index out, or holds one of its keys, and what clients of TUF refuse."""

DOCUMENTS: Final[dict[str, Case]] = {
    "a name that leads out of a folder": Case(_a_path_that_leads_out, "the document of `acme/add`"),
    "the document of another model": Case(_another_model, "is the document of `acme/odd`"),
    "a document that is larger than one may be": Case(_a_larger_document, "may have 64,000 bytes"),
    "a document that is nested without an end": Case(_nested, "the document of `acme/add`"),
    "the document of another release": Case(_another_release, "is acme/add@=1.0.0|is another document"),
}
"""What who holds the online key may sign, and what is refused all the same."""


def rotate(it: Forger) -> None:
    """Make a new root key, and the next root, which the old one and the new one sign."""
    version = len([*it.metadata.glob("*.root.json")])
    root: Root = it.signed(f"{version}.root.json")
    old, key = it.key("root"), CryptoSigner.generate_ed25519()
    root.revoke_key(old.public_key.keyid, "root")
    root.add_key(key.public_key, "root")
    root.version += 1
    it.write(f"{root.version}.root.json", root, old, key)
    (it.world.keys / "root.pem").write_bytes(key.private_bytes)


def two_releases(world: World) -> None:
    """Add a second release to an index with one."""
    world.repository.add(publish(world.model.parent / "newer", version="1.1.0"), NOW)
