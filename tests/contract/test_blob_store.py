"""What every store of blobs promises. Another implementation is one more line in ``STORES``."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import InvalidName, VerificationError
from inferry.catalog.values.digest import Digest
from inferry.index.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from inferry.index.blobs import BlobStore

DATA = bytes(range(256)) * 5000
DIGEST = Digest.of(DATA)
SIZE = len(DATA)

STORES: dict[str, Callable[[Path], BlobStore]] = {
    "a folder": lambda folder: FolderStore(folder / "store"),
    "a folder with spaces and umlauts": lambda folder: FolderStore(folder / "Müllers Ablage für Großes 你好"),
    "a deep folder": lambda folder: FolderStore(folder.joinpath(*["quite a long name for a folder " * 3] * 4)),
}


@pytest.fixture(params=list(STORES))
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], BlobStore]:
    """Open the same store once more, as another process would."""
    return lambda: STORES[str(request.param)](tmp_path)


@pytest.fixture
def any_store(reopen: Callable[[], BlobStore]) -> BlobStore:
    return reopen()


def pieces(data: bytes, size: int = 100_000) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def read(store: BlobStore, digest: Digest, size: int) -> bytes | None:
    file = store.open(digest, size)
    if file is None:
        return None
    with file:
        return file.read()


def test_what_was_added_is_there_for_everybody(any_store: BlobStore, reopen: Callable[[], BlobStore]) -> None:
    any_store.add(pieces(DATA), DIGEST, SIZE)
    for store in (any_store, reopen()):
        assert read(store, DIGEST, SIZE) == DATA
        assert [(blob.digest, blob.size_bytes) for blob in store.blobs()] == [(DIGEST, SIZE)]
    assert any_store.blobs()[0].used > 1.7e9


def test_any_part_can_be_read(any_store: BlobStore) -> None:
    any_store.add(pieces(DATA), DIGEST, SIZE)
    file = any_store.open(DIGEST, SIZE)
    assert file
    with file:
        file.seek(1000)
        assert file.read(300) == DATA[1000:1300]


def test_an_empty_store_has_nothing(any_store: BlobStore) -> None:
    assert any_store.blobs() == []
    assert any_store.open(DIGEST, SIZE) is None
    any_store.remove(DIGEST)


def test_an_empty_blob_is_a_blob(any_store: BlobStore) -> None:
    any_store.add([], Digest.of(b""), 0)
    assert read(any_store, Digest.of(b""), 0) == b""


@pytest.mark.parametrize(
    "wrong",
    [DATA[:-1], DATA + b"\0", b"\1" + DATA[1:], DATA[:-1] + b"\0", b"", DATA * 2],
    ids=["shorter", "longer", "first byte", "last byte", "nothing", "twice"],
)
def test_other_bytes_are_refused_and_right_ones_taken_afterwards(any_store: BlobStore, wrong: bytes) -> None:
    with pytest.raises(VerificationError):
        any_store.add(pieces(wrong), DIGEST, SIZE)
    assert any_store.blobs() == []
    assert any_store.open(DIGEST, SIZE) is None
    any_store.add(pieces(DATA), DIGEST, SIZE)
    assert read(any_store, DIGEST, SIZE) == DATA


def test_a_wrong_size_is_refused(any_store: BlobStore) -> None:
    for size in (SIZE - 1, SIZE + 1):
        with pytest.raises(VerificationError):
            any_store.add(pieces(DATA), DIGEST, size)
    any_store.add(pieces(DATA), DIGEST, SIZE)
    with pytest.raises(VerificationError):
        any_store.open(DIGEST, SIZE + 1)
    assert read(any_store, DIGEST, SIZE) == DATA, "who asks wrongly does no harm"


def test_what_is_there_is_not_read_again(any_store: BlobStore) -> None:
    any_store.add(pieces(DATA), DIGEST, SIZE)
    any_store.add([], DIGEST, SIZE)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ConnectionResetError(), SystemExit()], ids=repr)
def test_an_interrupted_one_is_not_there(any_store: BlobStore, error: BaseException) -> None:
    def broken() -> Iterator[bytes]:
        yield DATA[:1000]
        raise error

    with pytest.raises(type(error)):
        any_store.add(broken(), DIGEST, SIZE)
    assert any_store.open(DIGEST, SIZE) is None
    assert any_store.blobs() == []
    any_store.add(pieces(DATA), DIGEST, SIZE)
    assert read(any_store, DIGEST, SIZE) == DATA


def test_removed_ones_are_gone(any_store: BlobStore) -> None:
    other = Digest.of(b"other")
    any_store.add([b"other"], other, 5)
    any_store.add(pieces(DATA), DIGEST, SIZE)
    for _ in range(2):
        any_store.remove(DIGEST)
        assert any_store.open(DIGEST, SIZE) is None
        assert [blob.digest for blob in any_store.blobs()] == [other]
    any_store.add(pieces(DATA), DIGEST, SIZE)
    assert read(any_store, DIGEST, SIZE) == DATA


@pytest.mark.parametrize("text", ["", "sha256:", "../../passwords", "sha256:../../../x", "sha256:" + "A" * 64, "md5:0"])
def test_what_is_no_digest_is_refused(any_store: BlobStore, text: str) -> None:
    digest = Digest(text)
    with pytest.raises(InvalidName):
        any_store.add([b""], digest, 0)
    with pytest.raises(InvalidName):
        any_store.open(digest, 0)
    with pytest.raises(InvalidName):
        any_store.remove(digest)


def test_many_may_add_the_same(any_store: BlobStore) -> None:
    """All come back with the blob in its place, whoever wrote it."""
    seen: list[bytes | None] = []

    def add() -> None:
        any_store.add(pieces(DATA, 1000), DIGEST, SIZE)
        seen.append(read(any_store, DIGEST, SIZE))

    threads = [Thread(target=add) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [DATA] * 6
    assert len(any_store.blobs()) == 1
