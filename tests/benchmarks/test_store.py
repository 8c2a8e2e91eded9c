"""Figures of the store: what it costs over the same work by hand, medians of rounds that are taken in turns."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from statistics import median
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.values.digest import Digest
from inferry.index.collect import verify_all
from inferry.index.files import hash_file
from inferry.index.leases import lease
from inferry.index.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.figures
ROUNDS = 8
MIB = 1 << 20
ADDED_MIB = 1024
VERIFIED_MIB = 2048
PARTS = 8
Figures = dict[str, dict[str, Any]]


def medians(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Return the median of each; they take turns, and in turns at being first: a disk does worse after much work."""
    times: dict[Callable[[], float], list[float]] = {first: [], second: []}
    for turn in range(ROUNDS):
        for candidate in (first, second)[:: 1 if turn % 2 else -1]:
            times[candidate].append(candidate())
    return median(times[first]), median(times[second])


def random_file(path: Path, mebibytes: int) -> Path:
    with path.open("wb") as file:
        for _ in range(mebibytes):
            file.write(os.urandom(MIB))
    return path


def by_hand(source: Path, target: Path) -> float:
    """Read, hash, write and sync a file, a mebibyte at a time."""
    os.sync()
    begun = time.perf_counter()
    hashed = sha256()
    with source.open("rb", buffering=0) as old, target.open("wb", buffering=0) as new:
        while chunk := old.read(MIB):
            hashed.update(chunk)
            new.write(chunk)
        os.fsync(new)
    took = time.perf_counter() - begun
    target.unlink()
    return took


def test_adding_costs_little_over_a_loop_by_hand(figures: Figures, tmp_path: Path) -> None:
    source = random_file(tmp_path / "source", ADDED_MIB)
    digest, size = hash_file(source), ADDED_MIB * MIB
    store = FolderStore(tmp_path / "store")
    store.prepare()

    def add() -> float:
        os.sync()
        begun = time.perf_counter()
        store.add_file(source, digest, size)
        took = time.perf_counter() - begun
        store.remove(digest)
        return took

    ours, hand = medians(add, lambda: by_hand(source, tmp_path / "target"))
    figures["adding a blob of 1 GiB / read, hash, write, fsync by hand"] = {
        "speed_ratio": round(hand / ours, 3),
        "limit": 0.9,
        "ours_mb_s": round(size / ours / 1e6),
        "by_hand_mb_s": round(size / hand / 1e6),
    }
    assert hand / ours >= 0.9


def hash_all(files: list[Path], workers: int) -> float:
    """Hash files by hand, as many at a time as there are processors."""
    left = list(files)

    def work() -> None:
        buffer = memoryview(bytearray(MIB))
        while left:
            hashed = sha256()
            with left.pop().open("rb", buffering=0) as file:
                while count := file.readinto(buffer):
                    hashed.update(buffer[:count])

    begun = time.perf_counter()
    threads = [Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begun


def test_verifying_is_as_fast_as_hashing_on_all_processors(figures: Figures, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    files: list[Path] = []
    for part in range(PARTS):
        source = random_file(tmp_path / str(part), VERIFIED_MIB // PARTS)
        files.append(store.add_file(source, hash_file(source), VERIFIED_MIB // PARTS * MIB))
        source.unlink()
    workers = os.cpu_count() or 1

    def verify() -> float:
        begun = time.perf_counter()
        assert all(each.sound for each in verify_all(store))
        return time.perf_counter() - begun

    ours, hand = medians(verify, lambda: hash_all(files, workers))
    figures["verifying a store of 2 GiB / sha256 of the files on all processors"] = {
        "speed_ratio": round(hand / ours, 3),
        "limit": 0.9,
        "ours_mb_s": round(VERIFIED_MIB * MIB / ours / 1e6),
        "by_hand_mb_s": round(VERIFIED_MIB * MIB / hand / 1e6),
        "processors": workers,
    }
    assert hand / ours >= 0.9


def test_using_a_blob_costs_next_to_nothing(figures: Figures, tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "store")
    digests = [Digest.of(bytes([number])) for number in range(20)]
    for number, digest in enumerate(digests):
        store.add([bytes([number])], digest, 1)

    def each(call: Callable[[], object], count: int = 200) -> float:
        begun = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begun) / count

    def leased() -> None:
        with lease(store, digests, "run"):
            pass

    leasing, finding = medians(lambda: each(leased), lambda: each(lambda: store.path(digests[0], 1)))
    figures["a lease of 20 blobs; the path of one"] = {
        "lease_ms": round(1000 * leasing, 3),
        "limit_ms": 1,
        "path_ms": round(1000 * finding, 3),
    }
    assert leasing <= 0.001
