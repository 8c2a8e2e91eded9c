"""A process that pulls or collects is killed at 60 instants, while another reads: nothing broken is ever to be seen."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.catalog.values.digest import Digest
from inferry.index.client.pulled import Pulled
from inferry.index.collect import execute, plan_gc
from inferry.tests.kills import STAGES, WATCH, broken, killed_after, killed_at, length
from inferry.tests.shelves import adds, held, publish

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.faults
NAME = "acme/large"
PULLING = {"lease": 1, "partial": 3, "whole": 2, "record of a blob": 2, "record of a model": 2}
"""The stages of a pull, and how many calls of each there are at least."""
COLLECTING = {"collection": 3, "removal": 3}
EACH = 6
"""Kills at each stage."""
DRAWN = 30
RUBBISH = 12


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    publish(tmp_path / "shelf" / NAME, NAME, files={"CARD.md": random.Random(1).randbytes(6_000_000)})
    publish(tmp_path / "shelf/acme/add")
    return tmp_path / "shelf"


@contextmanager
def watched(home: Path, tmp_path: Path) -> Generator[None]:
    """Look at ``home`` in another process meanwhile, without end; what it saw that was broken fails the test."""
    over = tmp_path / "over"
    with subprocess.Popen([sys.executable, "-c", WATCH, home, over], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "looking\n"
        try:
            yield
        finally:
            over.touch()
        rounds, found = json.loads(process.stdout.read())
    over.unlink()
    assert rounds > 0
    assert found == []


def points(stages: dict[str, int]) -> list[tuple[str, int, str]]:
    return [
        (stage, 1 + place // 2 % calls, ("before", "after")[place % 2])
        for stage, calls in stages.items()
        for place in range(EACH)
    ]


def test_a_pull_that_is_killed_leaves_what_is_whole_and_is_done_by_the_next(shelf: Path, tmp_path: Path) -> None:
    home, never = tmp_path / "home", tmp_path / "never"
    Client(home=never, sources=[shelf]).prepare([NAME, "acme/add"])
    wanted = {path: data for path, data in held(never).items() if not path.endswith("json")}
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    code = f"""
from inferry import Client
Client(home={str(home)!r}, sources=[{str(shelf)!r}]).prepare([{NAME!r}])
"""
    came: dict[str, int] = dict.fromkeys(PULLING, 0)
    with watched(home, tmp_path):
        for stage, nth, when in points(PULLING):
            clear(home)
            came[stage] += killed_at(stage, nth, when, code)
            check(client, home, wanted)
        span = length(code)
        for place in range(DRAWN):
            clear(home)
            killed_after(random.Random(place).random() * span, code)
            check(client, home, wanted)
    assert min(came.values()) >= 5, came


def clear(home: Path) -> None:
    """Forget the model, and remove what no other needs."""
    pulled = Pulled(home / "data")
    for found in pulled.find(NAME):
        pulled.forget(found)
    execute(pulled.store, plan_gc(pulled.store, pulled.keeps(), recent_s=0))


def check(client: Client, home: Path, wanted: dict[str, bytes]) -> None:
    """Look at what a killed pull left, and let the next one do it."""
    assert broken(home) == []
    assert adds(client)
    client.prepare([NAME])
    assert {path: data for path, data in held(home).items() if not path.endswith("json")} == wanted
    assert not [path for path in (home / "data/store/partial").iterdir() if path.stat().st_size]
    assert adds(client, NAME)


def test_eight_processes_that_pull_one_name_have_it_once(shelf: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    code = f"""
from inferry import Client
print(Client(home={str(home)!r}, sources=[{str(shelf)!r}]).prepare([{NAME!r}])[0].variant)
"""
    with watched(home, tmp_path):
        running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(8)]
        assert [(each.communicate()[0], each.returncode) for each in running] == [(b"fp32\n", 0)] * 8
    assert adds(Client(home=home, sources=[shelf]), NAME)


def test_a_collection_that_is_killed_removes_nothing_that_has_a_name(shelf: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    client = Client(home=home, sources=[shelf])
    client.prepare([NAME, "acme/add"])
    pulled = Pulled(home / "data")
    code = f"""
from pathlib import Path
from inferry.index.client.pulled import Pulled
from inferry.index.client.cache import Cache
Cache(Pulled(Path({str(home / "data")!r}))).gc(recent_s=-1)
"""
    named = held(home)

    def litter() -> None:
        for place in range(RUBBISH):
            data = f"rubbish {place}".encode() * 1000
            pulled.store.add([data], Digest.of(data), len(data))

    came: dict[str, int] = dict.fromkeys(COLLECTING, 0)
    with watched(home, tmp_path):
        for stage, nth, when in points(COLLECTING):
            litter()
            came[stage] += killed_at(stage, nth, when, code)
            assert adds(client, NAME)
        litter()
        span = length(code)
        for place in range(DRAWN):
            litter()
            killed_after(random.Random(place).random() * span, code)
            assert adds(client, NAME)
            assert adds(client)
    assert min(came.values()) >= 5, came
    execute(pulled.store, plan_gc(pulled.store, pulled.keeps(), recent_s=0))
    assert held(home) == named
    assert {*PULLING, *COLLECTING} <= set(STAGES)
