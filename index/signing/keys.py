"""Keys: what signs an index, in a folder that is never handed out.

The keys of ``root`` and ``targets`` are PEM, encrypted with a passphrase: they are needed when an index is made, and
when its keys change. The online key signs every change, so it lies open, for its owner alone.
"""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ...catalog.errors import InvalidDocument, MachineError, NotFoundError, Refused, UsageError
from ..files import explained, remove, replace, sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from securesystemslib.signer import CryptoSigner, Key

Ask: TypeAlias = "Callable[[], str]"
"""Returns the passphrase of the offline keys."""
ONLINE: Final = "online"
_WHERE: Final = "say with --keys in which folder the keys of this index are"
_SAY: Final = "--passphrase-file names the file that holds it"


class Keys(NamedTuple):
    """The three keys of an index; all are Ed25519."""

    root: CryptoSigner
    targets: CryptoSigner
    online: CryptoSigner


def make_keys() -> Keys:
    """Return new keys."""
    from securesystemslib.signer import CryptoSigner

    return Keys(*(CryptoSigner.generate_ed25519() for _ in Keys._fields))


class KeyFolder:
    """A folder with ``root.pem``, ``targets.pem`` and ``online.pem``, and the lock of who signs."""

    def __init__(self, folder: Path) -> None:
        """Keep keys in ``folder``, which is made with the first of them."""
        self.folder = folder
        self.passphrase: Path = folder / "passphrase"
        """What the offline keys are encrypted with, where nobody was there to choose it; else it is not there."""

    def fill(self, made: Keys, ask: Ask | None = None) -> Keys:
        """Return the keys that are there, and of ``made`` those that are missing, after writing them.

        Without ``ask`` the passphrase is the one that lies there, else a random one, which is written beside the keys.

        Raises:
            Refused: the passphrase is not that of the keys.
            UsageError: the passphrase is empty.
            InvalidDocument: a file is no key.
            MachineError: a file cannot be read or written.
        """
        with explained(self.folder, done="written"):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = self._secret(ask)
        held: list[CryptoSigner] = []
        for role, key in zip(Keys._fields, made, strict=True):
            path = self.path(role)
            if path.exists():
                held.append(self._read(role, secret))
            else:
                _write_privately(path, _pem(key, None if role == ONLINE else secret))
                held.append(key)
        return Keys(*held)

    def online(self) -> CryptoSigner:
        """Return the online key.

        Raises:
            NotFoundError: it is not there.
            Refused: its rotation was interrupted.
            InvalidDocument: its file is no key.
            MachineError: its file cannot be read.
        """
        if not self.path(ONLINE).exists():
            raise NotFoundError(
                f"{self.path(ONLINE)} is not there: without it nothing can be signed",
                hints=(_WHERE,),
            )
        if self._old(ONLINE):
            raise Refused(
                f"the online key in {self.folder} was being replaced, and that was interrupted",
                hints=("inferry index rotate DIR online goes on with it",),
            )
        return self._read(ONLINE, b"")

    def existing(self, role: str) -> Path:
        """Return where the key of a role lies; raise ``NotFoundError`` where it does not."""
        path = self.path(role)
        if not path.exists():
            raise NotFoundError(f"{path} is not there: the {role} key is needed", hints=(_WHERE,))
        return path

    def made(self, role: str, ask: Ask | None = None) -> CryptoSigner:
        """Return the key of a role, a new one where there is none; it is encrypted as the other offline keys are.

        Raises what ``read_key`` raises.
        """
        from securesystemslib.signer import CryptoSigner

        path = self.path(role)
        if not path.exists():
            _write_privately(path, _pem(CryptoSigner.generate_ed25519(), _secret_of(path, ask)))
        return read_key(path, ask)

    def turn(self, role: str, version: int, ask: Ask | None) -> tuple[CryptoSigner, CryptoSigner]:
        """Return the old key of a role and the new one, both of which are there now.

        The old one lies beside as ``ROLE-old-VERSION.pem`` until it is forgotten; what was interrupted is gone on with.
        Raises what ``read_key`` does, and ``NotFoundError`` where there is no key.
        """
        from securesystemslib.signer import CryptoSigner

        path = self.existing(role)
        held = read_key(path, ask)
        if not (beside := self._old(role)):
            beside = self.path(f"{role}-old-{version}")
            _write_privately(beside, _bytes(path))
        old = read_key(beside, ask)
        if held.public_key.keyid == old.public_key.keyid:
            held = CryptoSigner.generate_ed25519()
            _write_privately(path, _pem(held, None if role == ONLINE else _secret_of(path, ask)))
        return old, held

    def forget(self, role: str) -> None:
        """Remove the old key of a role, if there is one; raise ``MachineError`` where it cannot be."""
        if beside := self._old(role):
            with explained(beside, done="removed"):
                remove(beside)

    def serial_file(self, index: str) -> Path:
        """Return where lies which serial of an index, by the fingerprint of its first root, was signed last."""
        return self.folder / f"{index[:16]}.serial"

    def serial(self, index: str) -> int:
        """Return which serial of an index was signed last with these keys, 0 where that is not known.

        Raises:
            InvalidDocument: the file holds no number.
            MachineError: it cannot be read.
        """
        path = self.serial_file(index)
        if not path.exists():
            return 0
        if not (text := _bytes(path).strip()).isdigit():
            raise InvalidDocument(f"{path} holds no serial", hints=("remove it: it is made anew",))
        return int(text)

    def remember(self, index: str, serial: int) -> None:
        """Keep which serial of an index was signed last; raise ``MachineError`` where that cannot be."""
        _write_privately(self.serial_file(index), b"%d\n" % serial)

    def _old(self, role: str) -> Path | None:
        return next(self.folder.glob(f"{role}-old-*.pem"), None)

    def _secret(self, ask: Ask | None) -> bytes:
        if ask:
            if not (told := ask()):
                raise UsageError("the passphrase is empty")
            return told.encode()
        if not self.passphrase.exists():
            import secrets

            _write_privately(self.passphrase, secrets.token_urlsafe(32).encode() + b"\n")
        return _bytes(self.passphrase).strip()

    def _read(self, role: str, secret: bytes) -> CryptoSigner:
        path = self.path(role)
        if _is_encrypted(data := _bytes(path)) is (role == ONLINE):
            raise InvalidDocument(f"{path}: the {role} key is {'not ' * (role != ONLINE)}encrypted")
        return _key(path, data, secret)

    def path(self, role: str) -> Path:
        """Return where the key of a role lies."""
        return self.folder / f"{role}.pem"


