"""The store in a folder, which all programs of a user share; its layout stands in docs/reference/store.md."""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import ExitStack, nullcontext, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ..catalog.errors import MachineError, NotFoundError, VerificationError
from ..catalog.values.digest import Digest
from .blobs import Blob, write_whole
from .files import WAYS, explained, hash_file, lay_out, reachable, refusal, remove, replace, sync_folder
from .locks import wait_for
from .partial import Wanted, chunks, complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from .files import Way
    from .partial import Fetch, Listed

VERSION: Final = 1
FOLDERS: Final = ("blobs", "partial", "damaged", "leases", "locks")
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class Damaged(NamedTuple):
    """What lay in a blob's place and was not the blob; it was set aside."""

    digest: Digest
    path: Path


class _About(msgspec.Struct, frozen=True):
    """The file ``store.json``."""

    version: int


class _Record(msgspec.Struct, frozen=True):
    """What a blob's file was when it was last hashed; the time of the record's own file is the blob's last use."""

    size: int
    mtime_ns: int
    inode: int


class FolderStore:
    """A ``BlobStore`` in a folder, safe between threads and processes; one that may only be read can be read.

    Nothing is written before the first blob is. Every method raises ``MachineError`` where the disk or another
    process stands in the way.
    """

    def __init__(self, root: Path, *, stall_s: float = 120, ways: Sequence[Way] = WAYS) -> None:
        """Use the store at ``root``; wait for others ``stall_s`` seconds without progress; lay out by ``ways``.

        Raises:
            MachineError: a newer version of the program wrote the store, or ``store.json`` cannot be read.
        """
        self.root: Path = reachable(root)
        self._stall_s = stall_s
        self._ways = ways
        self._read_version()

    def add(self, chunks: Iterable[bytes], digest: Digest, size_bytes: int) -> Path:
        """Store the blob of which ``chunks`` are all bytes, and return its file; they are not read where it is there.

        Whatever an interrupted ``chunks`` gave is kept for :meth:`resume`.

        Raises:
            VerificationError: they are not what ``digest`` and ``size_bytes`` name.
        """
        return self._add(lambda _: chunks, Wanted(digest, size_bytes), anew=True)

    def resume(self, fetch: Fetch, digest: Digest, size_bytes: int, listed: Listed | None = None) -> Path:
        """Store a blob, and return its file: as :meth:`add`, but go on from the bytes that are kept from earlier.

        They are hashed again. Where the whole turns out wrong, the pieces that are, as ``listed`` tells them, are
        fetched once more; if it still is, or nobody tells, all is removed: the next try begins anew.
        """
        return self._add(fetch, Wanted(digest, size_bytes, listed), anew=False)

    def add_file(self, path: Path, digest: Digest, size_bytes: int) -> Path:
        """Store a copy of the file at ``path``; raise what :meth:`add` raises."""
        with explained(path, done="read"):
            file = path.open("rb", buffering=0)
        with file:
            return self.add(chunks(file, path), digest, size_bytes)

    def path(self, digest: Digest, size_bytes: int) -> Path | None:
        """Return the blob's file, verified, or ``None`` where it is absent, or was damaged and is now set aside.

        It is hashed only where its size, time or inode are not as recorded.

        Raises:
            VerificationError: the blob is of another size.
        """
        blob = self._blob(digest)
        with explained(blob, done="read"):
            try:
                found = blob.stat()
            except (FileNotFoundError, NotADirectoryError):
                return None
            if not self._is_recorded(blob, found):
                try:
                    held: ExitStack | nullcontext[None] = self._lock(digest)
                except OSError:  # a store that may only be read
                    held = nullcontext()
                with held:
                    return self._verified(digest, size_bytes)
        return self._of_size(blob, found, size_bytes)

    def open(self, digest: Digest, size_bytes: int) -> BinaryIO | None:
        """Return the blob that :meth:`path` returns, opened for reading."""
        path = self.path(digest, size_bytes)
        if path is None:
            return None
        with explained(path, done="read"):
            return path.open("rb")

    def place(self, digest: Digest, size_bytes: int, target: Path) -> None:
        """Lay the blob out at ``target``, in place of a file that is there: by hard link, else reflink, else copy.

        Who writes into a hard link writes into the blob: the store sees it at the next use, and sets the blob aside.

        Raises:
            NotFoundError: the store does not have it.
        """
        blob = self.path(digest, size_bytes)
        if blob is None:
            raise NotFoundError(f"the store {self.root} does not have {digest}")
        with explained(target, done="written", missing_bytes=size_bytes):
            lay_out(blob, reachable(target), self._ways)

    def remove(self, digest: Digest) -> None:
        """Remove a blob, if it is there, whoever uses it; ``collect`` is what asks first."""
        blob = self._blob(digest)
        if blob.exists() or _record(blob).exists():
            with explained(blob, done="removed"), self._lock(digest):
                remove(_record(blob))  # first: a blob without a record is hashed, a record without a blob is rubbish
                remove(blob)

    def blobs(self) -> list[Blob]:
        """Return all blobs, by digest."""
        blobs: list[Blob] = []
        with explained(self.root, done="read"):
            for file in sorted(self.root.glob("blobs/sha256/??/*")):
                if _HEX.fullmatch(hexadecimal := file.parent.name + file.name):
                    with suppress(FileNotFoundError):
                        found = file.stat()
                        blobs.append(Blob(Digest(f"sha256:{hexadecimal}"), found.st_size, _used(file, found)))
        return blobs

    def partials(self) -> list[Blob]:
        """Return what is there of blobs that are not whole; used is when they last grew."""
        partials: list[Blob] = []
        with explained(self.root, done="read"):
            for file in sorted(self.root.glob("partial/*")):
                if _HEX.fullmatch(file.name):
                    with suppress(FileNotFoundError):
                        found = file.stat()
                        partials.append(Blob(Digest(f"sha256:{file.name}"), found.st_size, found.st_mtime))
        return partials

    def damaged(self) -> list[Damaged]:
        """Return what was set aside, by digest and time."""
        files = sorted(self.root.glob("damaged/*"))
        return [Damaged(Digest(f"sha256:{file.name[:64]}"), file) for file in files if _HEX.match(file.name)]

    def has(self, digest: Digest) -> bool:
        """Return whether there is a file for a blob; whether it is the blob, :meth:`path` tells."""
        return self._blob(digest).is_file()

    def locks_of_nothing(self) -> list[Digest]:
        """Return the blobs of which there is a lock alone."""
        names = [file.name for file in (self.root / "locks").glob("*") if _HEX.fullmatch(file.name)]
        return [digest for name in sorted(names) if self._is_nothing(digest := Digest(f"sha256:{name}"))]

    def drop_lock(self, digest: Digest) -> None:
        """Remove the lock of a blob of which there is nothing else; raise ``MachineError`` where it is held.

        Whoever waits for it meanwhile sees that it lost its name, and takes the one that has it: filelock does.
        """
        held = self._lock(digest, stall_s=0)
        path = self.root / "locks" / _hexadecimal(digest)
        with held:
            nothing = self._is_nothing(digest)
            if nothing and os.name != "nt":
                path.unlink()
        if nothing and os.name == "nt":  # which removes no file that is open, so none that anybody waits for
            with suppress(OSError):
                path.unlink()

    def verify(self, digest: Digest) -> bool:
        """Hash a blob whatever its record says, and return whether it is sound; a damaged one is set aside.

        One that is absent is not damaged. Its last use stays.
        """
        blob = self._blob(digest)
        with explained(blob, done="read"):
            if not blob.exists() or _is_sound(blob, digest):
                return True
            try:
                held: ExitStack | nullcontext[None] = self._lock(digest)
            except OSError:
                held = nullcontext()
            with held:
                # Another process may have set it aside meanwhile, and stored it anew.
                if not blob.exists() or _is_sound(blob, digest):
                    return True
                self._set_aside(digest)
                return False

    def drop(self, blob: Blob, *, partial: bool = False) -> bool:
        """Remove a blob, or a partial, and return whether it was: not if it was used since, or is being written."""
        file = self.root / "partial" / _hexadecimal(blob.digest) if partial else self._blob(blob.digest)
        with explained(file, done="removed"):
            try:
                held = self._lock(blob.digest, stall_s=0)
            except MachineError:
                return False
            with held:
                try:
                    found = file.stat()
                except FileNotFoundError:
                    return False
                if (found.st_mtime if partial else _used(file, found)) > blob.used:
                    return False
                remove(_record(file))
                remove(file)
                return True

    def prepare(self) -> None:
        """Make the store's folders; raise ``MachineError`` where it cannot be written, or is a newer version's."""
        self._read_version()
        with explained(self.root, done="written"):
            for folder in FOLDERS:
                (self.root / folder).mkdir(parents=True, exist_ok=True)
        about = self.root / "store.json"
        if not about.exists():
            write_whole(about, msgspec.json.encode(_About(VERSION)), durably=True)

    def _add(self, fetch: Fetch, wanted: Wanted, *, anew: bool) -> Path:
        digest, size_bytes, _ = wanted
        blob = self._blob(digest)
        partial = self.root / "partial" / _hexadecimal(digest)
        self.prepare()
        with explained(self.root / "locks", done="written"):
            held = self._lock(digest)
        with held:
            with explained(blob, done="read"):
                found = self._verified(digest, size_bytes)
            if found is None:
                complete(partial, fetch, wanted, anew=anew)
                with explained(blob, done="written"):
                    made = not blob.parent.is_dir()
                    blob.parent.mkdir(parents=True, exist_ok=True)
                    replace(partial, blob)
                    sync_folder(blob.parent)
                    if made:
                        sync_folder(blob.parent.parent)
                    self._write_record(blob, blob.stat())
        return blob

    def _verified(self, digest: Digest, size_bytes: int) -> Path | None:
        """Return the blob's file as :meth:`path` does; the caller holds its lock, if the store can be written."""
        blob = self._blob(digest)
        try:
            found = blob.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not self._is_recorded(blob, found):
            if not _is_sound(blob, digest):
                self._set_aside(digest)
                return None
            # As it was before it was hashed: if it was changed meanwhile, the record does not match.
            self._write_record(blob, found)
        return self._of_size(blob, found, size_bytes)

    def _of_size(self, blob: Path, found: os.stat_result, size_bytes: int) -> Path:
        if found.st_size != size_bytes:
            raise VerificationError(f"{blob} has {found.st_size:,} bytes, as its digest says, not {size_bytes:,}")
        with suppress(OSError):
            os.utime(_record(blob))
        return blob

    def _is_recorded(self, blob: Path, found: os.stat_result) -> bool:
        try:
            record = msgspec.json.decode(_record(blob).read_bytes(), type=_Record)
        except (OSError, msgspec.MsgspecError):
            return False
        return record == _Record(found.st_size, found.st_mtime_ns, found.st_ino)

    def _write_record(self, blob: Path, found: os.stat_result) -> None:
        record = _Record(found.st_size, found.st_mtime_ns, found.st_ino)
        with suppress(MachineError):  # without one the blob is hashed at its next use
            write_whole(_record(blob), msgspec.json.encode(record))

    def _set_aside(self, digest: Digest) -> None:
        """Move what is not the blob away; where that cannot be, it stays, and is hashed again at each use."""
        blob = self._blob(digest)
        with suppress(OSError):
            (self.root / "damaged").mkdir(exist_ok=True)
            remove(_record(blob))
            replace(blob, self.root / "damaged" / f"{_hexadecimal(digest)}.{time.time_ns()}")

    def _lock(self, digest: Digest, *, stall_s: float | None = None) -> ExitStack:
        hexadecimal = _hexadecimal(digest)
        partial = self.root / "partial" / hexadecimal

        def progress() -> int:
            with suppress(OSError):
                return partial.stat().st_size
            return -1

        stall_s = self._stall_s if stall_s is None else stall_s
        return wait_for(self.root / "locks" / hexadecimal, stall_s=stall_s, progress=progress)

    def _is_nothing(self, digest: Digest) -> bool:
        return not self._blob(digest).exists() and not (self.root / "partial" / _hexadecimal(digest)).exists()

    def _blob(self, digest: Digest) -> Path:
        hexadecimal = _hexadecimal(digest)
        return self.root / "blobs" / "sha256" / hexadecimal[:2] / hexadecimal[2:]

    def _read_version(self) -> None:
        about = self.root / "store.json"
        try:
            version = msgspec.json.decode(about.read_bytes(), type=_About).version
        except FileNotFoundError:
            return
        except msgspec.MsgspecError as error:
            raise MachineError(
                f"{about} does not tell the store's version: {error}",
                hints=(f'write {{"version": {VERSION}}} into it if no newer inferry was ever used here',),
            ) from error
        except OSError as error:
            raise refusal(error, about, done="read") from error
        if version > VERSION:
            raise MachineError(
                f"{about}: a newer inferry wrote this store: it has version {version}, and this one reads {VERSION}",
                hints=("update inferry, or set INFERRY_HOME to another folder",),
            )


def _hexadecimal(digest: Digest) -> str:
    return Digest.parse(digest).removeprefix("sha256:")


def _record(blob: Path) -> Path:
    return blob.with_name(f"{blob.name}.json")


def _used(blob: Path, found: os.stat_result) -> float:
    try:
        return _record(blob).stat().st_mtime
    except OSError:
        return found.st_mtime


def _is_sound(blob: Path, digest: Digest) -> bool:
    return stat.S_ISREG(blob.stat().st_mode) and hash_file(blob) == digest
