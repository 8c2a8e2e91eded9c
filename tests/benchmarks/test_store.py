"""Figures of the store: what it costs over the same work by hand, medians of rounds that are taken in turns."""

from __future__ import annotations

import os
import time
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage
from statistics import median
from tempfile import TemporaryDirectory
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

pytestmark = pytest.mark.figures
ROUNDS = 7
MIB = 1 << 20
ADDED_MIB = 1024
VERIFIED_MIB = 2048
PARTS = 8
Figures = dict[str, dict[str, Any]]


def rounds(first: Callable[[], float], second: Callable[[], float]) -> tuple[list[float], list[float]]:
    """Return the times of each; they take turns, and in turns at being first."""
    times: dict[Callable[[], float], list[float]] = {first: [], second: []}
    for turn in range(ROUNDS):
        for candidate in (first, second)[:: 1 if turn % 2 else -1]:
            times[candidate].append(candidate())
    return times[first], times[second]


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


def times_of_adding(folder: Path) -> tuple[list[float], list[float]]:
    """Return the times of a store and of a loop by hand, both in ``folder``."""
    source = random_file(folder / "source", ADDED_MIB)
    digest, size = hash_file(source), ADDED_MIB * MIB
    store = FolderStore(folder / "store")
    store.prepare()

    def add() -> float:
        os.sync()
        begun = time.perf_counter()
        store.add_file(source, digest, size)
        took = time.perf_counter() - begun
        store.remove(digest)
        return took

    return rounds(add, lambda: by_hand(source, folder / "target"))


def test_adding_costs_little_over_a_loop_by_hand(figures: Figures, tmp_path: Path) -> None:
    """The limit holds in memory: on a virtual disk the same loop takes 1.05 s, and 1.7 s the next time."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    steady = memory.is_dir() and disk_usage(memory).free > 4 * ADDED_MIB * MIB
    with TemporaryDirectory(dir=memory if steady else tmp_path) as folder:
        ours, hand = times_of_adding(Path(folder))
    ours_on_disk, hand_on_disk = times_of_adding(tmp_path)
    ratio = median(hand) / median(ours)
    figures["adding a blob of 1 GiB / read, hash, write, fsync by hand"] = {
        "speed_ratio": round(ratio, 3),
        "limit": 0.9,
        "in": "memory" if steady else "a disk",
        "ours_mb_s": round(ADDED_MIB * MIB / median(ours) / 1e6),
        "by_hand_mb_s": round(ADDED_MIB * MIB / median(hand) / 1e6),
        "on_disk_speed_ratio_of_medians": round(median(hand_on_disk) / median(ours_on_disk), 3),
        "on_disk_speed_ratio_of_the_best": round(min(hand_on_disk) / min(ours_on_disk), 3),
    }
    assert ratio >= 0.9


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

    ours, hand = map(median, rounds(verify, lambda: hash_all(files, workers)))
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

    leasing, finding = map(median, rounds(lambda: each(leased), lambda: each(lambda: store.path(digests[0], 1))))
    figures["a lease of 20 blobs; the path of one"] = {
        "lease_ms": round(1000 * leasing, 3),
        "limit_ms": 1,
        "path_ms": round(1000 * finding, 3),
    }
    assert leasing <= 0.001
