"""What is signed is signed anew in time, by a clock or by whoever holds an offline key."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import Refused, UsageError, VerificationError
from inferry.index.signing.keys import KeyFolder, make_keys
from inferry.index.signing.renewal import renew, renew_offline
from inferry.tests.clients import updater
from inferry.tests.indexes import NOW, PASSPHRASE, World, copied, empty_index, listing, seen, signed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def changed(before: dict[str, bytes], world: World) -> set[str]:
    return {name for name, data in listing(world.site).items() if before.get(name) != data}


def test_what_is_near_its_expiry_is_renewed_and_nothing_else(world: World) -> None:
    before = listing(world.site)
    it = renew(world.signer, NOW + timedelta(days=3))
    assert (it.serial, it.renewed, it.soon) == (2, (), {})
    assert listing(world.site) == before
    it = renew(world.signer, NOW + timedelta(days=4))
    assert (it.serial, it.renewed) == (3, ("timestamp",))
    assert changed(before, world) == {"metadata/timestamp.json"}
    before = listing(world.site)
    it = renew(world.signer, NOW + timedelta(days=16))
    assert (it.serial, it.renewed) == (4, ("snapshot", "timestamp"))
    assert changed(before, world) == {"metadata/3.snapshot.json", "metadata/timestamp.json"}
    it = renew(world.signer, NOW + timedelta(days=61))
    assert (it.serial, it.renewed) == (5, ("models", "bins", "snapshot", "timestamp"))
    assert {role: (end - NOW).days for role, end in it.expires.items()} == {
        "root": 364,
        "targets": 364,
        "models": 150,
        "bins": 150,
        "snapshot": 90,
        "timestamp": 67,
    }


def test_what_has_expired_is_renewed_too(world: World, tmp_path: Path) -> None:
    assert len(renew(world.signer, NOW + timedelta(days=200)).renewed) == 4
    assert seen(world, tmp_path / "home")


def test_offline_roles_are_named_in_time(world: World) -> None:
    assert set(renew(world.signer, NOW + timedelta(days=304)).soon) == set()
    assert set(renew(world.signer, NOW + timedelta(days=306)).soon) == {"root", "targets"}


@pytest.mark.parametrize(("role", "renewed"), [("root", ("root",)), ("targets", ("targets", "snapshot", "timestamp"))])
def test_an_offline_key_renews_what_it_signs(role: str, renewed: tuple[str, ...], world: World, tmp_path: Path) -> None:
    home = tmp_path / "home"
    updater(world.site, home).refresh()
    later = NOW + timedelta(days=100)
    it = renew_offline(world.signer, world.keys / f"{role}.pem", later, lambda: PASSPHRASE)
    assert it.renewed == renewed
    assert {each for each, end in it.expires.items() if (end - NOW).days == 464} == {role}
    assert signed(world, f"2.{role}.json")["version"] == 2
    assert seen(world, home)
    assert (home / "root.json").read_bytes() == world.signer.place.newest_root()


def test_an_open_key_and_a_passphrase_that_lies_beside_need_nobody(world: World, tmp_path: Path) -> None:
    (world.keys / "passphrase").write_text(PASSPHRASE + "\n", encoding="utf-8")
    assert renew_offline(world.signer, world.keys / "root.pem", NOW).renewed == ("root",)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/root.pem").write_bytes((world.keys / "root.pem").read_bytes())
    with pytest.raises(UsageError, match="is encrypted"):
        renew_offline(world.signer, tmp_path / "other/root.pem", NOW)


def test_other_keys_renew_nothing(world: World, tmp_path: Path) -> None:
    KeyFolder(tmp_path / "others").fill(make_keys(), lambda: "another one")
    before = listing(world.site)
    with pytest.raises(Refused, match="signs neither root nor targets"):
        renew_offline(world.signer, tmp_path / "others/root.pem", NOW, lambda: "another one")
    with pytest.raises(Refused, match="not the passphrase of the root key"):
        renew_offline(world.signer, world.keys / "root.pem", NOW, lambda: "another one")
    assert listing(world.site) == before


@pytest.mark.parametrize("role", ["root", "targets"])
def test_what_somebody_changed_is_not_renewed(role: str, world: World) -> None:
    path = world.site / f"metadata/1.{role}.json"
    path.write_bytes(path.read_bytes().replace(b'"threshold":1', b'"threshold":9'))
    (world.keys / "lock").touch()
    before = listing(world.site)
    with pytest.raises(VerificationError, match="was not signed by the key that is here"):
        renew_offline(world.signer, world.keys / f"{role}.pem", NOW, lambda: PASSPHRASE)
    assert listing(world.site) == before
