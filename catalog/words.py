"""Words: how a query finds releases, and in which order.

Each word of a query must be found: adding one never adds a result. A word is found exactly, or as the beginning of a
word, or as a word that means the same; and only where no release at all has it so, as a word that is mistyped.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from .synonyms import KINDS, SAY_NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .values.listing import Listed
    from .values.model import Release

_Model = TypeVar("_Model", bound="Release | Listed")
_FIELDS: Final = {"name": 4, "task": 2, "summary": 1}
_EXACT: Final = 512
_PREFIX: Final = 64
_SYNONYM: Final = 8
_TYPO: Final = 1
"""What a word counts for, times its field: how it is found comes before where."""
_MEANT: Final = 4 * _EXACT
"""What the kind of work counts for that a query names in several words."""
_CHUNK: Final = re.compile(r"[^\W_]+(?:[-_.][^\W_]+)*")
_JOINT: Final = re.compile("[-_.]")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PART: Final = re.compile(r"\d+|[^\W\d_]+")
_ONE_TYPO_FROM: Final = 4
_TWO_TYPOS_FROM: Final = 8


class Term(NamedTuple):
    """What stands between two spaces: ``MobileNet-v2``."""

    whole: str
    """All of it in one: ``mobilenetv2``."""
    parts: tuple[tuple[str, ...], ...]
    """Told apart at hyphens, and these at humps and digits: ``(mobile, net), (v, 2)``."""


class _Told(NamedTuple):
    """What a field of a release tells."""

    weight: int
    words: frozenset[str]
    synonyms: frozenset[str]
    """Words that mean the same, and plurals."""
    kinds: frozenset[int]
    """The kinds of work that it names."""


def terms(text: str) -> tuple[Term, ...]:
    """Return the terms of ``text``: letters and digits in Unicode's form NFKC, case folded."""
    found: list[Term] = []
    for chunk in _CHUNK.findall(unicodedata.normalize("NFKC", text)):
        folded = [unicodedata.normalize("NFKC", _HUMP.sub(" ", each).casefold()) for each in _JOINT.split(chunk)]
        parts = tuple(part for each in folded if (part := tuple(_PART.findall(each))))
        if parts:
            found.append(Term("".join(map("".join, parts)), parts))
    return tuple(found)


def search(query: str, releases: Sequence[_Model]) -> list[_Model]:
    """Return those of ``releases`` that answer a query, best first; a query of no words finds all, by name."""
    scores = dict.fromkeys(range(len(releases)), 0)
    asked = [term for term in terms(query) if term.whole not in SAY_NOTHING]
    told = [_fields(release) for release in releases] if asked else []
    for term in asked:
        found = _scores(term, told, _strictly)
        if not any(found):
            found = _scores(term, told, _loosely)
        scores = {place: score + found[place] for place, score in scores.items() if found[place]}
    # "Speech to text" and "text to speech" have the same words.
    meant = {place for place, name in _named_in(_line(terms(query))) if " " in name}
    for place in scores if asked and meant else ():
        scores[place] += _MEANT * any(each.kinds & meant for each in told[place])
    order = sorted(scores, key=lambda place: (-scores[place], releases[place].name))
    return [releases[place] for place in order]


def distance(word: str, told: str, limit: int) -> int:
    """Return how many letters are missing, too many, wrong or swapped, from ``word`` to a start of ``told``.

    Of all starts of ``told``, itself among them, the nearest counts; more than ``limit`` is told as ``limit + 1``.
    """
    before: list[int] = []
    row: list[int] = [*range(len(told) + 1)]
    for i, letter in enumerate(word, 1):
        before, last, row = row, before, [i]
        for j, other in enumerate(told, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == told[j - 2] and word[i - 2] == other:
                least = min(least, last[j - 2] + 1)
            row.append(least)
        if min(row) > limit and min(before) > limit:
            return limit + 1
    return min([*row, limit + 1])


def _scores(term: Term, told: Iterable[Sequence[_Told]], match: Callable[[str, Sequence[_Told]], int]) -> list[int]:
    """Return what a term counts for in each release, 0 for not found: as a whole, or part by part."""

    def of(each: Sequence[_Told]) -> int:
        return max(
            match(term.whole, each),
            min(max(match("".join(part), each), min(match(one, each) for one in part)) for part in term.parts),
        )

    return [of(each) for each in told]


def _strictly(word: str, told: Sequence[_Told]) -> int:
    return max([each.weight * _match(word, each) for each in told], default=0)


def _loosely(word: str, told: Sequence[_Told]) -> int:
    return _strictly(word, told) or max(each.weight * _mistyped(word, each) for each in told)


def _match(word: str, told: _Told) -> int:
    if word in told.words:
        return _EXACT
    if any(each.startswith(word) for each in told.words):
        return _PREFIX
    return _SYNONYM if any(each.startswith(word) for each in told.synonyms) else 0


def _mistyped(word: str, told: _Told) -> int:
    if len(word) < _ONE_TYPO_FROM or not word.isalpha():
        return 0
    return _TYPO if any(_near(word, each) for each in (*told.words, *told.synonyms)) else 0


@lru_cache(1 << 16)
def _near(word: str, told: str) -> bool:
    limit = 2 if len(word) >= _TWO_TYPOS_FROM else 1
    return len(told) >= len(word) - limit and distance(word, told, limit) <= limit


def _fields(release: Release | Listed) -> list[_Told]:
    return [_told(weight, getattr(release, field)) for field, weight in _FIELDS.items()]


def _told(weight: int, text: str) -> _Told:
    found = terms(text)
    words = {term.whole for term in found}
    for term in found:
        flat = [one for part in term.parts for one in part]
        words.update(flat, map("".join, term.parts), map("".join, pairwise(flat)))
    kinds = frozenset(place for place, _ in _named_in(_line(found)))
    means = {word for place in kinds for word in _words()[place]}
    plurals = {f"{word}s" for word in words | means if word.isalpha()}
    return _Told(weight, frozenset(words), frozenset(means | plurals), kinds)


def _line(found: Iterable[Term]) -> str:
    return f" {' '.join(one for term in found for part in term.parts for one in part)} "


def _named_in(line: str) -> list[tuple[int, str]]:
    """Return the kinds that are named in a line of words, each with the name."""
    kinds = [(place, name) for place, kind in enumerate(KINDS) for name in kind.names]
    return [(place, name) for place, name in kinds if f" {name} " in line or f" {name}s " in line]


@cache
def _words() -> tuple[frozenset[str], ...]:
    """Return the words that find each kind."""
    lines = [" ".join((*kind.names, kind.words)) for kind in KINDS]
    return tuple(frozenset(line.split()) - SAY_NOTHING for line in lines)
