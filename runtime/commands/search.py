"""``inferry search``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer


@click.command()
@click.argument("query", nargs=-1)
@click.option("--task", metavar="TASK", help="Only models for this task, such as image-classification.")
@click.option("--precision", metavar="PRECISION", help="Only models with a variant in it, such as fp16.")
@click.option("--license", "licence", metavar="LICENSE", help="Only models under this SPDX licence expression.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
def search(query: tuple[str, ...], task: str | None, precision: str | None, licence: str | None, limit: int) -> Answer:
    """Find models. Each word of QUERY must begin a word of a model's name, task or summary.

    For example: inferry search digit
    """
    from ..client import Client
    from ..describe import columns, size

    found = Client().search(" ".join(query), task=task, precision=precision, license=licence)
    shown = found[:limit]
    rows = [(each.name, each.version, "/".join(each.precisions), size(each.size_bytes), each.summary) for each in shown]
    left = len(found) - len(shown)
    return Answer(
        lines=tuple(columns(rows)),
        document={"results": [each._asdict() for each in shown], "total": len(found)},
        notes=("no model answers it",) if not found else (f"{left} more: raise --limit",) if left else (),
    )
