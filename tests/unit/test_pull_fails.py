"""Bad days of pulling: whatever goes wrong, what was there is as it was, and the error says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.catalog.errors import (
    Cancelled,
    Error,
    InvalidManifest,
    MachineError,
    ModelNotFound,
    NotInstalled,
    VerificationError,
)
from inferry.tests.rights import read_only
from inferry.tests.shelves import ONES, adds, held, publish

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.progress import Progress


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "a home ü"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "Regal mit Modellen"
    publish(root / "acme/add", precisions=("fp32", "fp16", "int8"), files={"CARD.md": b"# Adds\n"})
    return root


BAD: dict[str, tuple[str, type[Error], str]] = {
    "bytes that are others": ("other", VerificationError, "what came is not sha256:"),
    "bytes that are too few": ("short", VerificationError, "ended after"),
    "bytes that are too many": ("long", VerificationError, "longer"),
    "no file": ("gone", NotInstalled, "no place"),
    "no manifest": ("no manifest", ModelNotFound, "no source knows"),
    "a manifest that is wrong": ("wrong", InvalidManifest, "version"),
    "a pipe": ("pipe", NotInstalled, "no place"),
}


@pytest.mark.parametrize(("what", "kind", "words"), BAD.values(), ids=BAD)
def test_a_pull_that_fails_leaves_what_was_there(
    what: str, kind: type[Error], words: str, home: Path, shelf: Path
) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    before = held(home)
    folder = publish(shelf / "acme/new", "acme/new", files={"CARD.md": b"new"})
    file, manifest = folder / "fp32.onnx", folder / "manifest.toml"
    good = file.read_bytes()
    if what in {"other", "short", "long"}:
        file.write_bytes({"other": bytes([good[0] ^ 1]) + good[1:], "short": good[:-1], "long": good + b"\0"}[what])
    elif what == "wrong":
        manifest.write_text("version = 1", encoding="utf-8")
    else:
        (manifest if what == "no manifest" else file).unlink()
        if what == "pipe":
            if sys.platform == "win32":
                pytest.skip("Windows has no such files")
            os.mkfifo(file)
    with pytest.raises(kind, match=words):
        client.prepare(["acme/new"])
    after = held(home)
    assert {path: after[path] for path in before} == before
    assert not [path for path in after if "acme+new" in path]
    assert adds(client)


class Stopped(BaseException):
    """As Ctrl-C, which tests had better not send to themselves."""


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("how", ["cancelled", "interrupted"])
def test_an_end_at_any_event_loses_nothing_that_is_whole(how: str, at: int, home: Path, shelf: Path) -> None:
    publish(shelf / "acme/large", "acme/large", files={"CARD.md": bytes(range(256)) * 16_000})
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    before = held(home)
    cancel, seen = Event(), 0

    def stop(_: Progress) -> None:
        nonlocal seen
        seen += 1
        if seen > at:
            if how == "interrupted":
                raise Stopped
            cancel.set()

    ended: type[BaseException] = Stopped if how == "interrupted" else Cancelled
    with pytest.raises(ended):
        client.prepare(["acme/large"], progress=stop, cancel=cancel)
    after = held(home)
    assert {path: after[path] for path in before} == before
    with pytest.raises(NotInstalled):
        client.load("acme/large", install="never")
    told: list[Progress] = []
    client.prepare(["acme/large"], progress=told.append)
    assert adds(client, "acme/large")
    # What had come is not fetched again.
    assert told[-1].done_bytes == told[-1].total_bytes
    assert sum(path.is_file() for path in (home / "data/store").rglob("partial/*")) == 0


def test_two_processes_that_pull_at_once_have_one_store(home: Path, shelf: Path) -> None:
    publish(shelf / "acme/large", "acme/large", files={"CARD.md": bytes(range(256)) * 30_000})
    code = f"""
from inferry import Client
client = Client(home={str(home)!r}, sources=[{str(shelf)!r}])
print(client.prepare(["acme/large"])[0].fetched_bytes)
print(client.run("acme/large", {ONES}, install="never")["sum"].tolist())
"""
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].split("\n")[1] for process in both] == ["[[4.0, 6.0]]"] * 2
    assert len([path for path in held(home) if "acme+large" in path]) == 1


def test_a_store_of_a_newer_version_is_refused_and_left_alone(home: Path, shelf: Path) -> None:
    (home / "data/store").mkdir(parents=True)
    (home / "data/store/store.json").write_text('{"version": 99}', encoding="utf-8")
    client = Client(home=home, sources=[shelf])
    for call in (lambda: client.prepare(["acme/add"]), lambda: client.load("acme/add")):
        with pytest.raises(MachineError, match="newer inferry"):
            call()
    assert [path.name for path in (home / "data").rglob("*")] == ["store", "store.json"]


def test_a_record_that_cannot_be_read_names_its_file(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    (record,) = home.rglob("pulled.json")
    record.write_text('{"release": 1}', encoding="utf-8")
    with pytest.raises(MachineError, match=r"pulled\.json cannot be read"):
        client.load("acme/add")


def test_a_home_that_may_only_be_read_still_runs_what_is_there(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    with read_only(home):
        assert adds(client)
        with client.load("acme/add") as model:
            assert model.opening.fetched_bytes == 0
        with pytest.raises(MachineError, match="cannot be written"):
            client.prepare(["acme/add"], precision="int8")


def test_a_source_that_is_no_folder_is_told(home: Path, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="is no folder"):
        Client(home=home, sources=[tmp_path / "none"]).prepare(["acme/add"])
