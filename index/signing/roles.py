"""Roles: the metadata of an index, made and changed; bytes in, bytes out.

``root`` and ``targets`` are signed by offline keys; ``targets`` delegates the documents of models to ``models``, and
that to bins by the hash of a document's path. The online key signs ``models``, bins, ``snapshot`` and ``timestamp``.
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ...catalog.errors import InvalidDocument, UsageError, VerificationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from securesystemslib.signer import CryptoSigner
    from tuf.api.metadata import (
        DelegatedRole,
        Metadata,
        MetaFile,
        Root,
        Snapshot,
        SuccinctRoles,
        TargetFile,
        Targets,
        Timestamp,
    )

    from .keys import Keys

    Kind = TypeVar("Kind", Root, Timestamp, Snapshot, Targets)

BINS: Final = 16
"""How many bins a small index begins with."""
_NUMBERS: Final = tuple(2**bits for bits in range(1, 13))
"""How many bins there can be."""
PREFIX: Final = "bins"
OWNED: Final = "ep-"
"""And a namespace: the role that speaks for its EP packages, signed by its owner."""
TIMESTAMP: Final = "timestamp.json"
FULL: Final = 512
"""How many documents bins hold on average before there are more of them: then a quarter of that."""
_PATTERN: Final = "models/*/*"
_ALL: Final = ("root", "timestamp", "snapshot", "targets")
_DAYS: Final = {"root": 365, "targets": 365, "ep": 365, "models": 90, PREFIX: 90, "snapshot": 30, "timestamp": 7}


class State(NamedTuple):
    """What an index is at a moment: what its timestamp names, and what that names."""

    timestamp: Timestamp
    snapshot: Snapshot
    models: Targets

    @property
    def bins(self) -> SuccinctRoles:
        """The bins."""
        found = self.models.delegations.succinct_roles if self.models.delegations else None
        if not found:
            raise InvalidDocument("the role `models` delegates to no bins")
        return found

    def names(self, role: str) -> bool:
        """Return whether the snapshot names a role: one that has never signed anything it does not."""
        return f"{role}.json" in self.snapshot.meta

    def version(self, role: str) -> int:
        """Return the version of a role that the snapshot names; raise ``InvalidDocument`` where it names none."""
        try:
            return self.snapshot.meta[f"{role}.json"].version
        except KeyError:
            raise InvalidDocument(f"the snapshot names no version of `{role}`") from None


class Signing(NamedTuple):
    """Who signs, and when."""

    online: CryptoSigner
    now: datetime
    others: Mapping[str, Sequence[CryptoSigner]] = {}
    """By role, who signs it in the place of the online key."""

    def sign(self, role: str, signed: Kind) -> bytes:
        """Return the file of what a role says."""
        return sign(signed, *self.others.get(role, (self.online,)))


def make(keys: Keys, bins: int, now: datetime) -> dict[str, bytes]:
    """Return the files of an index without models by name, the timestamp last.

    Raises:
        UsageError: ``bins`` is no power of two from 2 to 4,096.
    """
    from tuf.api.metadata import DelegatedRole, Delegations, MetaFile, Root, Snapshot, SuccinctRoles, Targets, Timestamp

    if bins not in _NUMBERS:
        raise UsageError(f"{bins} is no number of bins: a power of two from {_NUMBERS[0]} to {_NUMBERS[-1]}")
    online = keys.online.public_key
    root = Root(expires=_expires("root", now), consistent_snapshot=True)
    for role, key in zip(_ALL, (keys.root, keys.online, keys.online, keys.targets), strict=True):
        root.add_key(key.public_key, role)
    to_models = DelegatedRole("models", [online.keyid], 1, terminating=True, paths=[_PATTERN])
    targets = Targets(
        expires=_expires("targets", now), delegations=Delegations({online.keyid: online}, {"models": to_models})
    )
    to_bins = SuccinctRoles([online.keyid], 1, bins.bit_length() - 1, PREFIX)
    models = Targets(
        expires=_expires("models", now), delegations=Delegations({online.keyid: online}, succinct_roles=to_bins)
    )
    names = [*to_bins.get_roles()]
    one_bin = sign(Targets(expires=_expires(PREFIX, now)), keys.online)
    snapshot = Snapshot(
        expires=_expires("snapshot", now),
        meta={f"{name}.json": MetaFile(1) for name in ("targets", "models", *names)},
    )
    told = sign(snapshot, keys.online)
    timestamp = Timestamp(expires=_expires("timestamp", now), snapshot_meta=MetaFile.from_data(1, told, ["sha256"]))
    return {
        "1.root.json": sign(root, keys.root),
        "1.targets.json": sign(targets, keys.targets),
        "1.models.json": sign(models, keys.online),
        **{f"1.{name}.json": one_bin for name in names},
        "1.snapshot.json": told,
        TIMESTAMP: sign(timestamp, keys.online),
    }


def renew_root(root: Root, now: datetime, *keys: CryptoSigner) -> dict[str, bytes]:
    """Return the file that makes ``root`` the next version of itself, by name, signed by each of ``keys``."""
    root.version += 1
    root.expires = _expires("root", now)
    return {f"{root.version}.root.json": sign(root, *keys)}


def change(state: State, changed: Mapping[str, Targets], signing: Signing) -> dict[str, bytes]:
    """Return the files that make ``changed`` the next versions of its roles, by name, the timestamp last."""
    from tuf.api.metadata import MetaFile

    snapshot = state.snapshot
    files: dict[str, bytes] = {}
    for role, signed in changed.items():
        signed.version = snapshot.meta[f"{role}.json"].version + 1 if f"{role}.json" in snapshot.meta else 1
        signed.expires = _expires(role, signing.now)
        snapshot.meta[f"{role}.json"] = MetaFile(signed.version)
        files[f"{signed.version}.{role}.json"] = signing.sign(role, signed)
    snapshot.version += 1
    snapshot.expires = _expires("snapshot", signing.now)
    told = signing.sign("snapshot", snapshot)
    files[f"{snapshot.version}.snapshot.json"] = told
    state.timestamp.snapshot_meta = MetaFile.from_data(snapshot.version, told, ["sha256"])
    return files | stamp(state, signing)


def stamp(state: State, signing: Signing) -> dict[str, bytes]:
    """Return the file that makes the next timestamp, of the same snapshot."""
    timestamp = state.timestamp
    timestamp.version += 1
    timestamp.expires = _expires("timestamp", signing.now)
    return {TIMESTAMP: signing.sign("timestamp", timestamp)}


def more_bins(bins: SuccinctRoles, targets: int) -> SuccinctRoles | None:
    """Return the delegation to more bins, for so many targets; ``None`` where those there are will do."""
    from tuf.api.metadata import SuccinctRoles

    if targets <= FULL * bins.number_of_bins or bins.number_of_bins == _NUMBERS[-1]:
        return None
    number = next((each for each in _NUMBERS if each * FULL >= 4 * targets), _NUMBERS[-1])
    return SuccinctRoles(bins.keyids, bins.threshold, number.bit_length() - 1, bins.name_prefix)


def spread(bins: SuccinctRoles, told: Iterable[Targets]) -> dict[str, Targets]:
    """Return what each of ``bins`` tells, of what other bins ``told``."""
    from tuf.api.metadata import Targets

    made = {name: Targets() for name in bins.get_roles()}
    for each in told:
        for path, found in each.targets.items():
            made[bins.get_role_for_target(path)].targets[path] = found
    return made


def target(path: str, data: bytes) -> TargetFile:
    """Return what a bin says of the document at ``path``."""
    from tuf.api.metadata import TargetFile

    return TargetFile.from_data(path, data, ["sha256"])


def read(name: str, data: bytes, kind: type[Kind], signer: CryptoSigner | None = None) -> Kind:
    """Return what a file says; with ``signer`` only where that key signed it.

    Raises:
        InvalidDocument: it is no metadata of that kind.
        VerificationError: the key did not sign it, or it is not of the version that its name tells.
    """
    from securesystemslib.exceptions import UnverifiedSignatureError

    metadata = _parsed(name, data, kind)
    if signer:
        key = signer.public_key
        try:
            key.verify_signature(metadata.signatures[key.keyid], metadata.signed_bytes)
        except (KeyError, UnverifiedSignatureError) as error:
            raise VerificationError(
                f"{name} was not signed by the key that is here",
                hints=("these are the keys of another index, or somebody changed this one",),
            ) from error
    return metadata.signed


def verified(
    name: str, data: bytes, kind: type[Kind], delegator: Root | Targets, named: MetaFile | None = None
) -> Kind:
    """Return what a file says that enough of the keys have signed which ``delegator`` names for its role.

    Raises:
        InvalidDocument: it is no metadata of that kind.
        VerificationError: they have not, its version is not the one of its name, or it is not what is ``named``.
    """
    from tuf.api.exceptions import LengthOrHashMismatchError, RepositoryError

    metadata = _parsed(name, data, kind)
    role = name.removesuffix(".json").lstrip("0123456789").removeprefix(".")
    try:
        if named:
            named.verify_length_and_hashes(data)
        delegator.verify_delegate(role, metadata.signed_bytes, metadata.signatures)
    except LengthOrHashMismatchError as error:
        raise VerificationError(f"is not what was signed: {error}") from error
    except (RepositoryError, ValueError) as error:
        raise VerificationError(f"is not signed as it must be: {error}") from error
    return metadata.signed


def verified_root(name: str, data: bytes, before: Root | None) -> Root:
    """Return what a root says that signed itself, as did who the one ``before`` names. Raises as ``verified``."""
    from tuf.api.metadata import Root

    root = _parsed(name, data, Root).signed
    for delegator in (before, root):
        if delegator:
            verified(name, data, Root, delegator)
    return root


def _parsed(name: str, data: bytes, kind: type[Kind]) -> Metadata[Kind]:
    from tuf.api.metadata import Metadata
    from tuf.api.serialization import DeserializationError

    try:
        metadata = Metadata[Any].from_bytes(data)
    except DeserializationError as error:
        raise InvalidDocument(f"{name} is no TUF metadata: {error.__cause__ or error}") from error
    if not isinstance(metadata.signed, kind):
        raise InvalidDocument(f"{name} is of another role: {metadata.signed.type}")
    version = name.partition(".")[0]
    if version.isdecimal() and metadata.signed.version != int(version):
        raise VerificationError(f"{name} was changed: it holds version {metadata.signed.version}")
    return metadata


def sign(signed: Kind, *keys: CryptoSigner) -> bytes:
    """Return the file of ``signed``, signed by each of ``keys``."""
    from tuf.api.metadata import Metadata
    from tuf.api.serialization.json import JSONSerializer

    metadata: Metadata[Kind] = Metadata(signed)
    for key in keys:
        metadata.sign(key, append=True)
    return metadata.to_bytes(JSONSerializer(compact=True))


def load(read_file: Callable[[str], bytes], online: CryptoSigner | None = None) -> State:
    """Return the state of an index, of which ``read_file`` returns a file by its name. Raises what ``read`` raises."""
    from tuf.api.exceptions import LengthOrHashMismatchError
    from tuf.api.metadata import Snapshot, Targets, Timestamp

    timestamp = read(TIMESTAMP, read_file(TIMESTAMP), Timestamp, online)
    name = f"{timestamp.snapshot_meta.version}.snapshot.json"
    data = read_file(name)
    try:
        timestamp.snapshot_meta.verify_length_and_hashes(data)
    except LengthOrHashMismatchError as error:
        raise VerificationError(f"{name} was changed: it is not the one that {TIMESTAMP} names") from error
    snapshot = read(name, data, Snapshot, online)
    if "models.json" not in snapshot.meta:
        raise InvalidDocument(f"{name} names no version of `models`")
    name = f"{snapshot.meta['models.json'].version}.models.json"
    return State(timestamp, snapshot, read(name, read_file(name), Targets, online))


def bins(state: State, read_file: Callable[[str], bytes]) -> list[Targets]:
    """Return what every bin says, in their order. Raises what ``read`` raises."""
    return [_newest(role, state, read_file) for role in state.bins.get_roles()]


def delegations(targets: Targets) -> dict[str, DelegatedRole]:
    """Return to whom the top-level targets delegate, in their order."""
    return dict(targets.delegations.roles or {}) if targets.delegations else {}


def delegated(state: State, read_file: Callable[[str], bytes]) -> dict[str, DelegatedRole]:
    """Return to whom the top-level targets of an index delegate, in their order. Raises what ``read`` raises."""
    return delegations(_newest("targets", state, read_file))


def owned(state: State, read_file: Callable[[str], bytes]) -> dict[str, Targets]:
    """Return what the owner of each namespace of EP packages said, by role. Raises what ``read`` raises."""
    named = [each for each in delegated(state, read_file) if each.startswith(OWNED) and state.names(each)]
    return {role: _newest(role, state, read_file) for role in named}


def _newest(role: str, state: State, read_file: Callable[[str], bytes]) -> Targets:
    from tuf.api.metadata import Targets

    name = f"{state.version(role)}.{role}.json"
    return read(name, read_file(name), Targets)


def expiry(root: Root, state: State, read_file: Callable[[str], bytes]) -> dict[str, datetime]:
    """Return when what each role signed expires, of all bins the first. Raises what ``read`` raises."""
    return {
        "root": root.expires,
        "targets": _newest("targets", state, read_file).expires,
        **{role: told.expires for role, told in owned(state, read_file).items()},
        "models": state.models.expires,
        PREFIX: min(each.expires for each in bins(state, read_file)),
        "snapshot": state.snapshot.expires,
        "timestamp": state.timestamp.expires,
    }


def _expires(role: str, now: datetime) -> datetime:
    return now + lifetime(role)


def lifetime(role: str) -> timedelta:
    """Return for how long what a role signs holds."""
    return timedelta(days=_DAYS[role.partition("-")[0]])
