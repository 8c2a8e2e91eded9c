"""Leases and collection: what is used is never removed, whoever asks, and when."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import MachineError
from inferry.catalog.values.digest import Digest
from inferry.index.collect import GcPlan, Item, execute, plan_gc, verify_all
from inferry.index.leases import collecting, lease, leases
from inferry.index.locks import hold
from inferry.index.store import FolderStore
from inferry.tests.rights import read_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

DATA = {name: name.encode() * 100 for name in ("a", "b", "c", "d")}
DIGESTS = {name: Digest.of(data) for name, data in DATA.items()}


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    """A store with four blobs of 100 bytes, last used long ago, `a` first."""
    store = FolderStore(tmp_path / "a store")
    for hour, name in enumerate(DATA):
        rest(store, name, 1_700_000_000 + 3600 * hour)
    return store


def rest(store: FolderStore, name: str, used: float) -> None:
    """Add a blob that was last used then."""
    path = store.add([DATA[name]], DIGESTS[name], 100)
    os.utime(path.with_name(f"{path.name}.json"), (used, used))


def names(store: FolderStore) -> str:
    return "".join(name for name in DATA if DIGESTS[name] in {blob.digest for blob in store.blobs()})


def told(items: Iterable[Item]) -> list[str]:
    """Return each item as "why name", in order."""
    by_digest = {digest: name for name, digest in DIGESTS.items()}
    return [f"{item.why} {by_digest[item.blob.digest]}" for item in items]


def kept(*which: str) -> set[Digest]:
    return {DIGESTS[name] for name in which}


def test_a_lease_tells_who_holds_what_and_why(store: FolderStore) -> None:
    assert leases(store) == []
    begun = time.time()
    with lease(store, kept("a", "b"), "run org/model"):
        (held,) = leases(FolderStore(store.root))
        assert (held.holder.pid, held.why) == (os.getpid(), "run org/model")
        assert held.digests == frozenset(map(str, kept("a", "b")))
        assert begun <= held.since <= time.time()
        assert held.covers(DIGESTS["a"])
        assert not held.covers(DIGESTS["c"])
    assert leases(store) == []
    assert [path.name for path in (store.root / "leases").iterdir()] == ["gate"]


def test_leases_of_one_process_are_apart(store: FolderStore) -> None:
    with lease(store, kept("a"), "first"):
        with lease(store, kept("a"), "second"):
            assert [each.why for each in leases(store)] == ["first", "second"]
        assert [each.why for each in leases(store)] == ["first"]


def test_a_lease_comes_before_what_it_covers(tmp_path: Path) -> None:
    """Whoever fetches leases first; the store may not be there yet."""
    store = FolderStore(tmp_path / "none")
    with lease(store, kept("a"), "pull"):
        store.add([DATA["a"]], DIGESTS["a"], 100)
        assert told(plan_gc(store, (), recent_s=-1).stays) == ["leased a"]


def test_what_no_name_needs_goes_and_what_stays_says_why(store: FolderStore) -> None:
    rest(store, "d", time.time())
    with lease(store, kept("a"), "run"):
        plan = plan_gc(store, kept("b"))
        assert told(plan.goes) == ["no name c"]
        assert sorted(told(plan.stays)) == ["leased a", "named b", "recent d"]
        assert plan.bytes_freed == 100
        assert names(store) == "abcd", "a plan removes nothing"
        assert told(execute(store, plan).goes) == ["no name c"]
    assert names(store) == "abd"


@pytest.mark.parametrize(("limit", "left"), [(None, "abcd"), (400, "abcd"), (399, "bcd"), (250, "cd"), (99, "")])
def test_over_the_limit_what_rested_longest_goes_first(store: FolderStore, limit: int | None, left: str) -> None:
    done = execute(store, plan_gc(store, kept(*DATA), max_bytes=limit))
    assert names(store) == left
    assert told(done.goes) == [f"over the limit {name}" for name in DATA if name not in left]


def test_what_has_no_name_goes_before_what_was_used_longer_ago(store: FolderStore) -> None:
    execute(store, plan_gc(store, kept("a", "b", "c"), max_bytes=300))
    assert names(store) == "abc"


def test_a_use_makes_it_young_again(store: FolderStore) -> None:
    store.path(DIGESTS["a"], 100)
    execute(store, plan_gc(store, kept(*DATA), max_bytes=200, recent_s=0))
    assert names(store) == "ad"


def test_what_is_used_between_plan_and_execution_stays(store: FolderStore) -> None:
    plan = plan_gc(store, ())
    store.path(DIGESTS["b"], 100)
    with lease(store, kept("c"), "run"):
        done = execute(store, plan)
    assert names(store) == "bc"
    assert sorted(told(done.stays)) == ["in use b", "leased c"]
    assert done.bytes_freed == 200


def test_partials_and_what_was_set_aside_go_too(store: FolderStore) -> None:
    old, new = DIGESTS["a"], DIGESTS["b"]
    for digest in (old, new):
        (store.root / "partial" / digest[7:]).write_bytes(b"half")
    os.utime(store.root / "partial" / old[7:], (1000, 1000))
    store.add([DATA["c"]], DIGESTS["c"], 100).write_bytes(b"x")
    assert store.path(DIGESTS["c"], 100) is None
    plan = plan_gc(store, DIGESTS.values())
    assert told(plan.goes) == ["damaged c", "not whole a"]
    assert plan.bytes_freed == 5
    execute(store, plan)
    assert [each.digest for each in store.partials()] == [new]
    assert store.damaged() == []
    assert names(store) == "abd"


def test_a_partial_that_is_being_written_stays(store: FolderStore) -> None:
    plan = plan_gc(store, DIGESTS.values())
    data = b"a new one" * 10

    def chunks() -> Iterator[bytes]:
        yield data[:10]
        (partial,) = store.partials()
        done = execute(store, GcPlan((Item("partial", partial, "not whole"),), plan.stays))
        assert [item.why for item in done.stays if item.kind == "partial"] == ["in use"]
        yield data[10:]

    store.add(chunks(), Digest.of(data), len(data))


def test_no_lease_begins_while_a_collection_removes(store: FolderStore) -> None:
    """A lease that begins meanwhile waits, and then finds out what is gone."""
    begun, found = Event(), list[object]()

    def use() -> None:
        begun.set()
        with lease(store, kept("a"), "run"):
            found.append(store.path(DIGESTS["a"], 100))

    user = Thread(target=use)
    with collecting(store) as held:
        user.start()
        begun.wait()
        assert held == []
        assert leases(store) == []
        store.remove(DIGESTS["a"])
        assert found == []
    user.join()
    assert found == [None]


def test_who_collects_is_named_to_who_waits_too_long(store: FolderStore) -> None:
    gate = store.root / "leases/gate"
    with collecting(store), pytest.raises(MachineError, match=rf"process {os.getpid()} \(.+\) holds .*gate"):
        hold(gate, limit_s=0.05)
    with collecting(store) as held:
        assert held == []


HOLDS = """
import sys
from pathlib import Path
from inferry.catalog.values.digest import Digest
from inferry.index.leases import lease
from inferry.index.store import FolderStore
store = FolderStore(Path(sys.argv[1]))
with lease(store, [Digest(sys.argv[2])], "run"):
    print(store.path(Digest(sys.argv[2]), 100) is not None, flush=True)
    sys.stdin.readline()
    print(store.path(Digest(sys.argv[2]), 100).read_bytes()[:1], flush=True)
