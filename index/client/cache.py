"""The cache: what was pulled, what the store holds of it, and what may go."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import MachineError, ModelNotFound
from ...catalog.releases import every
from ...catalog.values.names import parse_request
from ...catalog.values.progress import ALONE, Progress
from ..collect import GcPlan, execute, plan_gc, verify_all
from ..leases import leases
from ..sweep import of_store, sweep, sweep_locks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ...catalog.values.digest import Digest
    from ...catalog.values.progress import Watch
    from ..leases import Lease
    from .found import Found
    from .pulled import Pulled, Record

RECENT_S = 3600.0
"""How long nobody may have used or written what goes."""


class PulledModel(NamedTuple):
    """A release that was pulled."""

    name: str
    version: str
    variants: tuple[str, ...]
    """Those that run from here."""
    source: str
    size_bytes: int
    """Of all its files that are here; other releases may share some."""
    used: float
    """When one of its files was last used, in seconds since 1970; when it was pulled, if none is here."""

    def __str__(self) -> str:
        return f"{self.name}@={self.version}"


class Total(NamedTuple):
    """How many there are, and their bytes together."""

    number: int
    size_bytes: int


class Holdings(NamedTuple):
    """What a cache holds."""

    models: tuple[PulledModel, ...]
    blobs: Total
    partial: Total
    """Transfers that were interrupted, or go on."""
    damaged: Total
    """What was set aside."""
    leases: tuple[Lease, ...]


class DamagedBlob(NamedTuple):
    """A blob that was not what its digest says; it was set aside, and is fetched again when it is next wanted."""

    digest: Digest
    size_bytes: int
    files: tuple[str, ...]
    """The files that it was, as ``namespace/name@=version path``."""


class Verified(NamedTuple):
    """What hashing every blob came to."""

    checked: Total
    damaged: tuple[DamagedBlob, ...]


class Collected(NamedTuple):
    """What a collection removed, or would remove."""

    plan: GcPlan
    temporaries: tuple[Path, ...]
    """Files of processes that ended before they renamed them."""


class Removed(NamedTuple):
    """What forgetting models came to."""

    models: tuple[str, ...]
    """As ``namespace/name@=version``."""
    plan: GcPlan
    """The blobs that went, and those that stay: in use, or needed by others."""
    held: tuple[Lease, ...]
    """The leases for which some stay; the next collection takes them."""


class Cache:
    """What was pulled, and the store that it lies in; all of it may be removed, as it can be pulled again."""

    def __init__(self, pulled: Pulled) -> None:
        """Look after what was pulled."""
        self._pulled = pulled
        self._store = pulled.store

    def holdings(self) -> Holdings:
        """Return what is here; raise ``MachineError`` where it cannot be read."""
        blobs, store = {each.digest: each for each in self._store.blobs()}, self._store
        models: list[PulledModel] = []
        for record in self._pulled.records():
            here = [blobs[digest] for digest in record.has if digest in blobs]
            models.append(
                PulledModel(
                    record.release.name,
                    record.release.version,
                    tuple(variant.name for variant in self._pulled.here(record)),
                    record.source,
                    sum(blob.size_bytes for blob in here),
                    max((blob.used for blob in here), default=record.at),
                )
            )
        return Holdings(
            tuple(sorted(models)),
            _total(blob.size_bytes for blob in blobs.values()),
            _total(partial.size_bytes for partial in store.partials()),
            _total(_size(each.path) for each in store.damaged()),
            tuple(leases(store)),
        )

    def verify(self, watch: Watch = ALONE) -> Verified:
        """Hash every blob, on all processors; those that are damaged are set aside.

        Raises:
            MachineError: one cannot be read.
        """
        sizes = [blob.size_bytes for blob in self._store.blobs()]
        total, done, count = sum(sizes), 0, len(sizes)
        damaged: list[DamagedBlob] = []
        files = self.files()
        try:
            for blob, sound in verify_all(self._store):
                done += blob.size_bytes
                if watch.progress:
                    watch.progress(Progress("verify", "the store", done, max(total, done)))
                if not sound:
                    damaged.append(DamagedBlob(blob.digest, blob.size_bytes, tuple(files.get(blob.digest, ()))))
        finally:
            if damaged:
                with suppress(MachineError):  # a store that may only be read
                    self._pulled.sweep(recent_s=RECENT_S)  # what was laid out of one is one file with it
        return Verified(Total(count, done), tuple(damaged))

    def gc(self, *, max_bytes: int | None = None, dry_run: bool = False, recent_s: float = RECENT_S) -> Collected:
        """Remove what nobody needs; nothing of a pulled model, unless all together is over ``max_bytes``.

        Then what rested longest goes first, and is fetched again when it is next wanted. Nothing goes that a living
        process leased, or that was used within ``recent_s`` seconds.

        Args:
            max_bytes: how large the store may be.
            dry_run: remove nothing, and return what would go.
            recent_s: seconds.

        Raises:
            MachineError: something cannot be read or written, or another collection takes longer than a minute.
        """
        plan = plan_gc(self._store, self._pulled.keeps(), max_bytes=max_bytes, recent_s=recent_s)
        store, left = self._store, of_store(self._store, recent_s=recent_s)
        done = Collected(plan, (*left, *self._pulled.temporaries(recent_s=recent_s)))
        if dry_run:
            return done
        # Whoever kills this between two steps leaves every record right: none is changed here. What is here of a
        # model is what its record names and the store has, so it is less by one blob or it is not; and what was laid
        # out of a blob that is gone, the temporaries and the locks are found by the next collection as by this one.
        # Whoever remembers a choice chooses anew from before the first blob goes, and once more when the last has gone.
        if plan.goes:
            self._pulled.changed()
        done = done._replace(plan=execute(store, plan))
        sweep(left)
        sweep_locks(store)
        self._pulled.sweep(recent_s=recent_s)
        return done

    def remove(self, *names: str) -> Removed:
        """Forget models, and remove at once what no other needs, unless a living process leased it.

        Args:
            names: ``namespace/name`` for all versions, or ``namespace/name@version``, as ``load`` takes them.

        Raises:
            InvalidName: one is no name.
            ModelNotFound: one was not pulled; then none is forgotten.
            VersionNotFound: no such version of it was.
            MachineError: something cannot be read or written.
        """
        going = {str(found): found for name in names for found in self._matching(name)}
        releases = [found.release for found in going.values() if found.release]
        for found in going.values():
            self._pulled.forget(found)
        files = {file.digest for each in releases for variant in each.variants for file in each.files(variant)}
        if not self._store.root.is_dir():
            return Removed(tuple(going), GcPlan((), ()), ())
        plan = plan_gc(self._store, self._pulled.keeps(), only=files, recent_s=-inf)
        done = execute(self._store, plan)
        leased = [item.blob.digest for item in done.stays if item.why == "leased"]
        held = [each for each in leases(self._store) if any(map(each.covers, leased))]
        return Removed(tuple(going), done, tuple(held))

    def files(self) -> dict[Digest, list[str]]:
        """Return which files each digest is in what was pulled, as ``namespace/name@=version path``."""
        files: dict[Digest, list[str]] = {}
        for record in self._pulled.records():
            for path, digest in _paths(record).items():
                files.setdefault(digest, []).append(f"{record.release.name}@={record.release.version} {path}")
        return files

    def _matching(self, name: str) -> list[Found]:
        """Return the releases that were pulled and that ``name`` means."""
        wanted = parse_request(name)
        there = self._pulled.find(wanted.name)
        if not there:
            near = get_close_matches(wanted.name, self._pulled.names(), n=3)
            raise ModelNotFound(
                f"`{wanted.name}` was not pulled",
                hints=[f"did you mean {each}?" for each in near] or ("inferry cache list",),
            )
        meant = every([found.release for found in there if found.release], wanted)
        return [found for found in there if found.release in meant]


def _total(sizes: Iterable[int]) -> Total:
    told = [*sizes]
    return Total(len(told), sum(told))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _paths(record: Record) -> dict[str, Digest]:
    release = record.release
    return {file.path: file.digest for variant in release.variants for file in release.files(variant)}
