"""``inferry index namespace``: who may speak for the EP packages of an index."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from ...catalog.values.answer import Answer
from . import options


@click.group()
def namespace() -> None:
    """Say who may speak for the EP packages of an index."""


@namespace.command()
@click.argument("name", metavar="NS")
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The owner's key in PEM, public or private; without it one is made, beside the other keys.",
)
@options.data
@options.keys
@options.passphrase_file
def add(name: str, *, key: Path | None, data: Path, keys: Path | None, passphrase_file: Path | None) -> Answer:
    """Let the owner of a key, and nobody else, speak for the EP packages of the namespace NS.

    It takes the key of targets: what runs in people's processes is not vouched for by a key that lies on a server.
    Models need no namespace to be added.

    For example: inferry index namespace add acme --data site
    """
    from ..signing.namespaces import add_namespace
    from ..signing.site import Site

    it = add_namespace(Site(data, keys), name, datetime.now(UTC), options.ask(passphrase_file), key)
    done = "added" if it.new else "is there already"
    return Answer(
        lines=(f"{it.namespace} {done}: serial {it.serial}", f"owner  {it.keyid}"),
        document={**it._asdict(), "key": str(it.key) if it.key else None},
        notes=(f"its key lies in {it.key}: keep it elsewhere",) if it.key else (),
        told="words",
    )
