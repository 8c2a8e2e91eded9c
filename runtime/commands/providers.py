"""``inferry providers``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer


@click.group()
def providers() -> None:
    """Show the EP packages: what brings an execution provider (EP) to this machine."""


@providers.command("list")
def known() -> Answer:
    """List the EP packages that are known, and how each stands here.

    ready: in the ONNX Runtime at hand. not-present: it would have to be installed. blocked: a rule is against it.

    For example: inferry providers list
    """
    from ..client import Client
    from ..describe import columns, terminal_width
    from ..hardware import unasked

    client = Client()
    found = client.providers()
    rows = columns((each.state, each.name, each.version) for each in found)
    told = columns(((f"  {each.ep}: {each.told}",) for each in found), limit=terminal_width())
    return Answer(
        lines=tuple(line for pair in zip(rows, told, strict=True) for line in pair),
        document={"providers": [each.document() for each in found]},
        notes=unasked(client.devices()),
    )
