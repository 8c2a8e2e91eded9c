"""An index that somebody put back to an older state is not signed anew."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import InvalidDocument, VerificationError
from inferry.index.signing.lifecycle import mark
from inferry.index.signing.namespaces import add_namespace
from inferry.index.signing.removal import remove
from inferry.index.signing.renewal import renew, renew_offline
from inferry.index.signing.repository import Repository
from inferry.index.signing.rotation import rotate
from inferry.tests.indexes import NOW, PASSPHRASE, World, copied, empty_index, listing, seen, signed
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def phrase() -> str:
    return PASSPHRASE


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index that was put back to what it was before its one release was revoked."""
    root = tmp_path_factory.mktemp("an index")
    world = empty_index(root, bins=2)
    world.repository.add(world.model, NOW)
    shutil.copytree(world.site, root / "older")
    mark(world.signer, "acme/add@1.0.0", "revoked", NOW, "it is wrong")
    shutil.rmtree(world.site)
    (root / "older").rename(world.site)
    publish(world.model, version="2.0.0")
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


CHANGES: dict[str, Callable[[World], object]] = {
    "add": lambda world: world.repository.add(world.model, NOW),
    "mark": lambda world: mark(world.signer, "acme/add@1.0.0", "yanked", NOW, "so"),
    "remove": lambda world: remove(world.signer, "acme/add", NOW),
    "renew": lambda world: renew(world.signer, NOW + timedelta(days=20)),
    "renew offline": lambda world: renew_offline(world.signer, world.keys / "targets.pem", NOW, phrase),
    "namespace": lambda world: add_namespace(world.signer, "acme", NOW, phrase),
    "rotate root": lambda world: rotate(world.signer, "root", NOW, phrase),
    "rotate online": lambda world: rotate(world.signer, "online", NOW, phrase),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_is_signed(change: Callable[[World], object], world: World) -> None:
    before, keys = listing(world.site), listing(world.keys)
    with pytest.raises(VerificationError, match="was put back: it is at serial 2, and 3 was signed") as caught:
        change(world)
    assert "remove" in caught.value.hints()[1]
    assert (listing(world.site), listing(world.keys)) == (before, keys)


def test_who_means_it_says_so(world: World, tmp_path: Path) -> None:
    (serial,) = world.keys.glob("*.serial")
    assert serial.read_bytes() == b"3\n"
    serial.unlink()
    assert world.repository.add(world.model, NOW).serial == 3
    assert serial.read_bytes() == b"3\n"
    document = seen(world, tmp_path / "home")
    assert document
    assert [each.status for each in document.releases] == ["current", "current"]


def test_a_serial_that_is_none_is_named(world: World) -> None:
    (serial,) = world.keys.glob("*.serial")
    for text in (b"", b"three", b"-1"):
        serial.write_bytes(text)
        with pytest.raises(InvalidDocument, match=r"\.serial holds no serial"):
            world.repository.add(world.model, NOW)


def test_each_index_has_its_own(world: World, tmp_path: Path) -> None:
    other = Repository(tmp_path / "other", world.keys)
    other.init(NOW + timedelta(days=1), ask=phrase)
    assert other.add(world.model, NOW).serial == 2
    assert other.add(publish(world.model, version="3.0.0"), NOW).serial == 3
    assert len([*world.keys.glob("*.serial")]) == 2


def test_what_was_signed_elsewhere_since_is_taken(world: World) -> None:
    (serial,) = world.keys.glob("*.serial")
    serial.write_bytes(b"1\n")
    assert world.repository.add(world.model, NOW).serial == 3
    assert signed(world, "timestamp.json")["version"] == 3
    assert serial.read_bytes() == b"3\n"
