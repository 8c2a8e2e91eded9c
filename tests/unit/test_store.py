"""The store's bad days, each by its name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import MachineError, VerificationError
from inferry.catalog.values.digest import Digest
from inferry.index import store as module
from inferry.index.blobs import Blob
from inferry.index.home import config_folder, data_folder
from inferry.index.store import FOLDERS, FolderStore
from inferry.tests.rights import read_only

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATA = b"the bytes of a model" * 5000
DIGEST = Digest.of(DATA)
SIZE = len(DATA)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store", stall_s=10)


@pytest.fixture
def blob(store: FolderStore) -> Path:
    """A blob that is in the store."""
    return store.add([DATA], DIGEST, SIZE)


def hashes(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the list of files that are hashed from now on."""
    hashed: list[Path] = []

    def told(path: Path) -> Digest:
        hashed.append(path)
        return Digest.of(path.read_bytes())

    monkeypatch.setattr(module, "hash_file", told)
    return hashed


def keep_time(path: Path, change: Callable[[], object]) -> None:
    """Do ``change``, and give the file its old time again."""
    found = path.stat()
    change()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def aside(store: FolderStore) -> list[Digest]:
    return [each.digest for each in store.damaged()]


def partial(store: FolderStore) -> bytes | None:
    path = store.root / "partial" / DIGEST[7:]
    return path.read_bytes() if path.exists() else None


def broken(data: bytes, error: BaseException) -> Iterator[bytes]:
    yield data
    raise error


def test_a_blob_is_hashed_when_it_is_written_and_not_when_it_is_used(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = hashes(monkeypatch)
    store.add([DATA], DIGEST, SIZE)
    for each in (store, FolderStore(store.root)):
        assert each.path(DIGEST, SIZE) == store.root / "blobs/sha256" / DIGEST[7:9] / DIGEST[9:]
    assert hashed == []


@pytest.mark.parametrize("change", ["time", "inode", "no record", "broken record"])
def test_it_is_hashed_once_where_it_is_not_as_recorded(
    store: FolderStore, blob: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = blob.with_name(f"{blob.name}.json")
    if change == "time":
        os.utime(blob, (1, 1))
    elif change == "inode":
        shutil.copy2(blob, blob.with_name("copy"))
        blob.with_name("copy").replace(blob)
    elif change == "no record":
        record.unlink()
    else:
        record.write_bytes(b"\0" * 40)
    hashed = hashes(monkeypatch)
    for _ in range(3):
        assert store.path(DIGEST, SIZE) == blob
    assert hashed == [blob]
    assert not aside(store)


@pytest.mark.parametrize("day", ["truncated", "longer", "other bytes", "a folder in its place", "emptied"])
def test_a_damaged_blob_is_set_aside_and_fetched_again(store: FolderStore, blob: Path, day: str) -> None:
    if day == "truncated":
        keep_time(blob, lambda: blob.write_bytes(DATA[:-1]))
    elif day == "longer":
        keep_time(blob, lambda: blob.write_bytes(DATA + b"\0"))
    elif day == "other bytes":
        blob.write_bytes(b"x" * SIZE)
        os.utime(blob, (1, 1))
    elif day == "emptied":
        blob.write_bytes(b"")
    else:
        blob.unlink()
        (blob / "in it").mkdir(parents=True)
    assert store.path(DIGEST, SIZE) is None
    assert aside(store) == [DIGEST]
    assert store.path(DIGEST, SIZE) is None
    assert store.blobs() == []
    assert store.add([DATA], DIGEST, SIZE).read_bytes() == DATA
    assert aside(store) == [DIGEST], "what it was stays for whoever wants to look"


def test_a_changed_byte_under_the_old_time_is_found_by_verify_alone(store: FolderStore, blob: Path) -> None:
    keep_time(blob, lambda: blob.write_bytes(b"X" + DATA[1:]))
    assert store.path(DIGEST, SIZE) == blob
    assert not store.verify(DIGEST)
    assert store.path(DIGEST, SIZE) is None
    assert aside(store) == [DIGEST]


def test_verify_leaves_the_last_use(store: FolderStore, blob: Path) -> None:
    os.utime(blob.with_name(f"{blob.name}.json"), (1000, 1000))
    assert store.verify(DIGEST)
    assert store.verify(Digest.of(b"absent"))
    assert store.blobs() == [Blob(DIGEST, SIZE, 1000)]
    store.path(DIGEST, SIZE)
    assert store.blobs()[0].used > 1000


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ConnectionResetError(), MachineError("x")], ids=repr)
def test_what_came_before_an_interruption_is_gone_on_from(store: FolderStore, error: BaseException) -> None:
    with pytest.raises(type(error)):
        store.resume(lambda _: broken(DATA[:1000], error), DIGEST, SIZE)
    with pytest.raises(type(error)):
        store.resume(lambda start: broken(DATA[start : start + 1000], error), DIGEST, SIZE)
    assert [each.size_bytes for each in store.partials()] == [2000]
    asked: list[int] = []

    def fetch(start: int) -> list[bytes]:
        asked.append(start)
        return [DATA[start:]]

    assert store.resume(fetch, DIGEST, SIZE).read_bytes() == DATA
    assert asked == [2000]
    assert store.partials() == []


