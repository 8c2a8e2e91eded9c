"""``inferry devices``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer
from ..offers import offers


@click.command()
@click.option(
    "--save",
    "file",
    metavar="FILE",
    shell_complete=offers("file"),
    help="Write it into FILE, a host profile that other commands plan for.",
)
@click.option("--ask-again", is_flag=True, help="Ask ONNX Runtime for its EP devices, even if that failed before.")
def devices(file: str | None, *, ask_again: bool) -> Answer:
    """Show this machine: platform, memory, ONNX Runtime, devices, drivers. With -v, where each was read.

    For example: inferry devices
    """
    import msgspec

    from .. import hardware
    from ..detect.detector import detect
    from ..detect.ep_devices import with_ep_devices
    from ..profile import HostProfile

    host = with_ep_devices(detect(), again=ask_again)
    if file:
        HostProfile(host).save(file)
    return Answer(
        lines=tuple(hardware.lines(host)),
        document={"host": msgspec.to_builtins(host)},
        notes=(*hardware.notes(host), *((f"wrote {file}",) if file else ())),
        details=hardware.details(host),
        told="words",
    )
