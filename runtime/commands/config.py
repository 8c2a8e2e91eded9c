"""``inferry config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ...catalog.values.answer import Answer
from ..offers import offers

if TYPE_CHECKING:
    from ...catalog.settings import Effective, Value


@click.group()
def config() -> None:
    """Show and change settings: of the machine policy, the environment, the user and the system."""


@config.command()
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
def show(*, origin: bool) -> Answer:
    """Show every setting with the value that holds.

    For example: inferry config show --origin
    """
    from ...catalog.settings import KEYS, words
    from ..client import Client
    from ..describe import columns

    held = Client().settings()
    rows = [(key, words(held[key].value) or "-", *([_origin(held[key])] if origin else [])) for key in KEYS]
    document = {"settings": {key: _document(held[key]) for key in KEYS}}
    return Answer(lines=tuple(columns(rows)), document=document, told="words")


@config.command(short_help="Show the value that holds of one setting.")
@click.argument("key", shell_complete=offers("setting"))
def get(key: str) -> Answer:
    """Show the value that holds of one setting, spelled as `config set` takes it.

    For example: inferry config get policy
    """
    from ...catalog.settings import known, words
    from ..client import Client

    value = Client().settings()[known(key)]
    told = words(value.value)
    return Answer(
        lines=(told,) if told else (),
        document={"key": key, **_document(value)},
        notes=() if told else (f"{key} is not set",),
        details=(_origin(value),),
    )


@config.command(name="set")
@click.argument("key", shell_complete=offers("setting"))
@click.argument("value")
def set_(key: str, value: str) -> Answer:
    """Set KEY in the user's file. VALUE is one text, of a list with commas between its items.

    For example: inferry config set install auto
    """
    from ...catalog import settings

    return _changed(key, settings.get(settings.from_text(key, value), key))


@config.command()
@click.argument("key", shell_complete=offers("setting"))
def unset(key: str) -> Answer:
    """Take KEY out of the user's file.

    For example: inferry config unset install
    """
    from ...catalog.settings import known

    return _changed(known(key), None)


def _changed(key: str, value: object) -> Answer:
    from ...index.settings import change, user_file
    from ..client import Client

    file = user_file()
    change(file, key, value)
    held = Client().settings()
    return Answer(
        lines=(),
        document={"key": key, "file": str(file), **_document(held[key])},
        notes=(f"wrote {file}", *_over(key, value, held)),
    )


def _over(key: str, value: object, held: Effective) -> tuple[str, ...]:
    """Return that something above the user's file holds, where that is so."""
    from ...catalog.settings import words

    above = held[key]
    if value is None or above.origin not in {"machine policy", "environment"}:
        return ()
    return (f"{_origin(above)} sets {key} too, and holds: {words(above.value) or 'nothing'}",)


def _origin(value: Value) -> str:
    return f"{value.origin} ({value.where})" if value.where else value.origin


def _document(value: Value) -> dict[str, Any]:
    from ...catalog.settings import plain

    return {"value": plain(value.value), "origin": value.origin, "where": value.where or None}
