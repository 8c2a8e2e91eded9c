"""What the commands of an index have in common: where it lies, and who knows a passphrase."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from ...catalog.errors import MachineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from ..signing.keys import Ask

_Function = TypeVar("_Function", bound="Callable[..., Any]")


class Marks(Protocol):
    """Gives a command an argument or an option."""

    def __call__(self, function: _Function, /) -> _Function:
        """Return the command with it."""
        ...


_path = click.Path(path_type=Path)
folder: Marks = click.argument("folder", metavar="DIR", type=_path)
keys: Marks = click.option(
    "--keys",
    metavar="DIR",
    type=_path,
    help="The folder with its keys; without it they lie with your settings, under the fingerprint of the index.",
)
folder_or: Marks = click.argument("folder", metavar="[DIR]", type=_path, required=False)
data_or: Marks = click.option("--data", metavar="DIR", type=_path, help="The index, as on other commands.")
data: Marks = click.option("--data", metavar="DIR", type=_path, required=True, help="The index.")
passphrase_file: Marks = click.option(
    "--passphrase-file",
    metavar="FILE",
    type=_path,
    help="Holds the passphrase of the offline keys; without it you are asked in a terminal.",
)


def either(folder: Path | None, data: Path | None) -> Path:
    """Return where the index lies, which was said once; raise ``UsageError`` where it was not, or twice."""
    if not (said := folder or data) or (folder and data):
        raise UsageError("say once where the index is", hints=("name its folder: DIR, or --data DIR",))
    return said


def ask(file: Path | None, *, new: bool = False) -> Ask | None:
    """Return who knows the passphrase: a file, or somebody at a terminal; ``None`` where nobody does.

    A ``new`` one is asked for twice.
    """
    if file:
        try:
            told = file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise MachineError(f"{file} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"--passphrase-file: {file} is not UTF-8") from error
        return lambda: told
    if at_a_terminal():
        return lambda: str(
            click.prompt("passphrase of the offline keys", hide_input=True, confirmation_prompt=new, err=True)
        )
    return None


def at_a_terminal() -> bool:
    """Return whether somebody can be asked."""
    return bool(sys.stdin and sys.stdin.isatty())


def times(expires: dict[str, datetime]) -> dict[str, Any]:
    """Return when roles expire, as JSON tells it."""
    from ..signing.roles import OWNED

    told = {role: end.isoformat() for role, end in expires.items()}
    owned = {role.removeprefix(OWNED): told.pop(role) for role in expires if role.startswith(OWNED)}
    return {**told, "namespaces": owned}


def day(end: datetime) -> str:
    """Return a time for people."""
    return f"{end:%Y-%m-%d %H:%M} UTC"
