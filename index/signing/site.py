"""Site: an index on this machine, where its keys lie, and who changes it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ...catalog.errors import Refused
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
        first = fingerprint(self.place.first_root())
        held = KeyFolder(self.keys or self.every / first)
        self.refuse_inside(held.folder)
        return held

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
            VerificationError: the index was changed by others.
            InvalidDocument: the index or the key is damaged.
            MachineError: a file cannot be read, or another process signs for too long.
        """
        held = self.held()
        online = held.online()
        with self.locked(held.folder):
            yield Draft(self.place, roles.load(self.place.metadata, online), online)


def fingerprint(root: bytes) -> str:
    """Return what a client pins: the sha256 of a root, in hexadecimal digits."""
    return sha256(root).hexdigest()
