"""Laws of the store: any chunks make one blob, any change is found, and any order of steps ends as in a dictionary."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from inferry.catalog.errors import VerificationError
from inferry.catalog.values.digest import Digest
from inferry.index.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = {Digest.of(data): data for data in (b"", b"a", b"bb" * 5000, bytes(range(256)))}
some = st.sampled_from(sorted(DATA))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FolderStore:
    return FolderStore(tmp_path_factory.mktemp("laws"))


@given(st.lists(st.binary(max_size=50)), st.integers(0, 200))
@settings(deadline=None)
def test_any_chunks_and_any_interruption_make_the_same_blob(store: FolderStore, chunks: list[bytes], cut: int) -> None:
    data = b"".join(chunks)
    digest = Digest.of(data)

    def interrupted() -> Iterator[bytes]:
        yield data[:cut]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add(interrupted(), digest, len(data) + 1)
    assert store.resume(lambda start: [data[start:]], digest, len(data)).read_bytes() == data
    store.remove(digest)
    assert store.add(chunks, digest, len(data)).read_bytes() == data
    store.remove(digest)
    assert store.partials() == []


@given(st.binary(max_size=60), st.binary(max_size=60), st.booleans())
@settings(deadline=None)
def test_any_other_bytes_are_found(store: FolderStore, data: bytes, other: bytes, keep_time: bool) -> None:  # noqa: FBT001 - drawn
    digest = Digest.of(data)
    blob = store.add([data], digest, len(data))
    found = blob.stat()
    blob.write_bytes(other)
    os.utime(blob, ns=(found.st_atime_ns, found.st_mtime_ns if keep_time else 1))
    if keep_time and len(other) == len(data):
        assert store.verify(digest) == (other == data)
    assert (store.path(digest, len(data)) is not None) == (other == data)
    store.remove(digest)
    for each in store.damaged():
        each.path.unlink()


class Steps(RuleBasedStateMachine):
    """A store beside a dictionary of what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(mkdtemp())
        self.store = FolderStore(self.folder / "store")
        self.has: set[str] = set()
        self.damaged: set[str] = set()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @rule(digest=some, size=st.integers(1, 9999))
    def add(self, digest: Digest, size: int) -> None:
        data = DATA[digest]
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        assert self.store.add(chunks, digest, len(data)).read_bytes() == data
        self._sound(digest)

    @rule(digest=some, extra=st.binary(min_size=1, max_size=3))
    def add_wrong(self, digest: Digest, extra: bytes) -> None:
        if digest in self.has:
            return
        with pytest.raises(VerificationError):
            self.store.add([DATA[digest], extra], digest, len(DATA[digest]))

    @rule(digest=some)
    def remove(self, digest: Digest) -> None:
        self.store.remove(digest)
        self.has.discard(digest)
        self.damaged.discard(digest)

    @rule(digest=some)
    def damage(self, digest: Digest) -> None:
        path = self.store.path(digest, len(DATA[digest])) if digest in self.has - self.damaged else None
        if path:
            path.write_bytes(DATA[digest] + b"more")
            self.damaged.add(digest)

    @rule(digest=some)
    def verify(self, digest: Digest) -> None:
        assert self.store.verify(digest) == (digest not in self.damaged)
        self._gone(digest)

    @rule(digest=some)
    def place(self, digest: Digest) -> None:
        if self.store.path(digest, len(DATA[digest])):
            self.store.place(digest, len(DATA[digest]), self.folder / "placed")
            assert (self.folder / "placed").read_bytes() == DATA[digest]
            (self.folder / "placed").unlink()
        self._gone(digest)

    @rule()
    def reopen(self) -> None:
        self.store = FolderStore(self.store.root)

    @rule(digest=some)
    def read(self, digest: Digest) -> None:
        file = self.store.open(digest, len(DATA[digest]))
        assert (file is not None) == (digest in self.has - self.damaged)
        if file:
            with file:
                assert file.read() == DATA[digest]
        self._gone(digest)

    @invariant()
    def it_lists_what_it_has(self) -> None:
        assert {blob.digest for blob in self.store.blobs()} == self.has

    def _gone(self, digest: Digest) -> None:
        if digest in self.damaged:
            self.has.discard(digest)
            self.damaged.discard(digest)

    def _sound(self, digest: Digest) -> None:
        self.has.add(digest)
        self.damaged.discard(digest)


Steps.TestCase.settings = settings(deadline=None, max_examples=25, stateful_step_count=25)
TestSteps = Steps.TestCase
