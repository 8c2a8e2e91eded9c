"""Words: how a query finds releases, and in which order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .values.model import Release

_WEIGHTS: Final = {"name": 4, "task": 2, "summary": 1}
"""What a word counts for in each field; twice that as a whole word rather than the beginning of one."""


def words(text: str) -> tuple[str, ...]:
    """Return the words of ``text``: letters and digits, case folded."""
    return tuple(re.findall(r"[^\W_]+", text.casefold()))


def rank(query: str, release: Release) -> int:
    """Return how well a release answers a query, 0 for not at all; a query without words finds every release.

    Each of its words must begin a word of the name, the task or the summary.
    """
    asked = words(query)
    if not asked:
        return 1
    total = 0
    fields = [(weight, words(getattr(release, field))) for field, weight in _WEIGHTS.items()]
    for word in asked:
        best = max(weight * _match(word, told) for weight, told in fields)
        if not best:
            return 0
        total += best
    return total


def _match(word: str, told: tuple[str, ...]) -> int:
    return 2 if word in told else int(any(each.startswith(word) for each in told))
