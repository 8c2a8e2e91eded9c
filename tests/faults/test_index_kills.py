"""A process that adds to an index, or pulls from one, is killed at any instant: nothing half is ever to be seen."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.index.client.pulled import Pulled
from inferry.index.collect import execute, plan_gc
from inferry.index.signing.checking import check
from inferry.tests.indexes import NOW, PASSPHRASE, World, empty_index
from inferry.tests.kills import broken, killed_after, killed_at, length
from inferry.tests.servers import Answering, serving
from inferry.tests.shelves import adds, held, publish
from inferry.tests.sites import NAME, Site, hand_out

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.faults
DRAWN = 40
EACH = 6
"""Kills at each stage."""
ADDING = {"blob of an index": 2, "file of an index": 4, "folder of an index": 4, "serial of an index": 1}
PULLING = {"lease": 1, "partial": 3, "whole": 2, "record of a blob": 2, "record of a model": 1, "document": 2}
"""The stages, and how many calls of each there are at least."""
LARGE = 6_000_000


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An index with one model."""
    made = empty_index(tmp_path)
    assert PASSPHRASE
    made.repository.add(made.model, NOW)
    return made


def points(stages: dict[str, int]) -> list[tuple[str, int, str]]:
    return [
        (stage, 1 + place // 2 % calls, ("before", "after")[place % 2])
        for stage, calls in stages.items()
        for place in range(EACH)
    ]


class Adding:
    """One release after the other is added, each by a process that is killed first."""

    def __init__(self, world: World, tmp_path: Path) -> None:
        self.world = world
        self.tmp_path = tmp_path
        self.count = 0

    def next(self) -> str:
        """Return the code that adds another release."""
        self.count += 1
        name = f"acme/m{self.count % 3}"
        files = {"CARD.md": f"# {self.count}".encode() * 50_000}
        publish(self.tmp_path / "next", name, f"1.{self.count}.0", files=files)
        return f"""
from pathlib import Path
from inferry.index.signing.repository import Repository
from inferry.tests.indexes import NOW
site, keys, model = map(Path, {[str(self.world.site), str(self.world.keys), str(self.tmp_path / "next")]!r})
Repository(site, keys).add(model, NOW)
"""

    def check(self) -> None:
        """Look at what was left, and let the next process do it."""
        assert check(self.world.site, NOW).problems == ()
        before = self.world.repository.status(NOW).serial
        added = self.world.repository.add(self.tmp_path / "next", NOW)
        assert added.serial == before + added.new
        assert check(self.world.site, NOW).problems == ()
        assert not [path for path in self.world.site.rglob(".*") if "blobs" not in path.parts]


def test_a_release_that_is_half_added_is_not_there_and_is_added_by_the_next(world: World, tmp_path: Path) -> None:
    it = Adding(world, tmp_path)
    came = dict.fromkeys(ADDING, 0)
    for stage, nth, when in points(ADDING):
        came[stage] += killed_at(stage, nth, when, it.next())
        it.check()
    span = length(it.next())
    for place in range(DRAWN):
        killed_after(random.Random(place).random() * span, it.next())
        it.check()
    assert min(came.values()) >= 5, came


@pytest.fixture
def site(world: World, tmp_path: Path) -> Generator[Site]:
    """It behind a server, with a larger model."""
    data = random.Random(1).randbytes(LARGE)
    world.repository.add(publish(tmp_path / "large", "acme/large", files={"CARD.md": data}), NOW)

    def answer(request: Answering, _: int) -> None:
        path = world.site / request.path.lstrip("/")
        if "/blobs/" in request.path and path.is_file():
            request.send_range(path.read_bytes())
        else:
            hand_out(world.site, request)

    with serving(answer) as served:
        made = Site(world, served, tmp_path / "home")
        made.add()
        yield made


def pulling(home: Path) -> str:
    return f"from inferry import Client\nClient(home={str(home)!r}).prepare(['acme/large'])\n"


def test_a_pull_that_is_killed_goes_on_and_fetches_nothing_twice(site: Site, tmp_path: Path) -> None:
    wanted = {path: data for path, data in whole(site, tmp_path / "never").items() if not path.endswith("json")}
    client = Client(home=site.home)
    client.prepare([NAME])
    came, resumed = dict.fromkeys(PULLING, 0), 0

    def clear(*, cold: bool) -> None:
        pulled = Pulled(site.home / "data")
        for found in pulled.find("acme/large"):
            pulled.forget(found)
        execute(pulled.store, plan_gc(pulled.store, pulled.keeps(), recent_s=0))
        for path in (site.home / "data/store/partial").glob("*"):
            path.unlink()
        if cold:  # as if nobody had looked anything up
            shutil.rmtree(site.home / "data/sources")

    def look() -> None:
        nonlocal resumed
        assert broken(site.home) == []
        assert adds(client)
        there = {path.name: path.stat().st_size for path in (site.home / "data/store/partial").iterdir()}
        site.served.asked.clear()
        Client(home=site.home).prepare(["acme/large"])
        for asked in site.served.asked:
            begun = [size for name, size in there.items() if asked.path.replace("/", "").endswith(name[:64]) and size]
            if begun:
                resumed += 1
                assert asked.headers["Range"] == f"bytes={begun[0]}-"
        left = {path: data for path, data in held(site.home).items() if not path.endswith("json")}
        assert wanted.items() <= left.items()
        assert not [path for path in (site.home / "data/store/partial").iterdir() if path.stat().st_size]
        assert adds(client, "acme/large")

    for stage, nth, when in points(PULLING):
        clear(cold=stage == "document" or nth == 1)
        came[stage] += killed_at(stage, nth, when, pulling(site.home))
        look()
    clear(cold=True)
    span = length(pulling(site.home))
    for place in range(DRAWN):
        clear(cold=place % 2 == 0)
        killed_after(random.Random(place).random() * span, pulling(site.home))
        look()
    assert min(came.values()) >= 5, came
    assert resumed


def whole(site: Site, home: Path) -> dict[str, bytes]:
    """Return what a home holds after a pull that nobody killed."""
    never = Site(site.world, site.served, home)
    never.add()
    Client(home=home).prepare(["acme/large"])
    return {path: data for path, data in held(home).items() if "sources" not in path}


def test_four_processes_that_pull_one_artifact_fetch_it_once(site: Site) -> None:
    site.served.asked.clear()
    code = [sys.executable, "-c", pulling(site.home)]
    running = [subprocess.Popen(code) for _ in range(4)]
    assert [each.wait(60) for each in running] == [0] * 4
    blobs = [each.path for each in site.served.asked if "/blobs/" in each.path]
    release = {path for path in blobs if blobs.count(path) > 1}
    assert len(release) <= 1, blobs  # the release document may be asked for by each
    assert len(blobs) - len({*blobs}) <= 3
    assert adds(Client(home=site.home), "acme/large")
