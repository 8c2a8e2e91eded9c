"""The store beside others: laid out elsewhere, and shared with processes that write at once, or are killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import MachineError, NotFoundError
from inferry.catalog.values.digest import Digest
from inferry.index.files import copy, link, reflink
from inferry.index.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DATA = b"the bytes of a model" * 5000
DIGEST = Digest.of(DATA)
SIZE = len(DATA)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store", stall_s=10)


def _refuses(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes()[:5])
    raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP), str(target))


@pytest.mark.parametrize("ways", [(link, copy), (_refuses, copy), (_refuses, reflink, copy)])
def test_it_is_laid_out_with_and_without_links(tmp_path: Path, ways: tuple[Callable[..., None], ...]) -> None:
    store = FolderStore(tmp_path / "store", ways=ways)
    blob = store.add([DATA], DIGEST, SIZE)
    target = tmp_path / "models / größer" / "model.onnx"
    for _ in range(2):
        store.place(DIGEST, SIZE, target)
        assert target.read_bytes() == DATA
    target.unlink()
    target.write_bytes(b"another")
    store.place(DIGEST, SIZE, target)
    assert target.read_bytes() == DATA
    assert list(target.parent.iterdir()) == [target]
    assert target.samefile(blob) == (ways[0] is link)
    target.unlink()
    assert store.path(DIGEST, SIZE) == blob


def test_where_no_way_works_the_last_one_says_why(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store", ways=(_refuses, _refuses))
    store.add([DATA], DIGEST, SIZE)
    with pytest.raises(MachineError, match="model cannot be written"):
        store.place(DIGEST, SIZE, tmp_path / "out/model")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(NotFoundError, match="does not have"):
        store.place(Digest.of(b"absent"), 6, tmp_path / "out/model")


def test_who_writes_into_a_hard_link_is_found_out(store: FolderStore, tmp_path: Path) -> None:
    blob = store.add([DATA], DIGEST, SIZE)
    store.place(DIGEST, SIZE, tmp_path / "model")
    assert blob.samefile(tmp_path / "model")
    os.utime(blob, (1, 1))
    assert store.path(DIGEST, SIZE)
    with (tmp_path / "model").open("r+b") as file:
        file.write(b"mine")
    assert store.path(DIGEST, SIZE) is None
    assert [each.digest for each in store.damaged()] == [DIGEST]


HOLDS = """
import sys
from pathlib import Path
from inferry.catalog.values.digest import Digest
from inferry.index.store import FolderStore
def chunks():
    yield b"the bytes of a model"
    print("begun", flush=True)
    sys.stdin.readline()
    yield b"the bytes of a model" * 4999
FolderStore(Path(sys.argv[1])).add(chunks(), Digest(sys.argv[2]), 100_000)
print("done", flush=True)
"""


def writer(store: FolderStore) -> subprocess.Popen[str]:
    """Return another process that is in the middle of adding the blob, and goes on at a line."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS, store.root, DIGEST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout
    assert child.stdout.readline() == "begun\n"
    return child


def test_two_processes_write_one_digest_once(store: FolderStore) -> None:
    with writer(store) as child:
        hasty = FolderStore(store.root, stall_s=0.2)
        with pytest.raises(MachineError, match=rf"process {child.pid} \(-c\) holds .* has not moved on") as caught:
            hasty.add([DATA], DIGEST, SIZE)
        assert "end it" in caught.value.hints()[0]
        assert child.stdin
        child.stdin.write("\n")
        child.stdin.flush()
        store.add([], DIGEST, SIZE)
        assert child.communicate()[0] == "done\n"
        assert child.returncode == 0
    assert store.path(DIGEST, SIZE)
    assert [path.name for path in (store.root / "locks").iterdir() if path.suffix] == []


def test_the_lock_of_a_dead_process_does_not_block_and_its_bytes_are_kept(store: FolderStore) -> None:
    with writer(store) as child:
        child.kill()
        child.wait()
    assert (store.root / "partial" / DIGEST[7:]).read_bytes() == DATA[:20]
    assert store.resume(lambda start: [DATA[start:]], DIGEST, SIZE).read_bytes() == DATA


ADDS = """
import hashlib, os, sys
from itertools import count
from pathlib import Path
from inferry.catalog.values.digest import Digest
from inferry.index.store import FolderStore
store = FolderStore(Path(sys.argv[1]))
for number in count():
    data = number.to_bytes(4, "big") * 100_000
    store.add([data[:200_000], data[200_000:]], Digest.of(data), 400_000)
    print(number, flush=True)
"""


def test_a_process_that_is_killed_anywhere_leaves_whole_blobs_only(store: FolderStore) -> None:
    for wait_s in (0.001, 0.004, 0.013):
        with subprocess.Popen([sys.executable, "-c", ADDS, store.root], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout
            assert child.stdout.readline() == "0\n"
            time.sleep(wait_s)
            child.kill()
        blobs = FolderStore(store.root).blobs()
        assert blobs
        assert all(store.verify(blob.digest) and blob.size_bytes == 400_000 for blob in blobs)
        for blob in blobs:
            store.remove(blob.digest)
    assert store.damaged() == []
