"""EP packages: their namespace's owner speaks for them."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import (
    InvalidDocument,
    InvalidManifest,
    InvalidName,
    MachineError,
    NotFoundError,
    Refused,
)
from inferry.catalog.values.package import EpRelease
from inferry.index import wire
from inferry.index.signing import roles
from inferry.index.signing.checking import check
from inferry.index.signing.namespaces import add_namespace, is_package, publish_package
from inferry.index.signing.removal import remove
from inferry.index.signing.renewal import renew_offline
from inferry.index.signing.rotation import rotate
from inferry.tests.forgeries import Forger
from inferry.tests.indexes import NOW, PACKAGE, World, blob, copied, listing, seen, signed, writes
from inferry.tests.owners import found, key_file, manifest, owned_index, package, phrase, put
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model, and an EP package whose owner's key lies beside the others."""
    return owned_index(tmp_path_factory.mktemp("an index"))


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def test_what_an_owner_signs_is_found(world: World, tmp_path: Path) -> None:
    told = package(world, tmp_path / "home")
    assert [each.version for each in told.releases] == ["1.0.0"]
    link = told.releases[0].document
    assert wire.follow(link, blob(world, link.digest).read_bytes(), EpRelease).builds[0].file == "fast.whl"
    before = listing(world.site)
    again = put(world)
    assert (again.new, again.serial, again.digest) == (False, 4, link.digest)
    assert listing(world.site) == before
    assert put(world, "1.1.0")[:2] == ("acme/fast", "1.1.0")
    assert [each.version for each in package(world, tmp_path / "home").releases] == ["1.1.0", "1.0.0"]
    changed = {name for name, data in listing(world.site).items() if before.get(name) != data}
    assert {name for name in changed if name.startswith("metadata")} == {
        "metadata/3.ep-acme.json",
        "metadata/5.snapshot.json",
        "metadata/timestamp.json",
    }
    assert check(world.site, NOW)[:4] == ((), (), 1, 1)


def test_a_release_never_changes(world: World) -> None:
    other = manifest(world, like=PACKAGE.replace("= 10", "= 11"))
    before = listing(world.site)
    with pytest.raises(Refused, match="with other content"):
        publish_package(world.signer, other, NOW, phrase)
    assert listing(world.site) == before


def test_the_search_ends_with_the_owner(world: World, tmp_path: Path) -> None:
    assert found(world, tmp_path / "home", "ep/acme/other.json") is None
    assert found(world, tmp_path / "home", "ep/nobody/other.json") is None


def test_the_owner_may_be_somebody_else(world: World, tmp_path: Path) -> None:
    public = key_file(tmp_path / "owner.pem", public=True)
    told = add_namespace(world.signer, "other", NOW, phrase, public)
    assert (told.role, told.key, told.new) == ("ep-other", None, True)
    assert check(world.site, NOW)[:4] == ((), (), 1, 1)
    assert world.repository.status(NOW).expires.keys() >= {"ep-acme"}
    path = manifest(world, like=PACKAGE.replace("acme/fast", "other/fast"))
    with pytest.raises(NotFoundError, match=r"ep-other\.pem is not there"):
        publish_package(world.signer, path, NOW, phrase)
    with pytest.raises(Refused, match="does not own the namespace other"):
        publish_package(world.signer, path, NOW, phrase, key_file(tmp_path / "stranger.pem", public=False))
    assert publish_package(world.signer, path, NOW, None, tmp_path / "owner.pem").new
    assert found(world, tmp_path / "home", "ep/other/fast.json")
    assert found(world, tmp_path / "home")
    assert check(world.site, NOW)[:4] == ((), (), 1, 2)


def test_a_namespace_has_one_owner(world: World, tmp_path: Path) -> None:
    before = listing(world.site)
    assert add_namespace(world.signer, "acme", NOW, phrase)[2:] == (
        Forger(world).key("ep-acme").public_key.keyid,
        None,
        4,
        False,
    )
    with pytest.raises(Refused, match="the namespace acme has an owner already"):
        add_namespace(world.signer, "acme", NOW, phrase, key_file(tmp_path / "other.pem", public=False))
    (world.keys / "ep-acme.pem").rename(tmp_path / "ep-acme.pem")
    with pytest.raises(Refused, match="the namespace acme has an owner already"):
        add_namespace(world.signer, "acme", NOW, phrase)
    assert not (world.keys / "ep-acme.pem").exists()
    with pytest.raises(Refused, match="the online key may not own"):
        add_namespace(world.signer, "other", NOW, phrase, world.keys / "online.pem")
    with pytest.raises(NotFoundError, match="has no namespace other"):
        publish_package(
            world.signer, manifest(world, like=PACKAGE.replace("acme/", "other/")), NOW, phrase, tmp_path / "other.pem"
        )
    assert listing(world.site) == before


