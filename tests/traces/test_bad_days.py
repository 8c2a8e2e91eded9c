"""Bad days for real: Ctrl-C at each stage, a full disk, a home that may only be read, no network at all."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.tests.kills import broken, stopped_at
from inferry.tests.shelves import adds, held, publish

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = pytest.mark.traces
LARGE = 3_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return publish(tmp_path / "large", "acme/large", files={"CARD.md": random.Random(1).randbytes(LARGE)})


@contextmanager
def disk(place: Path, size: int) -> Generator[Path]:
    """Mount a disk of ``size`` bytes at ``place``, which only root may."""
    place.mkdir()
    tool("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield place
    finally:
        tool("umount", "-l", str(place))


def tool(name: str, *arguments: str) -> None:
    subprocess.run([shutil.which(name) or name, *arguments], check=True, capture_output=True)


def inferry(home: Path, *arguments: str | Path, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*before, sys.executable, "-m", "inferry", *arguments],
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "INFERRY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_full_disk_leaves_what_was_there_and_says_how_much_is_missing(folder: Path, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", 2_000_000) as home:
        assert inferry(home, "pull", "inferry/digits").returncode == 0
        before = held(home)
        told = inferry(home, "pull", folder)
        assert told.returncode == 10
        assert "there is no room for" in told.stderr
        assert "bytes more are needed" in told.stderr
        assert held(home) == before
        ran = inferry(home, "run", "inferry/digits")
        assert (ran.returncode, ran.stdout[0]) == (0, "7")
        # Full to the last byte: nothing can be written down, and what is there runs.
        with suppress(OSError), (home / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        ran = inferry(home, "run", "inferry/digits")
        assert (ran.returncode, ran.stdout[0]) == (0, "7"), ran.stderr
        assert {path: data for path, data in held(home).items() if "filler" not in path} == before
        tool("mount", "-o", "remount,size=9000000", str(home))
        (home / "filler").unlink()
        assert inferry(home, "pull", folder).returncode == 0


def test_a_home_that_may_only_be_read_runs_what_is_there(folder: Path, tmp_path: Path) -> None:
    with disk(tmp_path / "disk", 9_000_000) as home:
        assert inferry(home, "pull", "inferry/digits").returncode == 0
        before = held(home)
        tool("mount", "-o", "remount,ro", str(home))
        ran = inferry(home, "run", "inferry/digits")
        assert (ran.returncode, ran.stdout[0]) == (0, "7"), ran.stderr
        told = inferry(home, "pull", folder)
        assert told.returncode == 10
        assert "Read-only file system" in told.stderr
        assert held(home) == before
        assert "Nothing can be written" in inferry(home, "doctor").stdout


def test_without_a_network_everything_here_works(folder: Path, tmp_path: Path) -> None:
    alone = ("unshare", "--net")
    for arguments in (["pull", "inferry/digits"], ["pull", folder], ["run", "inferry/digits"], ["search", "digit"]):
        told = inferry(tmp_path / "home", *arguments, before=alone)
        assert told.returncode == 0, told.stderr
    assert adds(Client(home=tmp_path / "home"), "acme/large")


PULL = """
import sys
from inferry.cli import main
sys.argv = ["inferry", "pull", {folder!r}]
main()
"""
STAGES = {"lease": 1, "partial": 3, "whole": 2, "record of a blob": 2, "record of a model": 2}
POINTS = [
    (stage, nth, when) for stage, most in STAGES.items() for nth in range(1, most + 1) for when in ("before", "after")
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_ctrl_c_at_each_stage_ends_a_pull_and_loses_nothing(
    point: tuple[str, int, str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("INFERRY_HOME", str(home))
    client = Client(home=home)
    client.prepare([publish(tmp_path / "add")])
    before = held(home)
    process = stopped_at(*point, PULL.format(folder=str(folder)))
    assert process
    with process:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert (process.returncode, told.decode().splitlines()[-1]) == (130, "interrupted")
    assert broken(home) == []
    after = held(home)
    assert {path: after.get(path) for path in before} == before
    assert adds(client)
    client.prepare([folder])
    assert adds(client, "acme/large")


def test_a_recalled_run_opens_only_what_it_needs(tmp_path: Path) -> None:
    """Of the home and the folder it stands in: the store, the plan, and the model."""
    home, here = tmp_path / "home", tmp_path / "here"
    here.mkdir()
    (here / "inferry.toml").write_text("never = 1", encoding="utf-8")
    for arguments in (["pull", "inferry/digits"], ["run", "inferry/digits"]):
        assert inferry(home, *arguments).returncode == 0
    log = tmp_path / "trace"
    command: list[str | Path] = ["strace", "-f", "-qq", "-s", "300", "-e", "trace=openat,open", "-o", log]
    subprocess.run(
        [*command, Path(sys.executable).with_name("inferry"), "run", "inferry/digits"],
        env={"PATH": "/usr/bin:/bin", "INFERRY_HOME": str(home), "HOME": str(home)},
        cwd=here,
        check=True,
        capture_output=True,
    )
    opened = [
        line.split('"')[1]
        for line in log.read_text(encoding="utf-8").splitlines()
        if '"' in line and "ENOENT" not in line and "resumed" not in line
    ]
    mine = [path for path in opened if path.startswith((str(home), str(here)))]
    told = {Path(path).relative_to(home).parts[:2] for path in mine}
    assert told == {("data", "store"), ("cache", "recall-v1")}
    blobs = [path for path in mine if "/blobs/" in path and not path.endswith(".json")]
    assert len(blobs) == 2, "the model, and its sample"
    assert len(mine) <= 12
