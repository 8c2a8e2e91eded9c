"""``inferry cache``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from ...catalog.values.answer import Answer
from ...catalog.values.size import Size
from ..offers import offers
from .pins import listener

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...catalog.values.digest import Digest
    from ...index.client.cache import Holdings, Total
    from ...index.collect import Item
    from ...index.leases import Lease

DAMAGED = 5


@click.group()
def cache() -> None:
    """Show what was pulled and what it takes; verify it; remove what nobody needs."""


@cache.command("list")
def held() -> Answer:
    """List what was pulled, what the store holds, and who uses it.

    For example: inferry cache list
    """
    from ..client import Client
    from ..describe import columns, size, terminal_width

    it = Client().cache.holdings()
    rows = [
        (str(each), ", ".join(each.variants) or "nothing here", size(each.size_bytes), _day(each.used), each.source)
        for each in it.models
    ]
    head = ("model", "variants", "size", "last used", "source")
    totals = [(kind, f"{told.number:,}", size(told.size_bytes)) for kind, told in _kinds(it)]
    return Answer(
        lines=(
            *columns([head, *rows] if rows else [], limit=terminal_width()),
            *columns(totals),
            *(f"leased by {_lease(each)}" for each in it.leases),
        ),
        document={
            "models": [each._asdict() | {"used": _iso(each.used)} for each in it.models],
            "totals": {kind: told._asdict() for kind, told in _kinds(it)},
            "leases": [_lease_document(each) for each in it.leases],
        },
        notes=() if rows else ("nothing was pulled",),
        told="words",
    )


@cache.command()
def verify() -> Answer:
    """Hash every file that was fetched.

    What is damaged is set aside, and fetched again when it is next used.

    For example: inferry cache verify
    """
    from ...catalog.values.progress import Watch
    from ..client import Client
    from ..describe import size

    found = Client().cache.verify(Watch(listener()))
    lines = [
        f"damaged: {name}, {size(each.size_bytes)}"
        for each in found.damaged
        for name in each.files or (f"{each.digest}, of no model",)
    ]
    told = f"{found.checked.number:,} files, {size(found.checked.size_bytes)}"
    return Answer(
        lines=(*lines, f"{told}: {f'{len(found.damaged)} damaged' if found.damaged else 'all sound'}"),
        document={"checked": found.checked._asdict(), "damaged": [each._asdict() for each in found.damaged]},
        notes=("what is damaged was set aside, and is fetched again at its next use",) if found.damaged else (),
        code=DAMAGED if found.damaged else 0,
        told="words",
    )


@cache.command()
@click.option("--dry-run", is_flag=True, help="Remove nothing; show what would go.")
@click.option("--max-size", metavar="SIZE", help="Over so much, what rested longest goes too, such as 2GB or 500MiB.")
def gc(*, dry_run: bool, max_size: str | None) -> Answer:
    """Remove what nobody needs.

    Nothing goes that a pulled model needs, unless all is over --max-size, that a program uses, or that was used
    within the last hour.

    For example: inferry cache gc --dry-run
    """
    from ...catalog.settings import Limits, Settings
    from ..client import Client
    from ..describe import columns, size

    client = Client()
    given = Limits(store_size=Size.parse(max_size) if max_size else None)
    held = client.settings(Settings(limits=given))
    limit = given.store_size or held["limits.store_size"].value
    it = client.cache
    files = it.files()
    found = it.gc(max_bytes=limit, dry_run=dry_run)
    plan, left = found.plan, sum(item.blob.size_bytes for item in found.plan.stays if item.kind == "blob")
    rows = [(item.why, size(item.blob.size_bytes), _named(item.blob.digest, files)) for item in plan.goes]
    why = _by_reason(plan.stays)
    more = f", temporary files: {len(found.temporaries)}" if found.temporaries else ""
    stays = ", ".join(f"{reason} {size(told)}" for reason, told in why.items())
    over = limit is not None and left > limit
    return Answer(
        lines=(*columns(rows), f"{'would free' if dry_run else 'freed'} {size(plan.bytes_freed)}{more}"),
        document={
            "dry_run": dry_run,
            "limit_bytes": limit,
            "goes": [_item(item, files) for item in plan.goes],
            "stays": [_item(item, files) for item in plan.stays],
            "bytes_freed": plan.bytes_freed,
            "temporaries": [str(path) for path in found.temporaries],
        },
        notes=(
            *((f"stays: {stays}",) if stays else ()),
            *(
                (f"{size(left)} stay, more than {size(limit or 0)}: they are leased, or were used just now",)
                if over
                else ()
            ),
        ),
        details=tuple(
            f"stays, {item.why}: {size(item.blob.size_bytes)} {_named(item.blob.digest, files)}" for item in plan.stays
        ),
        told="words",
    )


@cache.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME[@V]...", shell_complete=offers("pulled"))
def remove(names: tuple[str, ...]) -> Answer:
    """Forget models, and remove what no other needs.

    Without @V all versions go. What a program uses stays until the next `inferry cache gc`.

    For example: inferry cache remove inferry/digits
    """
    from ..client import Client
    from ..describe import size

    it = Client().cache
    found = it.remove(*names)
    stays = [item for item in found.plan.stays if item.why in {"leased", "in use"}]
    return Answer(
        lines=(*(f"removed {each}" for each in found.models), f"freed {size(found.plan.bytes_freed)}"),
        document={
            "removed": list(found.models),
            "bytes_freed": found.plan.bytes_freed,
            "stays": [_item(item, {}) for item in stays],
            "leases": [_lease_document(each) for each in found.held],
        },
        notes=(
            *(f"leased by {_lease(each)}" for each in found.held),
            *((f"in use, and left to a later `inferry cache gc`: {len(stays)}",) if stays else ()),
        ),
        told="words",
    )


def _kinds(told: Holdings) -> list[tuple[str, Total]]:
    return [("blobs", told.blobs), ("partial", told.partial), ("damaged", told.damaged)]


def _by_reason(items: Iterable[Item]) -> dict[str, int]:
    told: dict[str, int] = {}
    for item in items:
        told[item.why] = told.get(item.why, 0) + item.blob.size_bytes
    return told


def _named(digest: Digest, files: Mapping[Digest, Sequence[str]]) -> str:
    names = files.get(digest) or (digest[:19],)
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _item(item: Item, files: Mapping[Digest, Sequence[str]]) -> dict[str, Any]:
    blob = item.blob
    return {
        "kind": item.kind,
        "digest": blob.digest,
        "size_bytes": blob.size_bytes,
        "used": _iso(blob.used),
        "why": item.why,
        "files": list(files.get(blob.digest, ())),
    }


def _lease(lease: Lease) -> str:
    return f"{lease.holder}: {lease.why}, since {_day(lease.since)}"


def _lease_document(lease: Lease) -> dict[str, Any]:
    return {
        "pid": lease.holder.pid,
        "program": lease.holder.program,
        "why": lease.why,
        "since": _iso(lease.since),
        "digests": None if lease.digests is None else sorted(lease.digests),
    }


def _day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%Y-%m-%d %H:%M}"


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
