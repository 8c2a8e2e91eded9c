"""Releases are yanked, deprecated and revoked: clients and the listing are told, and what was revoked stays so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import InvalidName, ModelNotFound, Refused, UsageError, VerificationError, VersionNotFound
from inferry.index.signing.lifecycle import exactly, mark
from inferry.tests.indexes import NOW, World, copied, empty_index, listing, seen
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.document import Status


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model of two releases."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    publish(world.model, version="2.0.0")
    world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def shown(world: World) -> list[str]:
    with world.signer.changing() as draft:
        return [each.version for each in draft.listing().models]


@pytest.mark.parametrize("status", ["yanked", "deprecated", "revoked"])
def test_clients_and_the_listing_are_told(status: Status, world: World, tmp_path: Path) -> None:
    it = mark(world.signer, "acme/add@2.0.0", status, NOW, " adds too much ")
    assert it == ("acme/add", "2.0.0", status, "adds too much", 4, True)
    document = seen(world, tmp_path / "home")
    assert document
    assert [(each.version, each.status, each.reason) for each in document.releases] == [
        ("2.0.0", status, "adds too much"),
        ("1.0.0", "current", ""),
    ]
    assert shown(world) == ["1.0.0"]
    before = listing(world.site)
    again = mark(world.signer, "acme/add@=2.0", status, NOW, "adds too much")
    assert (again.serial, again.changed) == (4, False)
    assert listing(world.site) == before
    assert mark(world.signer, "acme/add@=2.0.0", status, NOW, "another reason").changed


@pytest.mark.parametrize("status", ["yanked", "deprecated"])
def test_it_becomes_current_again(status: Status, world: World) -> None:
    mark(world.signer, "acme/add@2.0.0", status, NOW, "so")
    it = mark(world.signer, "acme/add@2.0.0", "current", NOW)
    assert (it.status, it.reason, it.changed) == ("current", "", True)
    assert shown(world) == ["2.0.0"]
    assert not mark(world.signer, "acme/add@2.0.0", "current", NOW).changed


@pytest.mark.parametrize("status", ["current", "yanked", "deprecated"])
def test_what_was_revoked_stays_so(status: Status, world: World) -> None:
    mark(world.signer, "acme/add@2.0.0", "revoked", NOW, "leaked")
    before = listing(world.site)
    with pytest.raises(Refused, match=r"acme/add@=2\.0\.0 was revoked, and stays so: leaked"):
        mark(world.signer, "acme/add@2.0.0", status, NOW, "so")
    assert listing(world.site) == before
    # Nor does it come back by being added again, and its version stays taken.
    assert not world.repository.add(world.model, NOW).new


def test_a_model_without_a_release_to_choose_is_not_listed(world: World, tmp_path: Path) -> None:
    mark(world.signer, "acme/add@2.0.0", "revoked", NOW, "so")
    mark(world.signer, "acme/add@1.0.0", "yanked", NOW, "so")
    assert shown(world) == []
    assert seen(world, tmp_path / "home")


WRONG = {
    "no version": ("acme/add", InvalidName),
    "several": ("acme/add@1.*", InvalidName),
    "a range": ("acme/add@>=1", InvalidName),
    "a digest": (f"acme/add@sha256:{'0' * 64}", InvalidName),
    "a channel": ("acme/add@preview", InvalidName),
    "no name": ("add@1.0.0", InvalidName),
    "another source": ("hf:acme/add@1.0.0", InvalidName),
    "no such model": ("acme/nosuch@1.0.0", ModelNotFound),
    "no such release": ("acme/add@3.0.0", VersionNotFound),
}


@pytest.mark.parametrize(("text", "error"), WRONG.values(), ids=WRONG)
def test_one_release_is_meant(text: str, error: type[Exception], world: World) -> None:
    before = listing(world.site)
    with pytest.raises(error):
        mark(world.signer, text, "yanked", NOW, "so")
    assert listing(world.site) == before


@pytest.mark.parametrize("text", ["acme/add@1.0.0", "acme/add@=1.0.0", "Acme/Add@==1.0.0"])
def test_how_one_release_is_spelled(text: str) -> None:
    name, versions = exactly(text)
    assert name == "acme/add"
    assert versions.takes("1.0.0")
    assert not versions.takes("1.0.1")


@pytest.mark.parametrize("reason", ["", " ", "two\nlines", "\x1b[31mred", "x" * 301])
def test_a_reason_is_one_line(reason: str, world: World) -> None:
    with pytest.raises(UsageError, match="a reason is one line"):
        mark(world.signer, "acme/add@2.0.0", "yanked", NOW, reason)


def test_a_listing_that_somebody_changed_is_not_gone_on_from(world: World) -> None:
    for path in (world.site / "targets/models/-").iterdir():
        path.write_bytes(b"other")
    with pytest.raises(VerificationError, match="another digest"):
        mark(world.signer, "acme/add@2.0.0", "yanked", NOW, "so")