"""


def holder(store: FolderStore) -> subprocess.Popen[str]:
    """Return another process that holds a lease of `a` until it reads a line."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS, store.root, DIGESTS["a"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout
    assert child.stdout.readline() == "True\n"
    return child


def test_another_process_takes_a_lease_between_plan_and_execution(store: FolderStore) -> None:
    plan = plan_gc(store, (), recent_s=-1)
    assert len(plan.goes) == 4
    with holder(store) as child:
        assert [each.holder.pid for each in leases(store)] == [child.pid]
        assert told(execute(store, plan).stays) == ["leased a"]
        assert names(store) == "a"
        assert child.communicate("\n")[0] == "b'a'\n"
    execute(store, plan_gc(store, (), recent_s=-1))
    assert names(store) == ""


def test_the_lease_of_a_dead_process_is_void(store: FolderStore) -> None:
    with holder(store) as child:
        child.kill()
        child.wait()
    assert len(list((store.root / "leases").glob("*.lock"))) == 1
    assert leases(store) == []
    execute(store, plan_gc(store, (), recent_s=-1))
    assert names(store) == ""
    assert [path.name for path in (store.root / "leases").iterdir()] == ["gate"]


@pytest.mark.parametrize("words", [None, b"", b"{}", b"\0" * 50])
def test_a_lease_without_words_covers_everything(store: FolderStore, words: bytes | None) -> None:
    """The disk was full when they were written."""
    with lease(store, kept("a"), "run"):
        (path,) = (store.root / "leases").glob("*.json")
        path.unlink()
        if words is not None:
            path.write_bytes(words)
        (held,) = leases(store)
        assert held.digests is None
        assert held.holder.pid == os.getpid()
        assert told(plan_gc(store, ()).stays) == [f"leased {name}" for name in DATA]
    assert leases(store) == []


