"""Laws of settings: the highest layer that sets a key holds; what is spelled is read again; a file keeps its words."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings as hypothesis_settings, strategies as st

from inferry.catalog.policy import POLICIES
from inferry.catalog.settings import (
    DEFAULTS,
    KEYS,
    ORDER,
    Effective,
    Layer,
    from_text,
    get,
    parse_settings,
    words,
)
from inferry.catalog.values.size import UNITS, Size
from inferry.catalog.values.version import CHANNELS
from inferry.index.settings import change

SIZE = st.integers(0, 2**63 - 1).map(Size)
EPS = st.lists(st.sampled_from(["cuda", "dml", "cpu", "acme/thing"]), unique=True).map(",".join)
SPELLED: dict[str, st.SearchStrategy[str]] = {
    "policy": st.sampled_from([*POLICIES]),
    "channels": st.lists(st.sampled_from(CHANNELS), unique=True).map(",".join),
    "install": st.sampled_from(["auto", "never"]),
    "offline": st.sampled_from(["true", "false", "1", "0", "Yes"]),
    "eps.allow": EPS,
    "eps.deny": EPS,
    "limits.model_size": SIZE.map(str),
    "limits.store_size": SIZE.map(str),
    "sources.allow": st.lists(st.sampled_from(["acme", "https://models.example.org/a/"]), unique=True).map(",".join),
}
# What a machine policy says can be contradicted, which is an error of its own.
QUIET = tuple(origin for origin in ORDER if origin not in {"machine policy", "default"})
ONE = st.sampled_from(KEYS).flatmap(lambda key: SPELLED[key].map(lambda text: (key, text)))


def test_there_is_a_way_to_draw_every_key() -> None:
    assert tuple(SPELLED) == KEYS


@hypothesis_settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(QUIET), ONE), max_size=12))
def test_the_highest_that_sets_a_key_holds_and_is_named(drawn: list[tuple[Any, tuple[str, str]]]) -> None:
    layers = [Layer(origin, from_text(*one), f"{place}") for place, (origin, one) in enumerate(drawn)]
    held = Effective(layers)
    for key in KEYS:
        setting = [each for each in layers if get(each.settings, key) is not None]
        value = held[key]
        if not setting:
            assert value == (get(DEFAULTS, key), "default", "")
        else:
            first = min(setting, key=lambda each: ORDER.index(each.origin))
            assert (value.value, value.origin) == (get(first.settings, key), first.origin)
            assert value.origin == "environment" or value.where == first.where
        assert get(held.settings, key) == value.value


@hypothesis_settings(deadline=None)
@given(ONE, st.lists(st.tuples(st.sampled_from(["user", "system"]), ONE), max_size=8))
def test_what_the_machine_policy_sets_holds_against_any_file(
    policy: tuple[str, str], below: list[tuple[Any, tuple[str, str]]]
) -> None:
    held = Effective(
        [*(Layer(origin, from_text(*one)) for origin, one in below), Layer("machine policy", from_text(*policy))]
    )
    assert held[policy[0]] == (get(from_text(*policy), policy[0]), "machine policy", "")


@hypothesis_settings(deadline=None)
@given(ONE)
def test_a_value_that_is_told_is_read_again(one: tuple[str, str]) -> None:
    key, text = one
    value = get(from_text(key, text), key)
    assert get(from_text(key, words(value)), key) == value


@hypothesis_settings(deadline=None)
@given(st.integers(0, 2**20), st.sampled_from([*UNITS.items()]), st.sampled_from(["", " "]))
def test_sizes_are_read_in_every_unit_and_written_in_full(count: int, unit: tuple[str, int], blank: str) -> None:
    size = Size.parse(f"{count}{blank}{unit[0]}")
    assert size == count * unit[1]
    assert Size.parse(str(size)) == size
    assert Size.parse(f"{count}{blank}{unit[0].upper()}") == size


FILES = (
    "",
    "# mine\npolicy = 'default'  # why\n\n[eps] # which\ndeny = ['cuda']\n\n[limits]\n# none yet\n",
    "[limits]\r\nmodel_size = '2GB' # crlf\r\n",
    "eps.deny = [ # dotted\n  'cuda',\n]\nlimits = { store_size = 5 } # inline\n",
    "eps = { allow = ['cpu'], deny = [] }\n",
)


@hypothesis_settings(deadline=None, max_examples=60)
@given(st.sampled_from(FILES), st.lists(st.tuples(ONE, st.booleans()), min_size=1, max_size=4))
def test_a_change_sets_one_key_and_keeps_the_rest(text: str, changes: list[tuple[tuple[str, str], bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "new" / "config.toml"
        file.parent.mkdir()
        file.write_bytes(text.encode())
        expected = {key: get(parse_settings(text, where=""), key) for key in KEYS}
        for (key, spelled), taken_out in changes:
            expected[key] = None if taken_out else get(from_text(key, spelled), key)
            change(file, key, expected[key])
        made = file.read_bytes().decode()
        assert {key: get(parse_settings(made, where=""), key) for key in KEYS} == expected
        changed = {key.partition(".")[0] for (key, _), _ in changes}
        assert "# mine" in made or "# mine" not in text
        for comment, table in (("# which", "eps"), ("# none yet", "limits"), ("# crlf", "limits")):
            assert comment in made or comment not in text or table in changed
