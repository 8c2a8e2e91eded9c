"""Collection: what may leave a store, first as a value to look at; and all of a store hashed, on every processor."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..catalog.errors import MachineError
from .blobs import Blob
from .files import remove
from .leases import collecting, leases

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from ..catalog.values.digest import Digest
    from .store import Damaged, FolderStore

Kind: TypeAlias = Literal["blob", "partial", "damaged"]


class Item(NamedTuple):
    """A blob, or what is there of one, with the reason why it goes or stays."""

    kind: Kind
    blob: Blob
    why: str
    """Goes: no name, over the limit, not whole, damaged. Stays: named, leased, recent, in use."""
    file: Path | None = None
    """Where it lies, if it was set aside."""


class GcPlan(NamedTuple):
    """What a collection would remove, in that order, and what it would leave."""

    goes: tuple[Item, ...]
    stays: tuple[Item, ...]

    @property
    def bytes_freed(self) -> int:
        """Return the bytes of all that goes; the disk gets fewer back where a blob was laid out by hard link."""
        return sum(item.blob.size_bytes for item in self.goes)


class Checked(NamedTuple):
    """A blob that was hashed."""

    blob: Blob
    sound: bool
    """A damaged one is set aside by now: it is absent, and fetched again when it is next wanted."""


def plan_gc(
    store: FolderStore,
    keep: Collection[Digest],
    *,
    max_bytes: int | None = None,
    recent_s: float = 3600,
    only: Collection[Digest] | None = None,
) -> GcPlan:
    """Return what would leave ``store``: what no name in ``keep`` needs; over ``max_bytes`` also what rested longest.

    Nothing goes that is leased, or that was used or grew in the last ``recent_s`` seconds: what is fetched a moment
    before it gets its name must stay. With ``only``, it is about these, and all others are left out of it. Raises
    ``MachineError`` where the store cannot be read.
    """
    held = leases(store)
    now = time.time()
    goes = [_set_aside(each) for each in store.damaged() if only is None or each.digest in only]
    stays: list[Item] = []
    named: list[Item] = []
    for partial in _among(only, store.partials()):
        recent = now - partial.used < recent_s
        (stays if recent else goes).append(Item("partial", partial, "recent" if recent else "not whole"))
    for blob in sorted(_among(only, store.blobs()), key=lambda blob: blob.used):
        if any(each.covers(blob.digest) for each in held):
            stays.append(Item("blob", blob, "leased"))
        elif now - blob.used < recent_s:
            stays.append(Item("blob", blob, "recent"))
        elif blob.digest in keep:
            named.append(Item("blob", blob, "named"))
        else:
            goes.append(Item("blob", blob, "no name"))
    left = sum(item.blob.size_bytes for item in (*stays, *named))
    for item in named:
        over = max_bytes is not None and left > max_bytes
        (goes if over else stays).append(item._replace(why="over the limit") if over else item)
        left -= item.blob.size_bytes if over else 0
    return GcPlan(tuple(goes), tuple(stays))


def execute(store: FolderStore, plan: GcPlan) -> GcPlan:
    """Remove what ``plan`` says, unless it was leased or used since, or is in use; return what went and what stayed.

    Raises:
        MachineError: the store cannot be written, or another collection takes longer than a minute.
    """
    goes: list[Item] = []
    stays = list(plan.stays)
    for item in plan.goes:
        # One at a time: a lease that begins waits for one removal, however patient that has to be, and not for all.
        with collecting(store) as held:
            if item.kind == "blob" and any(each.covers(item.blob.digest) for each in held):
                stays.append(item._replace(why="leased"))
            elif _remove(store, item):
                goes.append(item)
            else:
                stays.append(item._replace(why="in use"))
    return GcPlan(tuple(goes), tuple(stays))


def verify_all(store: FolderStore, workers: int | None = None) -> Iterator[Checked]:
    """Hash every blob, the largest first, in ``workers`` threads (one for each processor), and tell of each.

    Raises:
        MachineError: one cannot be read.
    """
    from concurrent.futures.thread import ThreadPoolExecutor

    blobs = sorted(store.blobs(), key=lambda blob: -blob.size_bytes)
    pool = ThreadPoolExecutor(workers or os.cpu_count())  # hashing lets go of the interpreter's lock
    try:
        for blob, sound in zip(blobs, pool.map(store.verify, (blob.digest for blob in blobs)), strict=True):
            yield Checked(blob, sound)
    finally:
        pool.shutdown(cancel_futures=True)  # the caller may have stopped asking


def _among(only: Collection[Digest] | None, blobs: Iterable[Blob]) -> list[Blob]:
    return [blob for blob in blobs if only is None or blob.digest in only]


def _remove(store: FolderStore, item: Item) -> bool:
    try:
        if item.file is None:
            return store.drop(item.blob, partial=item.kind == "partial")
        remove(item.file)
    except (MachineError, OSError):  # Windows: another program has it open
        return False
    return True


def _set_aside(damaged: Damaged) -> Item:
    digest, path = damaged
    try:
        found = path.stat()
        size, changed = (found.st_size if path.is_file() else 0), found.st_mtime
    except OSError:
        size, changed = 0, 0.0
    return Item("damaged", Blob(digest, size, changed), "damaged", path)
