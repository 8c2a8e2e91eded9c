"""What was pulled: a record for each release, beside the store that holds its artifacts."""

from __future__ import annotations

import os
import shutil
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from ...catalog.errors import InvalidDocument, MachineError
from ...catalog.releases import newest_first
from ...catalog.values import canonical
from ...catalog.values.digest import Digest
from ...catalog.values.model import Release
from ..blobs import write_whole
from ..files import explained, reachable
from ..locks import hold
from ..store import FolderStore
from .found import Found, lay_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping
    from pathlib import Path

    from ...catalog.values.model import Variant

LOCAL: Final = "local"
"""The source of what was pulled from a folder."""
_RECORD: Final = "pulled.json"
_REVOKED: Final = "revoked.json"
_LIMIT_S: Final = 30.0


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file ``pulled.json`` of a release."""

    source: str
    origin: str
    """The folder, or the address of the index, that it was pulled from."""
    at: float
    """When, in seconds since 1970."""
    has: tuple[Digest, ...]
    """The artifacts that were pulled."""
    release: Release


class Pulled:
    """The releases that were pulled, in a folder that all programs of a user share."""

    def __init__(self, data: Path) -> None:
        """Look into the folder for data; nobody may have made it yet.

        Raises:
            MachineError: a newer version of the program wrote the store.
        """
        self._root = reachable(data) / "models"
        self.serial: Path = self._root / "serial"
        """A file that changes whenever a record does."""
        self.store: FolderStore = FolderStore(data / "store")

    def names(self) -> list[str]:
        """Return the names of all models of which something was pulled, sorted."""
        return sorted({each.release.name for each in self.records()})

    def records(self) -> list[Record]:
        """Return all records; raise ``MachineError`` where one cannot be read."""
        return [record for path in self._folders("*") if (record := self._read(path))]

    def all(self) -> list[Found]:
        """Return the newest release of each model of which something was pulled, by name; raise as ``records``."""
        names: dict[str, list[Found]] = {}
        for path in self._folders("*"):
            if record := self._read(path):
                names.setdefault(record.release.name, []).append(self._found(path, record))
        return [_newest(found) for _, found in sorted(names.items())]

    def find(self, name: str) -> list[Found]:
        """Return the releases of a model that were pulled, in no order; raise what ``records`` raises."""
        return [self._found(path, record) for path in self._folders(_slug(name)) if (record := self._read(path))]

    def record(self, found: Found) -> Record | None:
        """Return the record of a release, where it was pulled; raise ``MachineError`` where it cannot be read."""
        return self._read(self._folder(found.release)) if found.release else None

    def variants(self, found: Found) -> tuple[Variant, ...]:
        """Return the variants of a release of which every file that a run takes is here."""
        record = self.record(found)
        return self.here(record) if record else ()

    def here(self, record: Record) -> tuple[Variant, ...]:
        """Return the variants that a record names, and that the store has as well.

        A record tells what was pulled, and the store what there is of it: so no record has to be changed when a blob
        is collected, found damaged or removed by hand, and none is wrong wherever that is interrupted.
        """
        samples = [told.sample for told in record.release.inputs if told.sample]
        has = {*record.has}
        return tuple(
            variant
            for variant in record.release.variants
            if has.issuperset(needs := [each.digest for each in (variant.artifact, *variant.external_data, *samples)])
            if all(map(self.store.has, needs))
        )

    def keep(self, found: Found, variant: Variant) -> Found:
        """Record that a release's variant was pulled, whose files are in the store; return it as it is here.

        What was pulled of the same release before stays; another release of the same version gives way.

        Raises:
            MachineError: the folder cannot be written, or another process holds it.
        """
        release = found.release
        assert release  # noqa: S101 - a file that no manifest names is not pulled
        folder = self._folder(release)
        with self._held(folder):
            before = self._read(folder)
            same = before is not None and before.release == release
            files = [each.digest for each in release.files(variant)]
            record = Record(
                source=found.source or LOCAL,
                origin=found.base or str(found.folder),
                at=time.time(),
                has=tuple(dict.fromkeys([*(before.has if before and same else ()), *files])),
                release=release,
            )
            if before and same:
                if set(files) <= set(before.has):
                    return self._found(folder, before)
                record = replace(record, source=before.source, origin=before.origin)
            for artifact in variant.external_data:
                lay_out(self.store, artifact, folder / artifact.path)
            write_whole(folder / _RECORD, canonical.encode(record), durably=True)
        return self._found(folder, record)

    def forget(self, found: Found) -> None:
        """Remove a release's record and what was laid out of it; its artifacts stay until they are collected.

        Raises:
            MachineError: the folder cannot be written, or another process holds it.
        """
        if found.release is None:
            return
        folder = self._folder(found.release)
        with self._held(folder), explained(folder, done="removed"):
            # The record first: without it the rest is rubbish, not a release, and what is open goes when it is swept.
            with suppress(FileNotFoundError):
                (folder / _RECORD).unlink()
            shutil.rmtree(folder, ignore_errors=True)

    def sweep(self, *, recent_s: float) -> None:
        """Remove what was laid out of blobs that are gone, and what processes that ended left half done.

        Raises:
            MachineError: the folder cannot be written, another process holds it, or a record cannot be read.
        """
        from ..sweep import sweep

        if not self._root.is_dir():
            return
        # Under the lock of all who write here: a folder without a record is of no pull that goes on.
        with self._held():
            sweep(self.temporaries(recent_s=recent_s))
            for folder in [path for path in self._root.iterdir() if path.is_dir()]:
                record = self._read(folder)
                if record is None:
                    shutil.rmtree(folder, ignore_errors=True)
                    continue
                laid_out = [each for variant in record.release.variants for each in variant.external_data]
                sweep(folder / each.path for each in laid_out if not self.store.has(each.digest))

    def changed(self) -> None:
        """Have whoever remembers what was chosen choose anew; raise as ``sweep``."""
        if self._root.is_dir():
            with self._held():
                pass

    def temporaries(self, *, recent_s: float) -> list[Path]:
        """Return the files that processes that ended would have renamed."""
        from ..sweep import temporaries

        return temporaries(self._root.rglob(".*"), recent_s=recent_s)

    def keeps(self) -> set[Digest]:
        """Return the digests of all artifacts that a record needs; raise what ``records`` raises."""
        return {digest for record in self.records() for digest in record.has}

    def _found(self, folder: Path, record: Record) -> Found:
        return Found(folder, record.release, source=record.source, store=self.store)

    def revoked(self) -> dict[Digest, str]:
        """Return the releases that were revoked, and what is told of each; raise ``MachineError`` where unreadable."""
        path = self._root / _REVOKED
        with explained(path, done="read"):
            try:
                return canonical.decode(path.read_bytes(), dict[Digest, str])
            except FileNotFoundError:
                return {}
            except InvalidDocument as error:
                raise MachineError(f"{path} cannot be read: {error.message}", hints=(f"remove {path}",)) from error

    def revoke(self, releases: Mapping[Digest, str]) -> None:
        """Refuse releases from now on, also without the network; raise as ``sweep``."""
        if releases.keys() <= self.revoked().keys():
            return
        with self._held():
            write_whole(self._root / _REVOKED, canonical.encode({**releases, **self.revoked()}), durably=True)

    def _folder(self, release: Release) -> Path:
        return self._root / f"{_slug(release.name)[:-1]}{release.version}"

    def _folders(self, pattern: str) -> Iterable[Path]:
        with explained(self._root, done="read"):
            return sorted(path.parent for path in self._root.glob(f"{pattern}/{_RECORD}"))

    @contextmanager
    def _held(self, folder: Path | None = None) -> Generator[None]:
        """Keep other processes from the records meanwhile; ``folder``, which is one's, is there inside."""
        with explained(self._root, done="written"):
            self._root.mkdir(parents=True, exist_ok=True)
            lock = hold(self._root / "lock", limit_s=_LIMIT_S)
        try:
            if folder:
                with explained(folder, done="written"):
                    folder.mkdir(exist_ok=True)
            yield
        finally:
            # Before the others may look, so that whoever remembers what was chosen from chooses anew.
            with suppress(MachineError):
                write_whole(self.serial, str(time.time_ns()).encode())
            os.close(lock)

    def _read(self, folder: Path) -> Record | None:
        path = folder / _RECORD
        with explained(path, done="read"):
            try:
                data = path.read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
        try:
            return canonical.decode(data, Record)
        except InvalidDocument as error:
            raise MachineError(
                f"{path} cannot be read: {error.message}",
                hints=("update inferry, if a newer one wrote it; else remove its folder and pull the model again",),
            ) from error


def is_address(origin: str) -> bool:
    """Return whether an origin is the address of an index, not a folder."""
    return origin.startswith(("http://", "https://", "file:"))


def _newest(found: list[Found]) -> Found:
    newest = newest_first([each.release for each in found if each.release])[0]
    return next(each for each in found if each.release is newest)


def _slug(name: str) -> str:
    """Return how the folders of a model's releases are called; the plus is in no name, and no name of Windows' own.

    Of ``acme/aux`` they would be ``acme/aux``, which Windows takes for a device.
    """
    return f"{name.replace('/', '+')}@*"
