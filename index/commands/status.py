"""``inferry index yank``, ``unyank``, ``deprecate`` and ``revoke``: what becomes of a release."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from ...catalog.values.answer import Answer
from . import options

if TYPE_CHECKING:
    from pathlib import Path

    from ...catalog.values.document import Status

_release = click.argument("release", metavar="NAME@V")
_reason = click.option("--reason", required=True, metavar="TEXT", help="Why, in one line for people.")


@click.command()
@_release
@_reason
@options.data
@options.keys
def yank(release: str, *, reason: str, data: Path, keys: Path | None) -> Answer:
    """Let a release not be chosen anew: who has it, or asks for exactly that version, still gets it.

    For example: inferry index yank acme/add@1.0.0 --reason slow --data site
    """
    return _marked(data, keys, release, "yanked", reason)


@click.command()
@_release
@options.data
@options.keys
def unyank(release: str, *, data: Path, keys: Path | None) -> Answer:
    """Make a release current again that was yanked or deprecated.

    For example: inferry index unyank acme/add@1.0.0 --data site
    """
    return _marked(data, keys, release, "current")


@click.command()
@_release
@_reason
@options.data
@options.keys
def deprecate(release: str, *, reason: str, data: Path, keys: Path | None) -> Answer:
    """Let a release be chosen with a word of warning.

    For example: inferry index deprecate acme/add@1.0.0 --reason old --data site
    """
    return _marked(data, keys, release, "deprecated", reason)


@click.command()
@_release
@_reason
@options.data
@options.keys
def revoke(release: str, *, reason: str, data: Path, keys: Path | None) -> Answer:
    """Let a release be refused everywhere, for ever: also where it was pulled, once that is known there.

    For example: inferry index revoke acme/add@1.0.0 --reason leak --data site
    """
    return _marked(data, keys, release, "revoked", reason)


def _marked(data: Path, keys: Path | None, release: str, status: Status, reason: str = "") -> Answer:
    from ..signing.lifecycle import mark
    from ..signing.site import Site

    it = mark(Site(data, keys), release, status, datetime.now(UTC), reason)
    already = "" if it.changed else " already"
    return Answer(
        lines=(f"{it.name}@={it.version} is {it.status}{already}: serial {it.serial}",),
        document=it._asdict(),
        told="words",
    )
