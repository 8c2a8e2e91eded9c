"""Real shells complete words by the script that the program prints; bash is in the fast suite."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from inferry.cli import inferry as group

pytestmark = pytest.mark.traces
LIMIT_S = 30


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    for name in ("inferry", "catalog"):
        (tmp_path / "bin" / name).symlink_to(Path(sys.executable).with_name(name))
    return os.environ | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TERM": "dumb"}


@pytest.fixture
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The shell of the test's parameter, with its script beside it."""
    told = CliRunner().invoke(group, ["completion", request.param], prog_name="inferry")
    (tmp_path / "script").write_text(told.stdout, encoding="utf-8")
    return str(request.param)


@pytest.mark.parametrize("shell", ["fish"], indirect=True)
def test_fish_completes(shell: str, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "host.json").touch()
    typed = ("inferry sea", "catalog run inferry/d", "inferry plan x --host ./ho")
    asked = "; ".join(["source script", *(f'complete -C "{each}"' for each in typed)])
    told = subprocess.run(
        [shell, "--no-config", "-c", asked], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout == "search\tFind models.\ninferry/digits\n./host.json\n"
    assert not told.stderr


@pytest.mark.parametrize("shell", ["zsh"], indirect=True)
def test_zsh_completes(shell: str, environment: dict[str, str], tmp_path: Path) -> None:
    """It completes at a terminal only."""
    (tmp_path / "host.json").touch()
    terminal, inside = pty.openpty()
    with subprocess.Popen(
        [shell, "-f", "-i"], cwd=tmp_path, env=environment, stdin=inside, stdout=inside, stderr=inside
    ) as process:
        os.close(inside)
        try:
            setup = "PS1='>'; autoload -Uz compinit; compinit -u -D; source ./script; echo rea''dy\n"
            for typed, wanted in (
                (setup, "ready"),
                ("inferry sea\t", "inferry search "),
                ("\x15catalog run inferry/d\t", "catalog run inferry/digits "),
                ("\x15inferry plan x --host ./ho\t", "inferry plan x --host ./host.json "),
            ):
                os.write(terminal, typed.encode())
                assert wanted in read(terminal, wanted)
        finally:
            process.kill()
            os.close(terminal)


def read(terminal: int, until: str) -> str:
    """Return what is written until a text is among it, or the limit is over."""
    told, end = "", time.monotonic() + LIMIT_S
    while until not in told and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            told += os.read(terminal, 4096).decode()
    return told
