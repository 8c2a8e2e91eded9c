"""How a query finds models: cases as data, and laws."""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from inferry.catalog.synonyms import KINDS, SAY_NOTHING
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.model import Artifact, Release, Variant
from inferry.catalog.values.names import ModelName
from inferry.catalog.words import distance, search, terms

CASES = Path(__file__).parents[1] / "cases/search"


def read(name: str) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))[
        {"catalog": "models", "queries": "queries"}[name]
    ]
    return told


def release(name: str, task: str, summary: str) -> Release:
    file = Artifact(path="x.onnx", media_type="application/vnd.onnx", digest=Digest.of(b""), size_bytes=0)
    variant = Variant(name="fp32", precision="fp32", artifact=file)
    return Release(
        name=ModelName.parse(name),
        version="1.0.0",
        license="MIT",
        summary=summary,
        task=task,
        variants=(variant,),
        inputs=(),
        outputs=(),
    )


MODELS = [release(**each) for each in read("catalog")]
QUERIES = {each["query"]: each for each in read("queries")}
SPELLED = sorted(
    {
        one
        for it in MODELS
        for text in (it.name, it.task, it.summary)
        for term in terms(text)
        for part in term.parts
        for one in part
    }
)
WORDS = sorted({*SPELLED, *(word for kind in KINDS for text in (*kind.names, kind.words) for word in text.split())})
JOINED = {
    joined
    for it in MODELS
    for text in (it.name, it.task, it.summary)
    for term in terms(text)
    for joined in (term.whole, *map("".join, pairwise([one for part in term.parts for one in part])))
}
LONG = [word for word in SPELLED if len(word) >= 5 and word.isalpha()]
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def found(query: str) -> list[str]:
    return [str(each.name) for each in search(query, MODELS)]


@pytest.mark.parametrize("query", QUERIES)
def test_what_a_query_finds(query: str) -> None:
    assert found(query) == QUERIES[query]["finds"], QUERIES[query]["why"]


def test_there_is_enough_to_tell_apart() -> None:
    assert (len(MODELS), len(QUERIES)) >= (30, 40)


@pytest.mark.parametrize("query", ["", " ", "the", "models", "-", "…"])
def test_a_query_without_words_finds_all_by_name(query: str) -> None:
    assert found(query) == sorted(str(each.name) for each in MODELS)


queries = st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=3).map(" ".join)


@settings(deadline=None, max_examples=150)
@given(queries, st.sampled_from(WORDS) | st.text(max_size=6))
def test_adding_a_word_never_adds_a_result(query: str, word: str) -> None:
    assert {*found(f"{query} {word}")} <= {*found(query)}


@settings(deadline=None, max_examples=150)
@given(queries)
def test_case_and_order_change_no_result(query: str) -> None:
    once = {*found(query)}
    assert {*found(" ".join(reversed(query.split())))} == once
    if query.isascii() and query == query.lower():
        assert {*found(query.upper())} == once


@st.composite
def typos(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a word and the same with one letter missing, too many, wrong, or swapped with the next."""
    word = draw(st.sampled_from(LONG))
    at = draw(st.integers(0, len(word) - 2))
    letter = draw(st.sampled_from(LETTERS))
    wrong = draw(
        st.sampled_from(
            [
                word[:at] + word[at + 1 :],
                word[:at] + letter + word[at:],
                word[:at] + letter + word[at + 1 :],
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            ]
        )
    )
    return word, wrong


@settings(deadline=None, max_examples=300)
@given(typos())
def test_a_typo_finds_what_the_right_word_finds(pair: tuple[str, str]) -> None:
    """Unless it is another word, which then finds what that one does."""
    word, wrong = pair
    right, other = {*found(word)}, {*found(wrong)}
    if wrong in SAY_NOTHING or word in SAY_NOTHING:
        return
    known = {said for each in (*WORDS, *JOINED) for said in (each, f"{each}s")}
    if not any(each.startswith(wrong) for each in known):
        assert right <= other, (word, wrong)


@settings(deadline=None)
@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_the_distance_is_to_the_nearest_beginning(word: str, told: str) -> None:
    assert distance(word, told, 9) == min(swaps(word, told[:end]) for end in range(len(told) + 1))
    assert distance(word, told, 1) == min(2, distance(word, told, 9))


def swaps(one: str, two: str) -> int:
    """Return the distance of two words, by its definition."""
    if not one or not two:
        return len(one) + len(two)
    least = min(swaps(one[1:], two) + 1, swaps(one, two[1:]) + 1, swaps(one[1:], two[1:]) + (one[0] != two[0]))
    if len(one) > 1 and len(two) > 1 and one[0] == two[1] and one[1] == two[0]:
        least = min(least, swaps(one[2:], two[2:]) + 1)
    return least


def test_how_it_is_found_comes_before_where() -> None:
    models = [
        release("a/one", "other", "Says speech"),
        release("a/speechless", "other", "Nothing"),
        release("a/three", "speech-to-speech", "Nothing"),
        release("a/speech", "other", "Nothing"),
        release("a/five", "tts", "Nothing"),
    ]
    assert [each.name for each in search("speech", models)] == [
        "a/speech",
        "a/three",
        "a/one",
        "a/speechless",
        "a/five",
    ]


def test_a_kind_is_spelled_as_terms_are() -> None:
    for kind in KINDS:
        for text in (*kind.names, kind.words):
            assert text == " ".join(one for term in terms(text) for part in term.parts for one in part)
