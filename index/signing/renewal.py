"""Renewal: what was signed is signed anew before it expires."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from ...catalog.errors import Refused
from . import roles
from .keys import read_key

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from .draft import Draft
    from .keys import Ask
    from .site import Site

_SHARES: Final = {"timestamp": 1 / 2, "snapshot": 1 / 2, "models": 1 / 3, roles.PREFIX: 1 / 3}
"""Of how much of its life must be left for what the online key signs to stay as it is."""
_SOON: Final = timedelta(days=60)
OFFLINE: Final = ("root", "targets")


class Renewed(NamedTuple):
    """What was signed anew."""

    serial: int
    """Of the index, after it."""
    renewed: tuple[str, ...]
    """The roles, all bins as one."""
    expires: dict[str, datetime]
    """By role, all bins as one: the first that expires."""
    soon: dict[str, datetime]
    """Of the roles that offline keys sign, those that expire within 60 days, or have."""


def renew(site: Site, now: datetime) -> Renewed:
    """Sign anew what the online key signs and is near its expiry; nothing is written where nothing is.

    Raises what ``Site.changing`` raises.
    """
    with site.changing() as draft:
        state = draft.state
        near: list[str] = []
        if _near("models", state.models.expires, now):
            draft.sign("models", state.models)
            near.append("models")
        bins = {name: draft.role(name) for name in state.bins.get_roles()}
        for name, signed in bins.items():
            if _near(roles.PREFIX, signed.expires, now):
                draft.sign(name, signed)
                near += [roles.PREFIX] * (roles.PREFIX not in near)
        snapshot = bool(near) or _near("snapshot", state.snapshot.expires, now)
        if snapshot or _near("timestamp", state.timestamp.expires, now):
            draft.publish(now, snapshot=snapshot)
            near += ["snapshot"] * snapshot + ["timestamp"]
        return _told(draft, near, now)


def renew_offline(site: Site, key: Path, now: datetime, ask: Ask | None = None) -> Renewed:
    """Sign anew the roles that an offline key signs: ``root``, ``targets``, those of namespaces that it owns.

    Raises:
        Refused: the key signs none of them, or the passphrase is not its own.
        UsageError: nobody tells the passphrase.

    Raises also what ``Site.changing`` raises.
    """
    from tuf.api.metadata import Root

    signer = read_key(key, ask)
    with site.changing() as draft:
        data = draft.place.newest_root()
        root = roles.read("root.json", data, Root)
        renewed = [role for role in OFFLINE if signer.public_key.keyid in root.roles[role].keyids]
        delegated = roles.delegated(draft.state, draft.place.metadata)
        owned = [
            role
            for role in roles.owned(draft.state, draft.place.metadata)
            if signer.public_key.keyid in delegated[role].keyids
        ]
        if not renewed and not owned:
            raise Refused(f"{key} signs neither root nor targets nor a namespace of {draft.place.folder}")
        if "root" in renewed:
            root = roles.read("root.json", data, Root, signer)
            draft.place.write_metadata(roles.renew_root(root, now, signer))
        below = [*(["targets"] if "targets" in renewed else []), *owned]
        for role in below:
            draft.sign(role, draft.role(role, signer), signer)
        if below:
            draft.publish(now)
            renewed += [*owned, "snapshot", "timestamp"]
        return _told(draft, renewed, now)


def _near(role: str, expires: datetime, now: datetime) -> bool:
    return expires - now < roles.lifetime(role) * _SHARES[role]


def _told(draft: Draft, renewed: list[str], now: datetime) -> Renewed:
    from tuf.api.metadata import Root

    root = roles.read("root.json", draft.place.newest_root(), Root)
    expires = roles.expiry(root, draft.state, draft.place.metadata)
    offline = [role for role in expires if role in OFFLINE or role.startswith(roles.OWNED)]
    soon = {role: expires[role] for role in offline if expires[role] - now < _SOON}
    return Renewed(draft.state.timestamp.version, tuple(renewed), expires, soon)
