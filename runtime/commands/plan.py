"""``inferry plan``."""

from __future__ import annotations

from typing import Any

import click

from ...catalog.values.answer import Answer
from ..offers import offers
from .pins import pins


@click.command()
@click.argument("name", shell_complete=offers("model"))
@pins
@click.option(
    "--host",
    metavar="FILE",
    shell_complete=offers("file"),
    help="Plan for the machine of a host profile instead of this one.",
)
@click.option("--explain", is_flag=True, help="Show every candidate with what speaks against it.")
def plan(name: str, *, host: str | None, explain: bool, **pinned: Any) -> Answer:  # noqa: ANN401 - see pins
    """Show what would be run on this machine and why; nothing is fetched, installed or run.

    For example: inferry plan inferry/digits --explain
    """
    from .. import hardware
    from ..client import Client
    from ..profile import HostProfile

    made = Client().plan(name, host=HostProfile.load(host) if host else None, **pinned)
    lines = made.explain().splitlines()
    return Answer(
        lines=tuple(lines if explain else lines[:1]),
        document=made.document(),
        notes=(
            *hardware.unasked(made.resolution.host),
            *(() if explain or not made.chosen else (f"{len(made.resolution.ranked) - 1} more: --explain",)),
        ),
        code=0 if made.chosen else 4,
        told="ranking",
    )
