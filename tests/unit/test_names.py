"""Names and versions as they are asked for."""

from __future__ import annotations

import pytest

import inferry
from inferry.catalog.errors import InvalidName, VersionNotFound
from inferry.catalog.values.names import parse_request
from inferry.catalog.values.version import CANONICAL

TAKEN: dict[str, tuple[list[str], list[str]]] = {
    "1.2": (["1.2", "1.2.0", "1.2.9"], ["1.3", "1.20", "2.0", "1.2.1rc1"]),
    "1": (["1", "1.9.9"], ["2", "10"]),
    "=1.2.0": (["1.2.0", "1.2"], ["1.2.1"]),
    "==1.2.0": (["1.2.0"], ["1.2.1"]),
    ">=1,<2": (["1.0", "1.9"], ["2.0", "0.9"]),
    "~=1.2": (["1.2", "1.3"], ["2.0", "1.1"]),
    "=2.0rc1": (["2.0rc1"], ["2.0"]),
    "2.0rc1": (["2.0rc1"], ["2.0"]),
}


@pytest.mark.parametrize(("spec", "versions"), TAKEN.items(), ids=TAKEN)
def test_which_versions_are_asked_for(spec: str, versions: tuple[list[str], list[str]]) -> None:
    name, asked = parse_request(f"Acme/Thing@{spec}")
    assert name == "acme/thing"
    assert asked
    for taken, each in zip((True, False), versions, strict=True):
        assert {version: asked.takes(version) for version in each} == dict.fromkeys(each, taken)


@pytest.mark.parametrize("spec", ["", " ", "x", "1.x", "=", ">=", "1..2", "1,2", "@1", "latest"])
def test_what_is_no_version(spec: str) -> None:
    with pytest.raises(InvalidName, match="does not say which version"):
        parse_request(f"acme/thing@{spec}")


def test_a_version_that_is_not_there() -> None:
    for spec in ("1", "1.0", "=1.0.0", ">=1,<2"):
        with inferry.load(f"inferry/digits@{spec}") as model:
            assert model.release
    with pytest.raises(VersionNotFound, match="`@>=2` asks for") as caught:
        inferry.load("inferry/digits@>=2")
    assert (caught.value.exit_code, caught.value.hints()) == (3, ("there is inferry/digits@=1.0.0",))


def test_the_normal_form_is_that_of_pep_440() -> None:
    for version in ("0", "1.2.0", "1!2.0", "1.0a1", "1.0rc1.post2.dev3"):
        assert CANONICAL.fullmatch(version)
    for version in ("v1.0", "01.2", "1.0-1", "1.0alpha1", "1.0+local", ""):
        assert not CANONICAL.fullmatch(version)