@pytest.mark.parametrize("name", ["", "a/b", "-", "Ä", "x" * 200, "..", "*"])
def test_names_of_namespaces(name: str, world: World) -> None:
    with pytest.raises(InvalidName):
        add_namespace(world.signer, name, NOW, phrase)


@pytest.mark.parametrize("data", [b"", b"-----BEGIN PUBLIC KEY-----\nx", b"-----BEGIN PRIVATE KEY-----"])
def test_files_that_are_no_keys(data: bytes, world: World, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(data)
    with pytest.raises(InvalidDocument, match=r"key\.pem"):
        add_namespace(world.signer, "other", NOW, phrase, tmp_path / "key.pem")


def test_the_keys_of_namespaces_are_encrypted(world: World) -> None:
    assert (world.keys / "ep-acme.pem").read_bytes().startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY")
    with pytest.raises(Refused, match="not the passphrase"):
        publish_package(world.signer, manifest(world, "2.0.0"), NOW, lambda: "no")


@pytest.mark.parametrize("role", ["root", "targets", "online"])
def test_new_keys_of_others_change_nothing_for_it(role: str, world: World, tmp_path: Path) -> None:
    before = found(world, tmp_path / "home")
    rotate(world.signer, role, NOW, phrase)  # type: ignore[arg-type]
    assert found(world, tmp_path / "home") == found(world, tmp_path / "new home") == before
    assert put(world, "2.0.0").new
    assert len(package(world, tmp_path / "home").releases) == 2
    assert check(world.site, NOW).problems == ()


def test_the_owner_renews_it(world: World, tmp_path: Path) -> None:
    later = NOW + timedelta(days=330)
    key = world.keys / "ep-acme.pem"
    it = renew_offline(world.signer, world.keys / "targets.pem", later, phrase)
    assert it.soon.keys() == {"root", "ep-acme"}
    it = renew_offline(world.signer, key, later, phrase)
    assert it.renewed == ("ep-acme", "snapshot", "timestamp")
    assert it.soon.keys() == {"root"}
    assert it.expires["ep-acme"] - later > timedelta(days=364)
    assert found(world, tmp_path / "home")


def test_bins_that_grow_leave_it(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roles, "FULL", 1)
    for place in range(3):
        world.repository.add(publish(tmp_path / f"m{place}", f"acme/m{place}"), NOW)
    assert signed(world, "2.models.json")["delegations"]["succinct_roles"]["bit_length"] > 1
    assert package(world, tmp_path / "home").releases
    assert check(world.site, NOW)[:4] == ((), (), 4, 1)


def test_removing_a_model_leaves_what_packages_name(world: World, tmp_path: Path) -> None:
    remove(world.signer, "acme/add", NOW)
    assert check(world.site, NOW)[:4] == ((), (), 0, 1)
    assert seen(world, tmp_path / "home") is None
    assert package(world, tmp_path / "home").releases


def test_what_was_changed_is_said(world: World) -> None:
    release = package(world, world.model.parent / "home").releases[0].document.digest
    blob(world, release).write_bytes(b"{}")
    (document,) = (world.site / "targets/ep/acme").iterdir()
    problems = check(world.site, NOW).problems
    assert [each.file for each in problems] == [blob(world, release).relative_to(world.site).as_posix()]
    document.write_bytes(document.read_bytes() + b" ")
    problems = check(world.site, NOW).problems
    assert [each.file for each in problems] == [document.relative_to(world.site).as_posix()]


def test_manifests(world: World, tmp_path: Path) -> None:
    path = manifest(world)
    assert is_package(path)
    assert not is_package(world.model)
    assert not is_package(world.model / "manifest.toml")
    assert not is_package(tmp_path / "nosuch.toml")
    for wrong in (b"ep = [", b"\xff", b""):
        path.write_bytes(wrong)
        assert not is_package(path)
        with pytest.raises(InvalidManifest):
            publish_package(world.signer, path, NOW, phrase)


@pytest.mark.parametrize("what", ["a namespace", "a release"])
def test_a_crash_at_any_write_leaves_the_index_as_it_was(
    what: str, made: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(world: World) -> None:
        if what == "a release":
            put(world, "2.0.0")
        else:
            add_namespace(world.signer, "other", NOW, phrase)

    whole = copied(made, tmp_path / "whole")
    with monkeypatch.context() as patched:
        done = writes(patched, 100)
        change(whole)
    assert done[-1].endswith("timestamp.json")
    for crash in range(len(done)):
        world = copied(made, tmp_path / str(crash))
        with monkeypatch.context() as patched:
            writes(patched, crash)
            with pytest.raises(MachineError, match="the disk fails"):
                change(world)
        assert check(world.site, NOW).problems == ()
        assert len(package(world, tmp_path / f"home {crash}").releases) == 1
        change(world)
        assert check(world.site, NOW).problems == ()
        assert len(package(world, tmp_path / f"home {crash}").releases) == (2 if what == "a release" else 1)
