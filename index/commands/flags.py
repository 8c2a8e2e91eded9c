"""What is said of a release on the command line, beside its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ...catalog.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from .options import Marks

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def _or_the_programs(context: click.Context, _: click.Parameter, value: str | None) -> str | None:
    """Return a release's version; ``--version`` without one asks for the program's, as with every command."""
    if value == "":
        click.echo(f"inferry {VERSION}")
        context.exit()
    return value


_FLAGS: Final = (
    ("--name", "NS/NAME", "What the model is called."),
    (
        "--version",
        "V",
        "The version of the release, such as 1.0.0; without V, show this program's and exit.",
    ),
    ("--license", "ID", "Its licence, such as MIT. It says too that others may hand on what no manifest tells of."),
    ("--summary", "TEXT", "One line; without it, made of name and task."),
    ("--task", "TASK", "Such as image-classification; without it, other."),
    ("--channel", "CHANNEL", "Whom it is for: stable, preview or test."),
)
path: Marks = click.argument("path", metavar="FILE|FOLDER", type=click.Path(path_type=Path))


def flags(function: _Function) -> _Function:
    """Give a command the flags; they come to it as keywords, ``None`` where they are not given."""
    for flag, metavar, words in reversed(_FLAGS):
        told: dict[str, Any] = {"metavar": metavar, "help": words}
        if flag == "--version":
            told |= {"is_flag": False, "flag_value": "", "is_eager": True, "callback": _or_the_programs}
        function = click.option(flag, **told)(function)
    return function
