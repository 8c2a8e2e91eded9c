"""The command line's face: the same program under each of its names."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from click.testing import CliRunner

import inferry
from inferry.cli import inferry as group

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sysconfig.get_path("scripts"))


@pytest.mark.parametrize(
    "command",
    [[str(SCRIPTS / "inferry")], [str(SCRIPTS / "catalog")], [sys.executable, "-m", "inferry"]],
    ids=["inferry", "catalog", "module"],
)
def test_each_name_tells_the_version(command: list[str], tmp_path: Path) -> None:
    told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == f"inferry {inferry.__version__}\n"
    assert not told.stderr


def test_without_arguments_it_shows_its_help() -> None:
    runner = CliRunner()
    bare = runner.invoke(group, prog_name="inferry")
    asked = runner.invoke(group, ["--help"], prog_name="inferry")
    assert bare.exit_code == 0
    assert bare.output == asked.output
    assert bare.output.startswith("Usage: inferry [OPTIONS]")


def test_an_unknown_command_is_wrong_usage() -> None:
    told = CliRunner().invoke(group, ["nosuch"], prog_name="inferry")
    assert told.exit_code == 2
    assert "nosuch" in told.stderr
    assert not told.stdout
