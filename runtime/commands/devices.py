"""``inferry devices``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer


@click.command()
@click.option("--save", "file", metavar="FILE", help="Write it into FILE, a host profile that other commands plan for.")
def devices(file: str | None) -> Answer:
    """Show this machine: platform, memory, ONNX Runtime, devices, drivers. With -v, where each was read.

    For example: inferry devices
    """
    import msgspec

    from .. import hardware
    from ..client import Client
    from ..profile import HostProfile

    host = Client().devices()
    if file:
        HostProfile(host).save(file)
    return Answer(
        lines=tuple(hardware.lines(host)),
        document={"host": msgspec.to_builtins(host)},
        notes=(*hardware.notes(host), *((f"wrote {file}",) if file else ())),
        details=hardware.details(host),
    )
