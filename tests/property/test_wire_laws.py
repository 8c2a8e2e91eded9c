"""Laws of the wire: what is written is read back, whatever a newer writer adds; other bytes are refused at worst."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings, strategies as st

from inferry.catalog.errors import InvalidDocument
from inferry.catalog.values import canonical
from inferry.catalog.values.model import Release
from inferry.index import wire
from inferry.tests.strategies import RELEASES

if TYPE_CHECKING:
    import random

laws = settings(deadline=None, max_examples=100)


@laws
@given(RELEASES)
def test_a_release_travels_whole(release: Release) -> None:
    data = wire.encode(release)
    assert wire.decode(data, Release) == release
    assert wire.encode(wire.decode(data, Release)) == data


@laws
@given(RELEASES, st.randoms(use_true_random=False))
def test_keys_that_a_newer_writer_adds_change_nothing_else(release: Release, chance: random.Random) -> None:
    document = json.loads(wire.encode(release))

    def grown(told: Any) -> Any:
        if isinstance(told, list):
            return [grown(each) for each in told]
        if not isinstance(told, dict):
            return told
        # What a host must have may not grow unseen, and tables of names are no objects with fields.
        kept = {key: held if key in {"requires", "opsets"} else grown(held) for key, held in told.items()}
        return kept | ({"zz-new": chance.choice([1, "a", None, [1], {"b": {}}])} if chance.random() < 0.5 else {})

    assert wire.decode(canonical.encode(grown(document)), Release) == release


@laws
@given(RELEASES, st.randoms(use_true_random=False))
def test_bytes_that_were_changed_are_refused_or_are_a_release(release: Release, chance: random.Random) -> None:
    data = bytearray(wire.encode(release))
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    with suppress(InvalidDocument):
        assert isinstance(wire.decode(bytes(data), Release), Release)
