"""``inferry show``."""

from __future__ import annotations

import click

from ...catalog.values.answer import Answer
from ..offers import offers


@click.command()
@click.argument("name", shell_complete=offers("model"))
def show(name: str) -> Answer:
    """Show what a model takes and returns. NAME is a model's name, an ONNX file, or a folder with a model.

    For example: inferry show inferry/digits
    """
    from ..client import Client

    told = Client().describe(name)
    document = {"model": told.document(), "command": told.command()}
    return Answer(lines=tuple(told.lines()), document=document, told="words")
