"""``inferry run``."""

from __future__ import annotations

import click

from ...catalog.errors import UsageError
from ...catalog.values.answer import Answer


@click.command()
@click.argument("name")
@click.option("--input", "given", multiple=True, metavar="NAME=FILE", help="A file for an input; once for each input.")
def run(name: str, given: tuple[str, ...]) -> Answer:
    """Run a model once. Without --input it takes the sample that the model comes with.

    For example: inferry run inferry/digits --input image=seven.png
    """
    from ..client import Client

    inputs = dict(_split(text) for text in given)
    with Client().load(name) as model:
        samples = {} if inputs else model.samples
        outputs = model.run(inputs or samples)
        report = model.report()
    nodes = ", ".join(f"{count} nodes" if ep == report.ep else f"{count} on {ep}" for ep, count in report.nodes.items())
    return Answer(
        lines=tuple(outputs.told()),
        notes=(
            *(f"input {each}: the model's own sample" for each in samples),
            f"ran {report.model} on {report.device}: {report.ep}, {nodes}",
        ),
    )


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise UsageError(f"--input {text}: write NAME=FILE")
    return name, value
