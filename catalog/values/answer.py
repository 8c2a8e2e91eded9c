"""What a command returns for the one output to print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


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
