"""Searching several sources and what was pulled; how models and providers stand on a machine; a terminal's width."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.catalog.errors import NotFoundError
from inferry.runtime.describe import columns
from inferry.runtime.providers import Provider, providers
from inferry.tests.answers import ANSWERS, profile
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.match import Match


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "shelf"
    publish(root / "acme/add", precisions=("fp32", "int8"))
    publish(root / "acme/gpu-only", "acme/gpu-only")
    text = (root / "acme/gpu-only/manifest.toml").read_text(encoding="utf-8")
    text = text.replace('precision = "fp32"\n', 'precision = "fp32"\neps = ["CUDAExecutionProvider"]\n')
    (root / "acme/gpu-only/manifest.toml").write_text(text, encoding="utf-8")
    return root


def told(found: list[Match]) -> list[tuple[str, str, str]]:
    return [(each.name, each.version, each.source) for each in found]


def test_what_was_pulled_is_found_without_its_source(home: Path, shelf: Path, tmp_path: Path) -> None:
    client = Client(home=home, sources=[shelf])
    for version in ("0.9.0", "0.10.0"):
        client.prepare([publish(tmp_path / version, "acme/mine", version)])
    client.prepare(["acme/add"])
    name = str(shelf)
    every = [("acme/add", "1.0.0", name), ("acme/gpu-only", "1.0.0", name), ("acme/mine", "0.10.0", "local")]
    assert told(client.search()) == every
    assert told(client.search(source="local")) == [every[2]]
    assert told(client.search(source=name)) == every[:2]
    shutil.rmtree(shelf)
    alone = Client(home=home)
    assert told(alone.search("acme")) == [every[0], every[2]]
    assert told(alone.search(source=name)) == [every[0]]
    with pytest.raises(NotFoundError) as caught:
        alone.search(source="nosuch")
    assert caught.value.hints() == ("there is built-in",)


def test_the_first_source_that_knows_a_name_speaks_for_it(home: Path, tmp_path: Path) -> None:
    publish(tmp_path / "one/acme/add", version="1.0.0")
    publish(tmp_path / "two/acme/add", version="2.0.0")
    client = Client(home=home, sources=[tmp_path / "one", tmp_path / "two"])
    assert [each.version for each in client.search("add")] == ["1.0.0"]
    assert [each.version for each in client.search("add", source=str(tmp_path / "two"))] == ["2.0.0"]


def test_what_runs_here(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    assert [each.name for each in client.search(fits=True)] == ["acme/add"]
    assert [each.name for each in client.search(fits=True, precision="int8")] == ["acme/add"]
    assert [each.name for each in client.search(precision="int8")] == ["acme/add"]
    assert [each.name for each in client.search(device="cpu", ep="CPUExecutionProvider")] == ["acme/add"]
    assert client.search(ep="cuda") == []
    assert [each.fits for each in client.search()] == [None, None]


def test_show_says_why_not_and_what_is_not_here(home: Path, shelf: Path, tmp_path: Path) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare([publish(tmp_path / "old", version="0.9.0")])
    client.prepare(["acme/add@1"])
    shown = client.describe("acme/add")
    document = shown.document()
    assert {each["name"]: each["here"] for each in document["variants"]} == {"fp32": True, "int8": False}
    assert document["versions"] == {"pulled": ("1.0.0", "0.9.0"), "sources": {str(shelf): ("1.0.0",)}}
    assert f"versions  pulled 1.0.0, 0.9.0; {shelf} 1.0.0" in shown.lines()
    (variant,) = client.describe("acme/gpu-only").document()["variants"]
    assert (variant["fits"], variant["ep"], variant["here"]) == (False, None, False)
    assert variant["reason"].keys() >= {"rule", "observed", "required", "origin", "fix"}
    line = next(line for line in client.describe("acme/gpu-only").lines() if line.startswith("  fp32"))
    assert "not here  no: " in line
    shutil.rmtree(shelf)
    assert client.describe("acme/add").document()["versions"] == {"pulled": ("1.0.0", "0.9.0"), "sources": {}}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_provider_is_blocked_where_a_rule_is_against_it(name: str) -> None:
    host = profile(name).host
    inside = {ep.lower() for ep in host.onnxruntime.eps or ()}
    for each in providers(host):
        assert each.fits == (each.state != "blocked") == (not _against(each))
        assert (each.state == "ready") == (each.fits and each.delivery == "built-in")
        if each.state == "ready" and inside:
            assert each.ep.lower() in inside


def _against(provider: Provider) -> bool:
    return any(reason.outcome in {"no", "unknown"} for reason in provider.reasons)


def test_providers_for_a_machine_with_a_gpu() -> None:
    states = {each.name: each.state for each in providers(profile("rtx-4090").host)}
    assert set(states.values()) >= {"ready", "not-present", "blocked"}
    assert states["inferry/onnxruntime-qnn"] == "blocked"


def test_columns_are_cut_to_a_width_where_there_is_one() -> None:
    rows = [("a", "one"), ("bb", "a long summary")]
    assert columns(rows) == ["a   one", "bb  a long summary"]
    assert columns(rows, limit=18) == columns(rows)
    assert columns(rows, limit=10) == ["a   one", "bb  a lon…"]
    assert columns(rows, limit=6) == ["a   o…", "bb  a…"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal to open")
@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_gets_lines_that_it_has_room_for(width: int, tmp_path: Path) -> None:
    import pty  # not on Windows

    home = tmp_path / "home"
    folder = publish(tmp_path / "it")
    manifest = folder / "manifest.toml"
    summary = "Adds numbers, " * 12
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"Adds"', f'"{summary}"'), encoding="utf-8")
    Client(home=home).prepare([folder])
    command = [sys.executable, "-m", "inferry", "search", "add"]
    environment = {**os.environ, "INFERRY_HOME": str(home), "COLUMNS": str(width)}
    ours, its = pty.openpty()
    try:
        subprocess.run(command, stdout=its, env=environment, check=True)
        os.close(its)
        shown = os.read(ours, 10_000).decode().strip()
    finally:
        os.close(ours)
    assert len(shown) <= width
    assert shown.endswith("…")
    piped = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True).stdout.decode()
    assert summary.strip() in piped
