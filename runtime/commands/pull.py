"""``inferry pull``."""

from __future__ import annotations

from typing import Any

import click

from ...catalog.errors import UsageError
from ...catalog.values.answer import Answer
from ...catalog.values.size import Size
from ..offers import offers
from .pins import listener, pins


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...", shell_complete=offers("model"))
@pins
@click.option("--offline", is_flag=True, help="Use no network: fetch from folders and files alone.")
@click.option("--limit-rate", metavar="SIZE", help="Fetch at most so much in a second, such as 2MB.")
def pull(names: tuple[str, ...], *, offline: bool, limit_rate: str | None, **pinned: Any) -> Answer:  # noqa: ANN401 - see pins
    """Fetch what models need on this machine, so that they run from here. NAME may be a folder with a manifest, too.

    What is here already is not fetched again; what an earlier pull left half done goes on from there.

    For example: inferry pull inferry/digits
    """
    from ..client import Client
    from ..describe import size

    rate = Size.parse(limit_rate) if limit_rate else None
    if rate == 0:
        raise UsageError("--limit-rate: at 0 bytes a second nothing comes")
    ready = Client().prepare(names, progress=listener(), offline=offline, limit_rate=rate, **pinned)
    return Answer(
        lines=tuple(
            f"{each.model} {each.variant}: {f'fetched {size(each.fetched_bytes)}' if each.fetched_bytes else 'is here'}"
            for each in ready
        ),
        document={
            "pulled": [
                {
                    "model": each.model.partition("@")[0],
                    "version": each.model.partition("@=")[2],
                    "variant": each.variant,
                    "source": each.source,
                    "fetched_bytes": each.fetched_bytes,
                }
                for each in ready
            ]
        },
        notes=tuple(
            f"{each.model}: nothing that is installed runs it yet: {each.plan.why_not_here()}"
            for each in ready
            if each.plan.here.best is None
        ),
        told="words",
    )
