"""The plan of a pulled name holds as long as what it hangs on stays the same; whatever changes, it is made anew."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from inferry import Client
from inferry.catalog.resolver import resolution
from inferry.catalog.values.host import Device, Driver
from inferry.cli import inferry as group
from inferry.index.leases import leases
from inferry.index.store import FolderStore
from inferry.runtime import recall
from inferry.runtime.detect.detector import detect
from inferry.tests.shelves import ONES, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inferry.catalog.values.host import Host

CARD = Device(kind="gpu", vendor_id="10de", name="A card", driver=Driver(scheme="linux", version="580.1"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def client(home: Path, tmp_path: Path) -> Client:
    publish(tmp_path / "shelf/acme/add", precisions=("fp32", "fp16"))
    made = Client(home=home, sources=[tmp_path / "shelf"])
    made.prepare(["acme/add"])
    return made


class Plans:
    """How often something was chosen."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        real: Callable[..., object] = vars(resolution)["candidates"]

        def counted(*given: object) -> object:
            self.count += 1
            return real(*given)

        monkeypatch.setattr(resolution, "candidates", counted)

    def during(self, call: Callable[[], object]) -> int:
        before = self.count
        call()
        return self.count - before


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> Plans:
    return Plans(monkeypatch)


def load(client: Client, name: str = "acme/add", **pins: str) -> tuple[str, ...]:
    with client.load(name, **pins) as model:  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        assert model.run(ONES)["sum"].tolist() == [[4, 6]]
        return model.opening.changed


def test_the_second_time_nothing_is_chosen(client: Client, plans: Plans) -> None:
    assert plans.during(lambda: load(client)) == 1
    assert plans.during(lambda: load(client)) == 0
    # Whoever asks for something else gets a plan of its own.
    assert plans.during(lambda: load(client, ep="cpu")) == 1
    assert plans.during(lambda: load(client, ep="cpu")) == 0
    assert plans.during(lambda: load(client)) == 0


def test_what_was_chosen_is_told_all_the_same(client: Client) -> None:
    load(client)
    with client.load("acme/add") as model:
        assert model.plan
        assert model.plan.explain().startswith("acme/add 1.0.0: fp32 on CPUExecutionProvider")
        assert model.report().ep == "CPUExecutionProvider"
        assert model.release
        assert model.release.name == "acme/add"


CHANGES: dict[str, tuple[Callable[[Host], Host], str]] = {
    "a driver": (
        lambda host: replace(
            host, devices=(*host.devices[:-1], replace(CARD, driver=Driver(scheme="linux", version="590.2")))
        ),
        "the devices or their drivers",
    ),
    "a device": (lambda host: replace(host, devices=host.devices[:-1]), "the devices or their drivers"),
    "onnx runtime": (
        lambda host: replace(host, onnxruntime=replace(host.onnxruntime, version="1.99.0")),
        "ONNX Runtime",
    ),
    "the system": (lambda host: replace(host, platform=replace(host.platform, version="99")), "the system"),
    "the memory": (lambda host: replace(host, memory=replace(host.memory, total_bytes=2**33)), "the memory"),
}


@pytest.mark.parametrize(("change", "word"), CHANGES.values(), ids=CHANGES)
def test_a_machine_that_changed_is_planned_for_anew_and_it_is_said(
    change: Callable[[Host], Host], word: str, client: Client, plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = detect()
    host = replace(host, devices=(*host.devices, CARD))
    monkeypatch.setattr(recall, "detect", lambda: host)
    assert load(client) == ()
    assert plans.during(lambda: load(client)) == 0
    monkeypatch.setattr(recall, "detect", lambda: change(host))
    assert load(client) == (word,)
    assert plans.during(lambda: load(client)) == 0
    # Free memory changes all the time.
    monkeypatch.setattr(
        recall, "detect", lambda: change(replace(host, memory=replace(host.memory, free_bytes=1)))
    ) if word != "the memory" else None
    assert plans.during(lambda: load(client)) == 0


def test_the_command_says_it_in_one_line(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(home))
    for arguments in (["pull", "inferry/digits"], ["run", "inferry/digits"]):
        assert "anew" not in CliRunner().invoke(group, arguments).stderr
    host = detect()
    other = replace(host, onnxruntime=replace(host.onnxruntime, version="1.99.0"))
    monkeypatch.setattr(recall, "detect", lambda: other)
    told = CliRunner().invoke(group, ["run", "inferry/digits"])
    assert "planned anew, as this changed: ONNX Runtime\n" in told.stderr


def test_another_pull_is_seen(client: Client, plans: Plans) -> None:
    load(client)
    client.prepare(["acme/add"], precision="fp16")
    assert plans.during(lambda: load(client)) > 0
    assert load(client) == ()


@pytest.mark.parametrize("damage", ["empty", "cut short", "no text", "another form", "a folder", "gone"])
def test_a_plan_that_cannot_be_read_is_made_anew(damage: str, client: Client, home: Path, plans: Plans) -> None:
    load(client)
    (file,) = (home / "cache/recall-v1").iterdir()
    data = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    elif damage != "gone":
        forms = {"empty": b"", "cut short": data[:-9], "no text": b"\xff", "another form": b'{"facts": 1}'}
        file.write_bytes(forms[damage])
    assert plans.during(lambda: load(client)) == 1
    assert plans.during(lambda: load(client)) == (1 if damage == "a folder" else 0)


def test_a_blob_that_was_damaged_is_fetched_again(client: Client, home: Path) -> None:
    load(client)
    for blob in (home / "data/store/blobs").rglob("*"):
        if blob.is_file() and blob.suffix != ".json":
            blob.write_bytes(b"damaged")
    load(client)


def test_what_is_loaded_is_leased_until_it_is_closed(client: Client, home: Path) -> None:
    store = FolderStore(home / "data/store")
    for _ in range(2):  # planned, and recalled
        model = client.load("acme/add")
        (held,) = leases(store)
        assert held.why == "load acme/add@=1.0.0"
        model.close()
        model.close()
        assert leases(store) == []


HEAVY = ("inferry.catalog.resolver", "inferry.catalog.manifest", "inferry.ep_packages", "packaging", "tomllib")


def test_a_second_run_imports_no_resolver_no_packaging_and_no_toml(home: Path, tmp_path: Path) -> None:
    shutil.copytree(publish(tmp_path / "shelf/acme/add").parent.parent, tmp_path / "other")
    (tmp_path / "a.json").write_text("[[1, 2]]", encoding="utf-8")
    code = f"""
import json, sys
from inferry import Client
from inferry.runtime.once import once
client = Client(home={str(home)!r}, sources=[{str(tmp_path / "shelf")!r}])
if "pull" in sys.argv:
    client.prepare(["acme/add"])
told = once(client, "acme/add", {{"a": "a.json", "b": "a.json"}}, sys.stdin.buffer)
print(json.dumps([told.outputs["sum"].tolist(), sorted(sys.modules)]))
"""
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", code, *more], capture_output=True, check=True, text=True, cwd=tmp_path
            ).stdout
        )
        for more in (["pull"], [], [])
    ]
    assert [each[0] for each in runs] == [[[2, 4]]] * 3

    def heavy(modules: list[str]) -> list[str]:
        return [each for each in modules if each.startswith(HEAVY)]

    assert heavy(runs[0][1])
    assert heavy(runs[2][1]) == []
