"""``inferry run``."""

from __future__ import annotations

import sys
from typing import Any

import click

from ...catalog.errors import UsageError
from ...catalog.values.answer import Answer
from ..offers import offers
from .pins import listener, pins


@click.command()
@click.argument("name", shell_complete=offers("model"))
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for an input, once for each: a file (.npy, .npz, .json or a picture), - for stdin, or random[:SEED]. "
    "For an input of texts: the text itself, or @FILE.",
)
@click.option(
    "--output",
    metavar="FILE",
    shell_complete=offers("file"),
    help="Write the outputs into FILE, by its ending: .npy, .npz or .json.",
)
@pins
def run(name: str, given: tuple[str, ...], output: str | None, **pinned: Any) -> Answer:  # noqa: ANN401 - see pins
    """Run a model once. NAME is a model's name, an ONNX file, or a folder with a model.

    An input that is not given takes the sample that the model comes with.

    For example: inferry run inferry/digits --input image=seven.png
    """
    from ..client import Client
    from ..once import once

    words = dict(_split(text) for text in given)
    if list(words.values()).count("-") > 1:
        raise UsageError("--input: stdin can be read once only, and - stands in two places")
    ran = once(Client(), name, words, sys.stdin.buffer, progress=listener(), **pinned)
    if output:
        ran.outputs.save(output)
    return Answer(
        lines=() if output else tuple(ran.outputs.told()),
        document=ran.document(output),
        notes=(*ran.notes(), f"wrote {output}") if output else ran.notes(),
        details=ran.details(),
    )


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--input {text}: write NAME=VALUE")
    return name, value
