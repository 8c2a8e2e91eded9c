"""``inferry check``: what would be published, all that is wrong with it, and the manifest that says it whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from inferry.catalog.manifest import read_manifest
from inferry.cli import inferry as group
from inferry.tests.models import add, with_external_data
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

MINE = ("--name", "acme/add", "--version", "1.0.0", "--license", "MIT")
SHOWN = """acme/add 1.0.0  other  MIT
acme/add (other)
variants
  fp32  fp32  103 B  0 parameters  memory 24 B  opset 17, IR 8  ONNX Runtime >=1.12
inputs
  a  float32 [n, 2]
  b  float32 [n, 2]
outputs
  sum  float32 [n, 2]
files
  add.onnx  103 B  application/vnd.onnx
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model."""
    (tmp_path / "add.onnx").write_bytes(add())
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Result:
    told = CliRunner().invoke(group, arguments, prog_name="inferry")
    assert told.exit_code == code, told.output
    return told


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return document


def test_a_file_is_shown_as_the_release_that_it_would_be(here: Path) -> None:
    told = run("check", "add.onnx", *MINE)
    assert (told.stdout, told.stderr) == (SHOWN, "")
    document = answer("check", "add.onnx", *MINE)
    assert document["variants"] == [
        {"name": "fp32", "precision": "fp32", "size_bytes": 103, "parameters": 0, "memory_bytes": 24}
    ]
    assert (document["release"]["name"], document["problems"], document["manifest"]) == ("acme/add", [], None)
    assert sorted(each.name for each in here.iterdir()) == ["add.onnx"]


def test_all_that_is_wrong_is_said_with_its_field(here: Path) -> None:
    told = run("check", "add.onnx", "--version", "v1", "--channel", "nightly", code=9)
    assert told.stdout == ""
    assert [line.partition(":")[0] for line in told.stderr.splitlines()] == ["name", "channel", "license"]
    assert "channel: `nightly` is none of stable, preview, test" in told.stderr
    assert "hint: write namespace/name" in run("check", "add.onnx", *MINE, "--name", "add", code=9).stderr
    publish(here / "it", precisions=("fp32", "fp16"))
    (here / "it/fp16.onnx").write_bytes(b"other bytes")
    (here / "it/fp32.onnx").unlink()
    document = answer("check", "it", code=9)
    assert [each["field"] for each in document["problems"]] == [
        "variants[0].artifact.path",
        "variants[1].artifact.digest",
        "variants[1].artifact.size_bytes",
    ]
    assert document["release"]["name"] == "acme/add"
    assert "hint: " in run("check", "it", code=9).stderr


def test_a_manifest_is_written_once_and_says_it_all(here: Path) -> None:
    told = run("check", "add.onnx", *MINE, "--write")
    assert told.stderr == "manifest.toml written\n"
    release = read_manifest((here / "manifest.toml").read_text(encoding="utf-8"), where="")
    assert answer("check", ".")["release"] == answer("check", "add.onnx", *MINE)["release"]
    assert release.variants[0].artifact.path == "add.onnx"
    before = (here / "manifest.toml").read_bytes()
    assert "never written over" in run("check", "add.onnx", *MINE, "--write", code=8).stderr
    assert (here / "manifest.toml").read_bytes() == before


def test_nothing_is_written_of_what_is_wrong(here: Path) -> None:
    run("check", "add.onnx", "--write", code=9)
    assert sorted(each.name for each in here.iterdir()) == ["add.onnx"]


def test_what_no_index_takes_is_said(here: Path) -> None:
    publish(here / "it", redistribution="unknown")
    assert "no index takes fp32.onnx: its redistribution is `unknown`" in run("check", "it").stderr


def test_tensors_that_lie_elsewhere_are_said(here: Path) -> None:
    with_external_data(here, "../w.bin")
    document = answer("check", "model.onnx", *MINE, code=9)
    (problem,) = document["problems"]
    assert problem["field"] == "variants[0].artifact"
    assert "`../w.bin`, which leaves its folder" in problem["message"]
    assert document["release"] is None


def test_a_lone_file_is_added_to_an_index(here: Path) -> None:
    run("index", "init", "site")
    assert run("index", "add", "site", "add.onnx", *MINE).stdout == "acme/add@=1.0.0 added: serial 2\n"
    before = sorted((each, each.read_bytes()) for each in (here / "site").rglob("*") if each.is_file())
    assert run("index", "add", "site", "add.onnx", *MINE).stdout == "acme/add@=1.0.0 is there already: serial 2\n"
    assert sorted((each, each.read_bytes()) for each in (here / "site").rglob("*") if each.is_file()) == before
    assert "give --name NS/NAME" in run("index", "add", "site", "add.onnx", code=9).stderr
    assert "Show the version and exit" not in run("check", "--help").stdout


@pytest.mark.parametrize("command", [("check",), ("index", "add")])
def test_a_version_that_is_not_said_is_the_programs(command: tuple[str, ...]) -> None:
    assert run(*command, "--version").stdout == run("--version").stdout == run("plan", "--version").stdout
