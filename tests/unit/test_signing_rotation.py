"""Keys are replaced: clients with an older root follow, and a rotation that was interrupted is gone on with."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import itertools
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Root, Targets

from inferry.catalog.errors import MachineError, NotFoundError, Refused, UsageError, VerificationError
from inferry.index import blobs, files
from inferry.index.signing import keys, place, roles
from inferry.index.signing.checking import check
from inferry.index.signing.keys import KeyFolder, make_keys, read_key
from inferry.index.signing.rotation import Rotated, rotate
from inferry.tests.clients import updater
from inferry.tests.indexes import NOW, PASSPHRASE, World, copied, empty_index, listing, seen, signed
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

ROLES: tuple[Rotated, ...] = ("root", "targets", "online")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model."""
    world = empty_index(tmp_path_factory.mktemp("an index"), bins=2)
    world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def phrase() -> str:
    return PASSPHRASE


def turned(world: World, *which: Rotated) -> None:
    for role in which:
        rotate(world.signer, role, NOW, phrase)


@pytest.mark.parametrize("role", ROLES)
def test_a_client_with_the_old_root_follows(role: Rotated, world: World, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert seen(world, home)
    before = {path.name: path.read_bytes() for path in world.keys.glob("*.pem")}
    it = rotate(world.signer, role, NOW, phrase)
    assert (it.role, it.serial) == (role, 2 if role == "root" else 3)
    assert it.fingerprint == world.repository.status(NOW).fingerprint
    assert seen(world, home)
    assert seen(world, tmp_path / "new home")
    after = {path.name: path.read_bytes() for path in world.keys.glob("*.pem")}
    assert {name for name in after if before.get(name) != after[name]} == {f"{role}.pem"}
    assert before.keys() == after.keys()
    assert check(world.site, NOW).problems == ()
    publish(world.model, version="2.0.0")
    assert world.repository.add(world.model, NOW).new
    document = seen(world, home)
    assert document
    assert len(document.releases) == 2


def test_a_client_many_rotations_behind_follows(world: World, tmp_path: Path) -> None:
    assert seen(world, tmp_path / "home")
    turned(world, "root", "online", "root", "targets", "online", "root")
    assert signed(world, "7.root.json")["version"] == 7
    assert seen(world, tmp_path / "home")
    assert check(world.site, NOW)[:2] == ((), ())


@pytest.mark.parametrize("role", ROLES)
def test_the_old_key_signs_nothing_any_more(role: Rotated, world: World, tmp_path: Path) -> None:
    shutil.copytree(world.keys, tmp_path / "old")
    turned(world, role)
    home = tmp_path / "home"
    assert seen(world, home)
    old = read_key(tmp_path / f"old/{role}.pem", phrase)
    if role == "online":
        other = World(world.site, tmp_path / "old", publish(world.model, version="2.0.0"))
        with pytest.raises(VerificationError, match="not signed by the key"):
            other.repository.add(world.model, NOW)
        state = roles.load(world.signer.place.metadata)
        forged = roles.stamp(state, roles.Signing(old, NOW))
    elif role == "root":
        root = roles.read("root.json", world.signer.place.newest_root(), Root)
        forged = roles.renew_root(root, NOW, old)
    else:
        online = KeyFolder(world.keys).online()
        state = roles.load(world.signer.place.metadata)
        name = f"{state.version('targets')}.targets.json"
        targets = roles.read(name, world.signer.place.metadata(name), Targets)
        forged = roles.change(state, {"targets": targets}, roles.Signing(online, NOW, {"targets": (old,)}))
    world.signer.place.write_metadata(forged)
    client = updater(world.site, home)
    with pytest.raises(RepositoryError):
        client.get_targetinfo("models/acme/add.json")


def stopping(monkeypatch: pytest.MonkeyPatch, last: int) -> list[str]:
    """Let ``last`` steps be done, of whatever writes or removes a file, and the disk fail at the next."""
    done: list[str] = []

    def failing(told: Any, at: int) -> Any:
        def step(*arguments: Any, **keywords: Any) -> Any:
            name = arguments[at].name
            if not name.startswith("."):
                if len(done) == last:
                    raise MachineError("the disk fails")
                done.append(name)
            return told(*arguments, **keywords)

        return step

    monkeypatch.setattr(place, "write_whole", failing(blobs.write_whole, 0))
    monkeypatch.setattr(keys, "replace", failing(files.replace, 1))
    monkeypatch.setattr(keys, "remove", failing(files.remove, 0))
    return done


ORDER = {
    "root": ["root-old-1.pem", "root.pem", "2.root.json", "root-old-1.pem"],
    "targets": [
        "targets-old-1.pem",
        "targets.pem",
        "2.targets.json",
        "3.snapshot.json",
        "timestamp.json",
        "2.root.json",
        "N.serial",
        "targets-old-1.pem",
    ],
    "online": [
        "online-old-1.pem",
        "online.pem",
        "2.targets.json",
        "2.models.json",
        "N.bins-0.json",
        "N.bins-1.json",
        "3.snapshot.json",
        "timestamp.json",
        "2.root.json",
        "N.serial",
        "online-old-1.pem",
    ],
}
STOPS = [(role, crash) for role in ROLES for crash in range(len(ORDER[role]))]


@pytest.mark.parametrize("role", ROLES)
def test_the_order_of_writes(role: Rotated, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    done = stopping(monkeypatch, 100)
    turned(world, role)
    told = [f"N.{name[2:]}" if ".bins-" in name else name for name in done]
    assert ["N.serial" if name.endswith(".serial") else name for name in told] == ORDER[role]


@pytest.mark.parametrize(("role", "crash"), STOPS, ids=[f"{role}-{crash}" for role, crash in STOPS])
def test_a_crash_at_any_write_is_gone_on_from(
    role: Rotated, crash: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert seen(world, tmp_path / "home")
    with monkeypatch.context() as patched:
        stopping(patched, crash)
        with pytest.raises(MachineError, match="the disk fails"):
            turned(world, role)
    assert seen(world, tmp_path / "home")
    assert seen(world, tmp_path / "a new home")
    turned(world, role)
    assert seen(world, tmp_path / "home")
    assert seen(world, tmp_path / "another home")
    assert check(world.site, NOW).problems == ()
    assert signed(world, "2.root.json")["version"] == 2
    assert not (world.site / "metadata/3.root.json").exists()
    assert sorted(path.name for path in world.keys.glob("*.pem")) == ["online.pem", "root.pem", "targets.pem"]
    publish(world.model, version="2.0.0")
    assert world.repository.add(world.model, NOW).new
    assert seen(world, tmp_path / "home")


def test_nothing_else_is_signed_while_the_online_key_is_replaced(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stopping(patched, 4)
        with pytest.raises(MachineError):
            turned(world, "online")
    publish(world.model, version="2.0.0")
    with pytest.raises(Refused, match="was being replaced") as raised:
        world.repository.add(world.model, NOW)
    assert "rotate" in raised.value.hints()[0]


def test_what_somebody_changed_is_not_signed_anew(world: World) -> None:
    path = world.site / "metadata/1.root.json"
    path.write_bytes(path.read_bytes().replace(b'"threshold":1', b'"threshold":9'))
    for role in ROLES:
        with pytest.raises(VerificationError, match="was not signed by the key that is here"):
            rotate(world.signer, role, NOW, phrase)
    assert not list((world.site / "metadata").glob("2.root.json"))


def test_wrong_keys_and_passphrases(world: World, tmp_path: Path) -> None:
    before = listing(world.site)
    for role, (ask, error) in itertools.product(ROLES[:2], ((None, UsageError), (lambda: "no", Refused))):
        with pytest.raises(error):
            rotate(world.signer, role, NOW, ask)
    KeyFolder(tmp_path / "others").fill(make_keys(), phrase)
    for role in ROLES:
        with pytest.raises(VerificationError):
            rotate(World(world.site, tmp_path / "others", world.model).signer, role, NOW, phrase)
    with pytest.raises(NotFoundError):
        rotate(World(world.site, tmp_path / "nosuch", world.model).signer, "root", NOW, phrase)
    assert listing(world.site) == before


def test_a_passphrase_that_lies_beside_is_taken(world: World) -> None:
    (world.keys / "passphrase").write_text(PASSPHRASE, encoding="utf-8")
    for role in ROLES:
        rotate(world.signer, role, NOW)
    assert read_key(world.keys / "root.pem").public_key.keyid in signed(world, "4.root.json")["roles"]["root"]["keyids"]
