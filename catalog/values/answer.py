"""What a command returns for the one output to print."""

from __future__ import annotations

from typing import NamedTuple


class Answer(NamedTuple):
    """Data for stdout, and words about it for stderr."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
