"""An index that is signed here outlives crashes, other writers, who tampers with it, and wrong keys."""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import (
    InvalidDocument,
    MachineError,
    NotFoundError,
    Refused,
    UsageError,
    VerificationError,
)
from inferry.index.locks import try_hold
from inferry.index.signing import place
from inferry.index.signing.keys import KeyFolder, make_keys, read_key
from inferry.index.signing.repository import Repository
from inferry.tests.indexes import NOW, PASSPHRASE, World, copied, empty_index, listing, seen, signed, writes
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An empty index."""
    return empty_index(tmp_path_factory.mktemp("an index"))


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


ADDED = 9
"""Files that are written for a release: two artifacts and its document, two targets, four of metadata."""


@pytest.mark.parametrize("crash", range(ADDED))
def test_a_crash_before_any_write_leaves_what_was(
    crash: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = publish(tmp_path / "other", "acme/other")
    world.repository.add(other, NOW)
    with monkeypatch.context() as patched:
        writes(patched, crash)
        with pytest.raises(MachineError, match="the disk fails"):
            world.repository.add(world.model, NOW)
    assert not [name for name in listing(world.site) if "/." in name]
    home = tmp_path / "home"
    assert seen(world, home) is None
    assert seen(world, home, "acme/other")
    assert world.repository.add(world.model, NOW).serial == 3
    assert seen(world, home)
    assert seen(world, home, "acme/other")


def test_the_timestamp_is_written_last_and_what_is_named_before_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = writes(monkeypatch, 100)
    world.repository.add(world.model, NOW)
    names = [name.removeprefix(str(world.site)).replace("\\", "/")[1:] for name in told]
    assert len(names) == ADDED
    assert [name.partition("/")[0] for name in names] == ["blobs"] * 3 + ["targets"] * 2 + ["metadata"] * 4
    assert names[-2:] == ["metadata/2.snapshot.json", "metadata/timestamp.json"]


def test_what_a_killed_writer_left_is_swept(world: World) -> None:
    left = [world.site / "metadata/.timestamp.json.1.2", world.site / "targets/models/acme/.x.add.json.1.2"]
    for each in left:
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_bytes(b"half")
    world.repository.add(world.model, NOW)
    assert not [each for each in left if each.exists()]


def test_a_crash_while_an_index_is_made_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    it = Repository(tmp_path / "site", tmp_path / "keys")
    with monkeypatch.context() as patched:
        writes(patched, 5)
        with pytest.raises(MachineError):
            it.init(NOW)
    with pytest.raises(NotFoundError):
        it.status(NOW)
    root = (tmp_path / "keys/root.pem").read_bytes()
    it.init(NOW)
    assert (tmp_path / "keys/root.pem").read_bytes() == root
    assert it.status(NOW).serial == 1


def test_two_writers_wait_for_each_other(world: World, tmp_path: Path) -> None:
    names = [f"acme/m{number}" for number in range(4)]
    folders = [publish(tmp_path / name, name) for name in names]
    lock = try_hold(world.keys / "lock")
    assert lock is not None
    threads = [threading.Thread(target=world.repository.add, args=(folder, NOW)) for folder in folders]
    for thread in threads:
        thread.start()
    before = signed(world, "timestamp.json")["version"]
    os.close(lock)
    for thread in threads:
        thread.join()
    assert before == 1
    status = world.repository.status(NOW)
    assert (status.serial, status.models) == (5, 4)
    assert all(seen(world, tmp_path / "home", name) for name in names)


def tampered(world: World, name: str) -> None:
    path = world.site / "metadata" / name
    told = json.loads(path.read_bytes())
    told["signed"]["expires"] = "2099-01-01T00:00:00Z"
    path.write_bytes(json.dumps(told).encode())


@pytest.mark.parametrize("name", ["timestamp.json", "1.snapshot.json", "1.models.json", "bin"])
def test_what_somebody_changed_is_not_signed_again(name: str, world: World) -> None:
    if name == "bin":
        for number in range(16):
            tampered(world, f"1.bins-{number:x}.json")
    else:
        tampered(world, name)
    words = "is not the one that timestamp.json names" if "snapshot" in name else "not signed by the key"
    with pytest.raises(VerificationError, match=words):
        world.repository.add(world.model, NOW)


def test_an_older_file_in_the_place_of_a_newer_one_is_not_signed_again(world: World) -> None:
    world.repository.add(world.model, NOW)
    metadata = world.site / "metadata"
    for newer in metadata.glob("2.bins-*.json"):
        shutil.copyfile(metadata / newer.name.replace("2.", "1."), newer)
    publish(world.model, version="2.0.0")
    with pytest.raises(VerificationError, match="it holds version 1"):
        world.repository.add(world.model, NOW)


def test_a_document_that_somebody_changed_is_not_gone_on_from(world: World) -> None:
    world.repository.add(world.model, NOW)
    (path,) = (world.site / "targets/models/acme").iterdir()
    path.write_bytes(path.read_bytes().replace(b"Adds", b"Eats"))
    publish(world.model, version="2.0.0")
    with pytest.raises(VerificationError, match="another digest"):
        world.repository.add(world.model, NOW)


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"signed": {"_type": "root"}, "signatures": []}'])
def test_damaged_metadata_is_told(data: bytes, world: World) -> None:
    (world.site / "metadata/timestamp.json").write_bytes(data)
    with pytest.raises(InvalidDocument):
        world.repository.status(NOW)
    with pytest.raises(InvalidDocument):
        world.repository.add(world.model, NOW)


def test_keys_are_for_their_owner_and_the_offline_ones_encrypted(world: World) -> None:
    for name in ("root.pem", "targets.pem", "online.pem"):
        data = (world.keys / name).read_bytes()
        assert data.startswith(b"-----BEGIN ENCRYPTED PRIVATE KEY") is (name != "online.pem")


def test_a_random_passphrase_lies_beside_the_keys(tmp_path: Path) -> None:
    folder = KeyFolder(tmp_path / "keys")
    made = folder.fill(make_keys())
    assert len(folder.passphrase.read_text(encoding="utf-8").strip()) >= 40
    again = folder.fill(make_keys())
    assert [each.public_key for each in again] == [each.public_key for each in made]
    if sys.platform != "win32":
        assert {stat.S_IMODE(each.stat().st_mode) for each in folder.folder.iterdir()} == {0o600}
        assert stat.S_IMODE(folder.folder.stat().st_mode) == 0o700


def test_a_wrong_passphrase_is_told(made: World, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="not the passphrase of the root key") as raised:
        Repository(tmp_path / "other", made.keys).init(NOW, ask=lambda: "a wrong one")
    assert raised.value.hints()
    assert not (tmp_path / "other").exists()


def test_an_empty_passphrase_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="empty"):
        Repository(tmp_path / "site", tmp_path / "keys").init(NOW, ask=lambda: "")


WRONG_KEYS = {
    "noise": (b"noise", "no private key in PEM"),
    "an encrypted one": (b"-----BEGIN ENCRYPTED PRIVATE KEY-----", "is encrypted"),
}


@pytest.mark.parametrize(("data", "words"), WRONG_KEYS.values(), ids=WRONG_KEYS)
def test_a_file_that_is_no_key_is_told(data: bytes, words: str, world: World) -> None:
    (world.keys / "online.pem").write_bytes(data)
    with pytest.raises(InvalidDocument, match=words):
        world.repository.add(world.model, NOW)


def test_a_wrong_passphrase_is_one_whatever_it_decrypts(world: World) -> None:
    """One in some 250 leaves bytes that are padded as a key is."""
    for turn in range(1500):
        with pytest.raises(Refused, match="not the passphrase of the root key"):
            read_key(world.keys / "root.pem", partial(str, f"wrong{turn}"))


def test_other_keys_sign_nothing(world: World, tmp_path: Path) -> None:
    KeyFolder(tmp_path / "others").fill(make_keys())
    with pytest.raises(VerificationError, match="not signed by the key that is here"):
        Repository(world.site, tmp_path / "others").add(world.model, NOW)
    with pytest.raises(NotFoundError, match=r"online\.pem is not there"):
        Repository(world.site, tmp_path / "nosuch").add(world.model, NOW)


def test_keys_are_found_wherever_the_index_is_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: World
) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    told = Repository(tmp_path / "site").init(NOW)
    assert told.keys == tmp_path / "home/config/keys" / told.fingerprint
    assert told.passphrase
    assert told.passphrase == told.keys / "passphrase"
    (tmp_path / "site").rename(tmp_path / "moved")
    assert Repository(tmp_path / "moved").add(made.model, NOW).new
    status = Repository(tmp_path / "moved").status(NOW + timedelta(days=31))
    assert (status.fingerprint, status.root_key) == (told.fingerprint, "online")
    assert status.expired == ("snapshot", "timestamp")
    told.passphrase.unlink()
    assert Repository(tmp_path / "moved").status(NOW).root_key == "offline"


@pytest.mark.parametrize("keys", ["site", "site/keys", "site/../site/keys"])
def test_keys_never_lie_where_they_would_be_handed_out(keys: str, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="all of which is handed out"):
        Repository(tmp_path / "site", tmp_path / keys).init(NOW)
    assert not (tmp_path / "site").exists()


def test_keys_that_lie_there_sign_nothing(world: World) -> None:
    shutil.copytree(world.keys, world.site / "keys")
    with pytest.raises(Refused, match="all of which is handed out"):
        Repository(world.site, world.site / "keys").add(world.model, NOW)


def test_an_index_is_made_in_a_folder_of_its_own(world: World, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="holds an index already"):
        world.repository.init(NOW)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/diary.txt").write_bytes(b"")
    with pytest.raises(Refused, match=r"holds diary\.txt"):
        Repository(tmp_path / "full", tmp_path / "others").init(NOW)


@pytest.mark.parametrize("bins", [-2, 0, 1, 3, 48, 8192])
def test_bins_are_a_power_of_two(bins: int, made: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no number of bins"):
        Repository(tmp_path / "site", made.keys).init(NOW, bins, lambda: PASSPHRASE)
    assert not (tmp_path / "site").exists()


def test_a_file_that_changes_while_it_is_copied_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(_: Path) -> Iterator[bytes]:
        yield b"other bytes"

    monkeypatch.setattr(place, "chunks", other)
    before = listing(world.site)
    with pytest.raises(VerificationError, match="was changed while it was copied"):
        world.repository.add(world.model, NOW)
    assert listing(world.site) == before