def test_a_cut_connection_is_gone_on_from(store: FolderStore) -> None:
    with pytest.raises(VerificationError, match=r"ended after 1,000 of 100,000 bytes"):
        store.resume(lambda _: [DATA[:1000]], DIGEST, SIZE)
    assert store.resume(lambda start: [DATA[start:]], DIGEST, SIZE).read_bytes() == DATA


def test_a_partial_that_turns_out_wrong_is_removed(store: FolderStore) -> None:
    for wrong in (b"x" * 1000, b"x" * SIZE, b"x" * (SIZE + 1)):
        store.prepare()
        (store.root / "partial" / DIGEST[7:]).write_bytes(wrong)
        if len(wrong) <= SIZE:
            with pytest.raises(VerificationError):
                store.resume(lambda start: [DATA[start:]], DIGEST, SIZE)
            assert partial(store) is None
        assert store.resume(lambda start: [DATA[start:]], DIGEST, SIZE).read_bytes() == DATA
        store.remove(DIGEST)


def test_a_partial_that_is_whole_is_not_fetched(store: FolderStore) -> None:
    """The power went between the last byte and the new name."""
    store.prepare()
    (store.root / "partial" / DIGEST[7:]).write_bytes(DATA)
    assert store.resume(lambda _: pytest.fail("it was fetched"), DIGEST, SIZE).read_bytes() == DATA


def test_a_file_is_taken_in(store: FolderStore, tmp_path: Path) -> None:
    file = tmp_path / "größer.onnx"
    file.write_bytes(DATA)
    assert store.add_file(file, DIGEST, SIZE).read_bytes() == DATA
    assert file.read_bytes() == DATA
    with pytest.raises(MachineError, match=r"missing.* cannot be read"):
        store.add_file(tmp_path / "missing", Digest.of(b"?"), 1)


@pytest.mark.parametrize("about", ['{"version": 2}', '{"version": 99, "more": []}'])
def test_a_newer_store_is_refused_politely(store: FolderStore, blob: Path, about: str) -> None:
    (store.root / "store.json").write_text(about, encoding="utf-8")
    with pytest.raises(MachineError, match=r"store\.json: a newer inferry wrote this store") as caught:
        FolderStore(store.root)
    assert "update inferry" in caught.value.hints()[0]
    with pytest.raises(MachineError, match="newer"):
        store.add([b"x"], Digest.of(b"x"), 1)
    assert blob.read_bytes() == DATA


@pytest.mark.parametrize("about", ["", "{}", "[1]", '{"version": "1"}', "\0"])
def test_a_store_of_no_version_is_refused(store: FolderStore, about: str) -> None:
    store.root.mkdir()
    (store.root / "store.json").write_text(about, encoding="utf-8")
    with pytest.raises(MachineError, match=r"store\.json does not tell"):
        FolderStore(store.root)


def test_a_store_that_may_only_be_read_is_read(store: FolderStore, blob: Path, tmp_path: Path) -> None:
    with read_only(store.root):
        readable = FolderStore(store.root)
        assert readable.path(DIGEST, SIZE) == blob
        os.utime(blob, (1, 1))
        assert readable.path(DIGEST, SIZE) == blob
        readable.place(DIGEST, SIZE, tmp_path / "placed")
        with pytest.raises(MachineError, match="cannot be written") as caught:
            readable.add([b"x"], Digest.of(b"x"), 1)
        assert "INFERRY_HOME" in caught.value.hints()[-1]
        with pytest.raises(MachineError, match="cannot be removed"):
            readable.remove(DIGEST)
    assert (tmp_path / "placed").read_bytes() == DATA


def test_a_damaged_blob_of_a_store_that_may_only_be_read_is_not_handed_on(store: FolderStore, blob: Path) -> None:
    blob.write_bytes(b"x" * 10)
    with read_only(store.root):
        assert store.path(DIGEST, SIZE) is None
        assert not store.verify(DIGEST)
    assert aside(store) == []


def test_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="cannot be"):
        FolderStore(tmp_path / "file/store").add([DATA], DIGEST, SIZE)


def test_a_full_disk_is_told_with_what_is_missing_before_it_is_full(store: FolderStore) -> None:
    size = 1 << 60
    with pytest.raises(MachineError, match=r"no room for .*: 1,15[\d,]{21} bytes more are needed") as caught:
        store.add(iter([b"x"]), DIGEST, size)
    assert caught.value.hints()
    assert not [*(store.root / "partial").iterdir()]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_disk_that_fills_meanwhile_is_told(store: FolderStore) -> None:
    store.prepare()
    (store.root / "partial" / DIGEST[7:]).symlink_to("/dev/full")
    with pytest.raises(MachineError, match="there is no room for"):
        store.add([DATA], DIGEST, SIZE)
    assert store.blobs() == []


def test_the_folders_are_those_that_are_documented(store: FolderStore, blob: Path) -> None:
    text = (ROOT / "docs/reference/store.md").read_text(encoding="utf-8")
    assert blob.exists()
    assert {path.name for path in store.root.iterdir()} == {*FOLDERS, "store.json"}
    for name in (*(f"{folder}/" for folder in FOLDERS), "store.json"):
        assert f"| `{name}" in text, name
    assert text.count("| `") == len(FOLDERS) + 2, "and no others; the blobs' records have a row of their own"


def test_home_holds_all_three_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path))
    assert (data_folder(), config_folder()) == (tmp_path / "data", tmp_path / "config")
    monkeypatch.delenv("INFERRY_HOME")
    assert data_folder().is_absolute()
    assert config_folder().is_absolute()
