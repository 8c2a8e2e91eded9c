"""Rotation: a key is replaced by a new one, and whoever knows an older root follows.

What the old key signed is first signed by both, then the root that names the new one alone is written. So in between,
too, all that a client gets is signed by a key that its root names. The old key is kept until that is done: a rotation
that was interrupted is gone on with.
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from ...catalog.errors import Refused, VerificationError
from . import roles
from .draft import Draft
from .keys import read_key
from .site import fingerprint

if TYPE_CHECKING:
    from datetime import datetime

    from securesystemslib.signer import CryptoSigner

    from .keys import Ask, KeyFolder
    from .place import Place
    from .site import Site

Rotated = Literal["root", "targets", "online"]
_SIGNS: Final[dict[Rotated, tuple[str, ...]]] = {
    "root": ("root",),
    "targets": ("targets",),
    "online": ("snapshot", "timestamp"),
}
"""For which roles the root names a key."""


class Turned(NamedTuple):
    """A key that was replaced."""

    role: Rotated
    fingerprint: str
    """Of the new root."""
    serial: int
    """Of the index, after it."""


class _Turning(NamedTuple):
    role: Rotated
    old: CryptoSigner
    new: CryptoSigner
    now: datetime
    ask: Ask | None


def rotate(site: Site, role: Rotated, now: datetime, ask: Ask | None = None) -> Turned:
    """Replace the key of a role, or go on with what was interrupted.

    Raises:
        NotFoundError: there is no index, or a key is not there.
        Refused: the passphrase is not that of the keys, the root does not name them, or they lie in the index.
        UsageError: nobody tells the passphrase.
        VerificationError: the index was changed by others.
        InvalidDocument: the index or a key is damaged.
        MachineError: a file cannot be read or written, or another process signs for too long.
    """
    from tuf.api.metadata import Root

    held, told = site.held(), cache(ask) if ask else None
    with site.locked(held.folder):
        site.refuse_older(roles.load(site.place.metadata).timestamp.version)
        data = site.place.newest_root()
        root = roles.read("root.json", data, Root)
        old, new = held.turn(role, root.version, told)
        if any(new.public_key.keyid not in root.roles[each].keyids for each in _SIGNS[role]):
            signer = old if role == "root" else read_key(held.path("root"), told)
            root = roles.read("root.json", data, Root, signer)
            if any(old.public_key.keyid not in root.roles[each].keyids for each in _SIGNS[role]):
                raise Refused(f"the root of {site.place.folder} does not name the {role} key that is here")
            _sign_with_both(site.place, held, _Turning(role, old, new, now, told))
            for each in _SIGNS[role]:
                root.revoke_key(old.public_key.keyid, each)
                root.add_key(new.public_key, each)
            signers = (old, new) if role == "root" else (signer,)
            site.place.write_metadata(roles.renew_root(root, now, *signers))
        newest, serial = fingerprint(site.place.newest_root()), roles.load(site.place.metadata).timestamp.version
        if role != "root":  # which changes nothing of what the online key signs, and does not look at it
            site.remember(serial)
        held.forget(role)
        return Turned(role, newest, serial)


def _sign_with_both(place: Place, held: KeyFolder, it: _Turning) -> None:
    """Have all that an old key signs signed by the new one too, if it is not yet."""
    if it.role == "targets":
        online = held.online()
        draft = Draft(place, roles.load(place.metadata, online), online)
        if not _signed_by(it.new, draft):
            draft.sign("targets", draft.role("targets", it.old), it.new, it.old)
            draft.publish(it.now)
    elif it.role == "online":
        try:
            roles.load(place.metadata, it.new)
        except VerificationError:
            draft = Draft(place, roles.load(place.metadata, it.old), it.old)
            _turn_online(draft, it.new, read_key(held.path("targets"), it.ask), it.now)


def _signed_by(key: CryptoSigner, draft: Draft) -> bool:
    try:
        draft.role("targets", key)
    except VerificationError:
        return False
    return True


def _turn_online(draft: Draft, new: CryptoSigner, targets_key: CryptoSigner, now: datetime) -> None:
    """Let the new online key sign `models` and the bins, and both keys what the root names them for."""
    old, state = draft.online, draft.state
    targets = draft.role("targets", targets_key)
    targets.revoke_key(old.public_key.keyid, "models")
    targets.add_key(new.public_key, "models")
    draft.sign("targets", targets, targets_key)
    bins = {name: draft.role(name) for name in state.bins.get_roles()}
    state.models.revoke_key(old.public_key.keyid)
    state.models.add_key(new.public_key)
    for name, signed in {"models": state.models, **bins}.items():
        draft.sign(name, signed, new)
    draft.signers |= dict.fromkeys(_SIGNS["online"], (new, old))
    draft.publish(now)
