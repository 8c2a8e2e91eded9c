"""``inferry search``."""

from __future__ import annotations

from typing import Any

import click

from ...catalog.values.answer import Answer
from ...catalog.values.size import Size
from ..offers import offers


@click.command()
@click.argument("query", nargs=-1)
@click.option("--task", metavar="TASK", help="Only models for this task, such as image-classification.")
@click.option(
    "--precision",
    metavar="PRECISION",
    shell_complete=offers("precision"),
    help="Only models with a variant in it, such as fp16.",
)
@click.option(
    "--ep", metavar="EP", shell_complete=offers("ep"), help="Only models that run here on this execution provider."
)
@click.option(
    "--device",
    metavar="DEVICE",
    shell_complete=offers("device"),
    help="Only models that run here on this device: cpu, gpu, npu, a vendor.",
)
@click.option("--license", metavar="LICENSE", help="Only models under this SPDX licence expression.")
@click.option("--max-size", metavar="SIZE", help="Only models that are no larger, such as 2GB.")
@click.option("--fits", is_flag=True, help="Only models that run here, with what is installed.")
@click.option("--source", metavar="SOURCE", help="Only models of this source, such as built-in.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
def search(query: tuple[str, ...], *, max_size: str | None, limit: int, **filters: Any) -> Answer:  # noqa: ANN401 - see Filters
    """Find models by words of their name, task or summary. Each word of QUERY must be found.

    The beginning of a word will do, a word that means the same, and, where nothing else is found, a word with a typo.

    For example: inferry search digit
    """
    from ..client import Client
    from ..describe import columns, size, terminal_width

    found = Client().search(" ".join(query), max_bytes=Size.parse(max_size) if max_size else None, **filters)
    shown = found[:limit]
    rows = [(each.name, each.version, "/".join(each.precisions), size(each.size_bytes), each.summary) for each in shown]
    left = len(found) - len(shown)
    return Answer(
        lines=tuple(columns(rows, limit=terminal_width())),
        document={"results": [each._asdict() for each in shown], "total": len(found)},
        notes=("no model answers it",) if not found else (f"{left} more: raise --limit",) if left else (),
    )
