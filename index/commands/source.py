"""``inferry source``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from ...catalog.errors import Refused, UsageError
from ...catalog.settings import Effective, forbids_network
from ...catalog.values.answer import Answer
from ...catalog.values.source import BUILT_IN, Freshness
from ..settings import layers, this_machine

if TYPE_CHECKING:
    from ..client.sources import SourceList, Told


@click.group()
def source() -> None:
    """Say in which indexes names are looked up, beside the built-in one."""


@source.command()
@click.argument("url")
@click.option("--name", metavar="NAME", help="What it is called; without it, after its host or folder.")
@click.option("--fingerprint", metavar="F", help="Of the root to trust: what `inferry index status` tells its owner.")
@click.option("--root", metavar="FILE", type=click.Path(path_type=Path), help="The root to trust, instead.")
@click.option("--priority", metavar="N", type=int, default=100, show_default=True, help="Smaller ones are asked first.")
@click.option("--namespaces", metavar="NS,…", default="", help="It alone is asked for these, and for nothing else.")
@click.option(
    "--freshness",
    type=click.Choice(get_args(Freshness)),
    default="strict",
    show_default=True,
    help="Whether an index that has expired is refused, or used with a warning.",
)
def add(url: str, *, namespaces: str, **wish: Any) -> Answer:  # noqa: ANN401 - as the options say
    """Look names up in the index at URL, or in a folder, from now on.

    Everything that it says must be signed, from the root that is trusted on. Without a fingerprint or a root you are
    shown the fingerprint, and asked.

    For example: inferry source add site --root site/metadata/1.root.json
    """
    from ..client.sources import Wish
    from ..client.transport import Transport
    from .options import at_a_terminal

    if wish["fingerprint"] and wish["root"]:
        raise UsageError("--fingerprint and --root say the same thing: give one of them")
    owned = tuple(each.strip().lower() for each in namespaces.split(",") if each.strip())
    told = _list().add(Wish(url, namespaces=owned, **wish), Transport(), _trusts if at_a_terminal() else None)
    spec = told.spec
    return Answer(
        lines=(f"{spec.name}  {spec.url}", f"trusted by the root {spec.fingerprint}"), document=_document(told)
    )


@source.command("list")
def list_() -> Answer:
    """List the sources in the order in which they are asked.

    For example: inferry source list
    """
    told = _list().all()
    rows = [(BUILT_IN, "part of the program", "")]
    rows += [(each.spec.name, str(each.spec.url), _words(each)) for each in told]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return Answer(
        lines=tuple(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ),
        document={"sources": [_document(each) for each in told]},
    )


@source.command()
@click.argument("word", metavar="SOURCE")
def remove(word: str) -> Answer:
    """Look names up in SOURCE no more, by its name or address. What was pulled from it stays.

    For example: inferry source remove site
    """
    spec = _list().remove(word)
    return Answer(lines=(f"{spec.name} removed",), document={"name": spec.name, "url": str(spec.url)}, told="words")


@source.command()
@click.argument("words", nargs=-1, metavar="[SOURCE]...")
def refresh(words: tuple[str, ...]) -> Answer:
    """Ask sources what is new of the models that were looked up or pulled, revocations among it.

    For example: inferry source refresh
    """
    from ..client.configured import open_library

    settings = _settings()
    if offline := forbids_network(settings):
        raise Refused(f"{offline}: the network may not be used")
    found = open_library(None, this_machine(), _settings).refresh(words)
    return Answer(
        lines=tuple(f"{each.name}: {each.models} looked up, {each.revoked} revoked" for each in found),
        document={"sources": [each._asdict() for each in found]},
        notes=() if found else ("no source is set up beside the built-in one",),
        told="words",
    )


def _settings() -> Effective:
    return Effective(layers(this_machine()))


def _list() -> SourceList:
    from ..client.sources import SourceList

    return SourceList(this_machine(), _settings)


def _trusts(url: str, fingerprint: str) -> bool:
    click.echo(f"{url} is signed by a root with the fingerprint\n\n    {fingerprint}\n", err=True)
    return bool(click.confirm("Is that what its owner told you?", err=True))


def _words(told: Told) -> str:
    """Return what is unusual of a source."""
    spec = told.spec
    parts = (
        f"for {', '.join(spec.namespaces)}" if spec.namespaces else "",
        "used when it has expired" if spec.freshness == "warn" else "",
        "of this machine" if told.origin == "system" else "",
    )
    return "; ".join(filter(None, parts))


def _document(told: Told) -> dict[str, Any]:
    spec = told.spec
    return {
        "name": spec.name,
        "url": str(spec.url),
        "fingerprint": spec.fingerprint,
        "priority": spec.priority,
        "namespaces": list(spec.namespaces),
        "freshness": spec.freshness,
        "origin": told.origin,
    }
