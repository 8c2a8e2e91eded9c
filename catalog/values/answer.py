"""What a command returns for the one output to print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

Told = Literal["data", "words", "ranking", "failure"]
"""What lines are, for a terminal: data stay as they are; words are wrapped; of a ranking the first line is what was
chosen, and each that begins with ``no:`` what was not; a failure is an error with its hints."""


class Answer(NamedTuple):
    """One answer in two forms: for people, and for programs."""

    lines: tuple[str, ...]
    """Data, for stdout."""
    document: Mapping[str, Any]
    """The same and more for ``--json``: what JSON can hold, without ``schema_version``."""
    notes: tuple[str, ...] = ()
    """Words about it, for stderr."""
    details: tuple[str, ...] = ()
    """More of them, with ``-v``."""
    code: int = 0
    """The exit code, for an answer that is no error and yet no."""
    told: Told = "data"
    """What ``lines`` are."""
