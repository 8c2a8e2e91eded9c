"""Draft: the next state of an index, signed and written only once all of it is known."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

from ...catalog.values.document import ModelDocument
from ...catalog.values.listing import Listing
from .. import wire
from ..listing import PATH, decode_listing, encode_listing, with_model
from . import roles

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from datetime import datetime

    from securesystemslib.signer import CryptoSigner
    from tuf.api.metadata import Targets

    from ...catalog.values.names import ModelName
    from .place import Place
    from .roles import State


class Draft:
    """What an index is, and what is to change in it. Until ``publish`` has ended, all that was signed before holds."""

    def __init__(self, place: Place, state: State, online: CryptoSigner) -> None:
        """Go on from ``state``, which the online key signed."""
        self.place = place
        self.state = state
        self.online = online
        self._changed: dict[str, Targets] = {}
        self.signers: dict[str, Sequence[CryptoSigner]] = {}
        """Who signs a role in the place of the online key."""
        self._targets: dict[str, bytes] = {}
        self._kept: dict[str, set[str]] = {}
        self._models = 0

    def role(self, name: str, *signers: CryptoSigner) -> Targets:
        """Return what a role says; only where the first of ``signers``, without one the online key, signed it.

        Raises:
            VerificationError: it did not.
            InvalidDocument: the file is damaged.
            MachineError: it cannot be read.
        """
        from tuf.api.metadata import Targets

        if name in self._changed:
            return self._changed[name]
        file = f"{self.state.version(name)}.{name}.json"
        return roles.read(file, self.place.metadata(file), Targets, signers[0] if signers else self.online)

    def sign(self, name: str, signed: Targets, *signers: CryptoSigner) -> None:
        """Have the next version of a role signed, by the online key if by nobody else."""
        self._changed[name] = signed
        if signers:
            self.signers[name] = signers

    def document(self, name: ModelName) -> ModelDocument | None:
        """Return the package document of a model, if there is one. Raises as ``role``."""
        data = self._target(document_path(name))
        return wire.decode(data, ModelDocument) if data else None

    def documents(self, *, but: ModelName) -> Generator[bytes]:
        """Yield the package documents of all models but one, and of all EP packages. Raises as ``role``."""
        every = [self.role(role) for role in self.state.bins.get_roles()]
        for signed in [*every, *roles.owned(self.state, self.place.metadata).values()]:
            for path, told in signed.targets.items():
                if path not in {PATH, document_path(but)}:
                    yield self.place.target(path, told.hashes["sha256"])

    def put(self, document: ModelDocument, *, earlier: bool = True) -> None:
        """Have a model's package document replaced by this one, and what the listing tells of it.

        Without ``earlier`` the one before does not stay. Raises as ``role``, and ``InvalidDocument`` where one of both
        would be too large.
        """
        path = document_path(document.name)
        self._put(path, wire.encode(document))
        if not earlier:
            self._kept[path] &= {roles.target(path, self._targets[path]).hashes["sha256"]}
        self._list(document.name, document)

    def drop(self, name: ModelName) -> None:
        """Have a model's package document taken out, and what the listing tells of it. Raises as ``put``."""
        path = document_path(name)
        role = self.state.bins.get_role_for_target(path)
        signed = self.role(role)
        del signed.targets[path]
        self._kept[path] = set()
        self.sign(role, signed)
        self._list(name, None)

    def listing(self) -> Listing:
        """Return the listing of all models. Raises as ``role``."""
        data = self._target(PATH)
        return decode_listing(data) if data else Listing(models=())

    def publish(self, now: datetime, *, snapshot: bool = True) -> int:
        """Write what was changed, what names a file after it; return the new serial.

        Without ``snapshot`` the timestamp alone is signed anew. Of each document that was changed the one before stays,
        for clients that are on the way, and no other. Raises ``MachineError`` where a file cannot be written.
        """
        self._grow()
        self.place.sweep(self._targets)
        for path, data in self._targets.items():
            self.place.write_target(path, data)
        signing = roles.Signing(self.online, now, self.signers)
        files = roles.change(self.state, self._changed, signing) if snapshot else roles.stamp(self.state, signing)
        self.place.write_metadata(files)
        for path, kept in self._kept.items():
            self.place.keep_targets(path, kept)
        return self.state.timestamp.version

    def _list(self, name: ModelName, document: ModelDocument | None) -> None:
        listing = with_model(self.listing(), name, document)
        self._models = len(listing.models)
        self._put(PATH, encode_listing(listing))

    def _grow(self) -> None:
        """Spread what the bins tell over more of them, where they have become too full."""
        before = self.state.bins
        if not (after := roles.more_bins(before, self._models)):
            return
        told = [self.role(name) for name in before.get_roles()]
        for name in before.get_roles():
            self._changed.pop(name, None)
        delegations = self.state.models.delegations
        assert delegations  # noqa: S101 - its bins were just read
        delegations.succinct_roles = after
        self._changed |= {**roles.spread(after, told), "models": self.state.models}

    def _put(self, path: str, data: bytes) -> None:
        name = self.state.bins.get_role_for_target(path)
        self.put_as(name, self.role(name), path, data)

    def put_as(self, name: str, signed: Targets, path: str, data: bytes, *signers: CryptoSigner) -> None:
        """Have a document replaced that a role speaks for, which then is signed; what is there already stays."""
        before, after = signed.targets.get(path), roles.target(path, data)
        if before == after:
            return
        signed.targets[path] = after
        self._targets[path] = data
        self._kept[path] = {each.hashes["sha256"] for each in (before, after) if each}
        self.sign(name, signed, *signers)

    def _target(self, path: str) -> bytes | None:
        told = self.role(self.state.bins.get_role_for_target(path)).targets.get(path)
        return self.place.target(path, told.hashes["sha256"]) if told else None


def document_path(name: ModelName) -> str:
    """Return the path of a model's package document among what is signed."""
    return f"models/{name}.json"