def read_key(path: Path, ask: Ask | None = None) -> CryptoSigner:
    """Return the key in a PEM; if it is encrypted, by the passphrase that lies beside it, else the one of ``ask``.

    Raises:
        Refused: the passphrase is not that of the key.
        UsageError: nobody tells the passphrase.
        InvalidDocument: the file is no key.
        MachineError: it cannot be read.
    """
    data = _bytes(path)
    if not _is_encrypted(data):
        return _key(path, data, b"")
    return _key(path, data, _secret_of(path, ask))


def read_public_key(path: Path) -> Key | None:
    """Return the public half of a key in a PEM that holds no more; ``None`` where it holds something else.

    Raises:
        InvalidDocument: the file is no such key of Ed25519.
        MachineError: it cannot be read.
    """
    if not (data := _bytes(path)).startswith(b"-----BEGIN PUBLIC KEY"):
        return None
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidDocument(f"{path} is no public key in PEM: {error}") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidDocument(f"{path}: the key is not Ed25519")
    return SSlibKey.from_crypto(key)


def _secret_of(path: Path, ask: Ask | None) -> bytes:
    beside = KeyFolder(path.parent).passphrase
    if beside.exists():
        return _bytes(beside).strip()
    if not ask:
        raise UsageError(f"{path} is encrypted", hints=(_SAY,))
    return ask().encode()


def _bytes(path: Path) -> bytes:
    with explained(path, done="read"):
        return path.read_bytes()


def _is_encrypted(data: bytes) -> bool:
    return data.startswith(b"-----BEGIN ENCRYPTED")


def _key(path: Path, data: bytes, secret: bytes) -> CryptoSigner:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    encrypted = _is_encrypted(data)
    try:
        key = load_pem_private_key(data, secret if encrypted else None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        if encrypted and "PEM" not in str(error):  # what a wrong passphrase decrypts may look whole, and is no key
            raise Refused(f"{path}: this is not the passphrase of the {path.stem} key", hints=(_SAY,)) from error
        raise InvalidDocument(f"{path} is no private key in PEM: {error}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidDocument(f"{path}: the {path.stem} key is not Ed25519")
    return CryptoSigner(key)


def _pem(key: CryptoSigner, secret: bytes | None) -> bytes:
    if secret is None:
        return key.private_bytes
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    private = load_pem_private_key(key.private_bytes, None)
    return private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(secret))


def _write_privately(path: Path, data: bytes) -> None:
    """Write a whole file that its owner alone may read, from its first byte on."""
    partial = path.with_name(f".{path.name}")
    try:
        with explained(path, done="written"):
            remove(partial)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(partial, flags, stat.S_IRUSR | stat.S_IWUSR), "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(data)
                file.flush()
                os.fsync(file)
            replace(partial, path)
            sync_folder(path.parent)
    except MachineError:
        with explained(path, done="written"):
            remove(partial)
        raise
