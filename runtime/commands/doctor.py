"""``inferry doctor``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer
from ..offers import offers

BROKEN = 7


@click.command()
@click.argument("names", nargs=-1, shell_complete=offers("model"))
@click.option(
    "--host",
    metavar="FILE",
    shell_complete=offers("file"),
    help="Examine the machine of a host profile instead of this one.",
)
def doctor(names: tuple[str, ...], host: str | None) -> Answer:
    """Say what is wrong on this machine and what to do, and why models run on the CPU.

    NAMES are models to look at; without any, those that come with the program.

    For example: inferry doctor
    """
    from ..client import Client
    from ..profile import HostProfile

    found = Client().examine(names, host=HostProfile.load(host) if host else None)
    wrong = any(finding.wrong for finding in found)
    lines = [line for finding in found for line in (finding.message, *([f"  {finding.fix}"] if finding.fix else []))]
    return Answer(
        lines=tuple(lines),
        document={"findings": [finding._asdict() for finding in found]},
        notes=() if wrong else ("nothing is wrong",),
        code=BROKEN if wrong else 0,
        told="words",
    )
