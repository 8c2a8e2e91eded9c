"""Laws of the wire: what is written is read back, whatever a newer writer adds; other bytes are refused at worst."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st
from jsonschema import Draft202012Validator

from inferry.catalog.errors import InvalidDocument
from inferry.catalog.values import canonical
from inferry.catalog.values.model import Release
from inferry.index import wire
from inferry.tests.strategies import RELEASES

if TYPE_CHECKING:
    import random

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
SCHEMA = Draft202012Validator(wire.schemas()["Release"])
laws = settings(deadline=None, max_examples=100)


@laws
@given(RELEASES)
def test_a_release_travels_whole(release: Release) -> None:
    data = wire.encode(release)
    assert wire.decode(data, Release) == release
    assert wire.encode(wire.decode(data, Release)) == data


@laws
@given(RELEASES)
def test_the_schema_takes_what_is_written(release: Release) -> None:
    assert SCHEMA.is_valid(json.loads(wire.encode(release)))


@pytest.mark.parametrize("kind", [kind.__name__ for kind in wire.LIMITS])
def test_a_schema_is_one_and_takes_no_other_document(kind: str) -> None:
    schema = wire.schemas()[kind]
    Draft202012Validator.check_schema(schema)
    others: list[Json] = [{}, [], {"name": 7}]
    for other in others:
        assert not Draft202012Validator(schema).is_valid(other)


@laws
@given(RELEASES, st.randoms(use_true_random=False))
def test_keys_that_a_newer_writer_adds_change_nothing_else(release: Release, chance: random.Random) -> None:
    document: Json = json.loads(wire.encode(release))

    def grown(told: Json) -> Json:
        if isinstance(told, list):
            return [grown(each) for each in told]
        if not isinstance(told, dict):
            return told
        # What a host must have may not grow unseen, and tables of names are no objects with fields.
        kept = {key: held if key in {"requires", "opsets"} else grown(held) for key, held in told.items()}
        new: list[Json] = [1, "a", None, [1], {"b": {}}]
        return {**kept, "zz-new": chance.choice(new)} if chance.random() < 0.5 else kept

    assert wire.decode(canonical.encode(grown(document)), Release) == release


@laws
@given(RELEASES, st.randoms(use_true_random=False))
def test_bytes_that_were_changed_are_refused_or_are_a_release(release: Release, chance: random.Random) -> None:
    data = bytearray(wire.encode(release))
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    with suppress(InvalidDocument):
        assert isinstance(wire.decode(bytes(data), Release), Release)
