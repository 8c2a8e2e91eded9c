"""Matches: what a search finds."""

from __future__ import annotations

from typing import NamedTuple


class Match(NamedTuple):
    """One model that answers a query, by its newest release."""

    name: str
    version: str
    task: str
    precisions: tuple[str, ...]
    license: str
    """An SPDX licence expression."""
    size_bytes: int
    """Of its first variant."""
    fits: bool | None
    """Whether it fits this machine; ``None`` where nobody looked."""
    source: str
    summary: str