def test_a_store_that_may_only_be_read_has_no_leases(store: FolderStore) -> None:
    with read_only(store.root):
        with lease(store, kept("a"), "run"):
            assert store.path(DIGESTS["a"], 100)
        assert leases(store) == []
        plan = plan_gc(store, ())
        with pytest.raises(MachineError, match="cannot be written"):
            execute(store, plan)
    assert names(store) == "abcd"


def test_a_place_that_is_a_file_is_told(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    (tmp_path / "store").touch()
    with pytest.raises(MachineError, match="cannot be written"), lease(store, (), "x"):
        pytest.fail("it was held")


@pytest.mark.parametrize("workers", [None, 1, 7])
def test_all_are_hashed_and_damaged_ones_named_and_set_aside(store: FolderStore, workers: int | None) -> None:
    path = store.path(DIGESTS["b"], 100)
    assert path
    found = path.stat()
    path.write_bytes(b"x" * 100)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    checked = {each.blob.digest: each.sound for each in verify_all(store, workers)}
    assert checked == {digest: name != "b" for name, digest in DIGESTS.items()}
    assert [each.digest for each in store.damaged()] == [DIGESTS["b"]]
    assert names(store) == "acd"
    store.add([DATA["b"]], DIGESTS["b"], 100)
    assert all(each.sound for each in verify_all(store))


def test_who_stops_asking_leaves_nothing_behind(store: FolderStore) -> None:
    for each in verify_all(store, 1):
        assert each.sound
        break
    assert names(store) == "abcd"


def test_a_lock_that_is_swept_never_lets_two_write_at_once(store: FolderStore) -> None:
    """Some wait for the lock that loses its name, others come and find none."""
    data, inside, most, over = b"e" * 1000, 0, 0, Event()
    digest = Digest.of(data)

    def fetch(_: int) -> Iterator[bytes]:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.001)
        yield data
        inside -= 1

    def write() -> None:
        for _ in range(15):
            store.resume(fetch, digest, len(data))
            store.remove(digest)

    def sweep() -> None:
        while not over.is_set():
            for each in store.locks_of_nothing():
                with suppress(MachineError):
                    store.drop_lock(each)

    writers = [Thread(target=write) for _ in range(4)]
    sweeper = Thread(target=sweep)
    for thread in (*writers, sweeper):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    sweeper.join()
    assert most == 1
