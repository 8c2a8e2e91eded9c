"""Site: an index on this machine, where its keys lie, and who changes it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ...catalog.errors import Refused, VerificationError
from ..files import explained
from ..home import config_folder
from ..locks import hold
from . import roles
from .draft import Draft
from .keys import KeyFolder
from .place import Place

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_WAIT_S: Final = 600.0


class Site:
    """An index below a folder, and the keys that sign it, which lie elsewhere."""

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        """Sign the index in ``folder`` with the keys in the folder ``keys``.

        Without one they lie in the user's folder for settings, below ``keys``, under the fingerprint of the first root:
        so they are found wherever the index is moved.
        """
        self.place: Place = Place(folder)
        self.every: Path = config_folder() / "keys"
        """Where the keys of an index lie that has no folder of its own for them."""
        self.keys = keys

    def held(self) -> KeyFolder:
        """Return the folder with the keys.

        Raises:
            NotFoundError: there is no index.
            Refused: they lie in the index.
            MachineError: the first root cannot be read.
        """
        held = KeyFolder(self.keys or self.every / self._first())
        self.refuse_inside(held.folder)
        return held

    def _first(self) -> str:
        return fingerprint(self.place.first_root())

    def refuse_inside(self, keys: Path) -> None:
        """Raise ``Refused`` where keys would be handed out."""
        if keys.resolve().is_relative_to(self.place.folder.resolve()):
            raise Refused(
                f"the keys would lie in {self.place.folder}, all of which is handed out",
                hints=("name with --keys a folder beside it",),
            )

    @contextmanager
    def locked(self, folder: Path) -> Generator[None]:
        """Hold the lock in a folder of keys; raise ``MachineError`` where another process does for too long."""
        path = folder / "lock"
        with explained(path, done="locked"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = hold(path, limit_s=_WAIT_S)
        try:
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def changing(self) -> Generator[Draft]:
        """Yield the next state of the index, to be changed and published; nobody else changes it meanwhile.

        Raises:
            NotFoundError: there is no index, or no online key.
            Refused: the keys lie in the index.
            VerificationError: the index was changed by others, or put back to an older state.
            InvalidDocument: the index or the key is damaged.
            MachineError: a file cannot be read, or another process signs for too long.
        """
        held = self.held()
        online = held.online()
        with self.locked(held.folder):
            draft = Draft(self.place, roles.load(self.place.metadata, online), online)
            self.refuse_older(draft.state.timestamp.version)
            yield draft
            self.remember(draft.state.timestamp.version)

    def refuse_older(self, serial: int) -> None:
        """Raise ``VerificationError`` where a later state of the index was signed with the keys than this serial is.

        Or whoever may write into the folder could have what they put back signed anew: a release that was revoked
        since, say.
        """
        held, first = self.held(), self._first()
        if serial < (last := held.serial(first)):
            raise VerificationError(
                f"{self.place.folder} was put back: it is at serial {serial}, and {last} was signed with these keys",
                hints=("put the newer state back", f"if this is what you want, remove {held.serial_file(first)}"),
            )

    def remember(self, serial: int) -> None:
        """Keep beside the keys which serial was signed last; raise ``MachineError`` where that cannot be."""
        held, first = self.held(), self._first()
        if serial > held.serial(first):
            held.remember(first, serial)


def fingerprint(root: bytes) -> str:
    """Return what a client pins: the sha256 of a root, in hexadecimal digits."""
    return sha256(root).hexdigest()
