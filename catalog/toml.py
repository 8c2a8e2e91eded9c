"""TOML from anybody: what Python's reader raises beside its own error is an error of the text, too."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .errors import Error


def parse_toml(text: str, *, where: str, failure: Callable[[str], Error]) -> dict[str, Any]:
    """Return the table that ``text`` is; raise what ``failure`` makes of words, where it is none."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise failure(f"{where}: it is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError among them; a number of too many digits is another
        raise failure(f"{where}: {error}") from error
