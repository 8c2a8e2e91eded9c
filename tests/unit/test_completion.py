"""Words are completed as shells ask for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from inferry.cli import COMMANDS, inferry as group
from inferry.runtime.commands.completion import PROGRAMS, SHELLS


def script(shell: str) -> str:
    told = CliRunner().invoke(group, ["completion", shell], prog_name="inferry")
    assert told.exit_code == 0
    return told.stdout


WORDS = {
    "": [*COMMANDS],
    "s": ["search", "show", "source"],
    "cache ": ["gc", "list", "remove", "verify"],
    "nosuch ": [*COMMANDS],
    "plan x --pol": ["--policy"],
    "completion ": [*SHELLS],
    "run inferry/d": ["inferry/digits"],
    "plan x --ep openv": ["openvino"],
    "search --ep Web": ["WebGpuExecutionProvider"],
    "search --device nv": ["nvidia"],
    "doctor inferry/d": ["inferry/digits"],
    "cache remove ": [],
    "config get limits.": ["limits.model_size", "limits.store_size"],
    "plan x --policy prefer-": ["prefer-cpu", "prefer-gpu", "prefer-npu"],
    "pull x --channel p": ["preview"],
    "run x --precision int": ["int8", "int4"],
}


@pytest.mark.parametrize(("typed", "wanted"), WORDS.items(), ids=repr)
def test_the_program_answers_what_bash_asks(typed: str, wanted: list[str]) -> None:
    words = f"inferry {typed}"
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_INFERRY_COMPLETE": "bash_complete"}
    told = subprocess.run(
        [sys.executable, "-m", "inferry"], env=os.environ | asked, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == [f"plain,{word}" for word in wanted]
    assert not told.stderr


@pytest.mark.parametrize("typed", ["plan x --host la", "run ./mod", "run x --output o", "devices --save x"])
def test_files_are_left_to_the_shell(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = f"inferry {typed}"
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    told = CliRunner().invoke(group, [], prog_name="inferry", env={"_INFERRY_COMPLETE": "bash_complete"})
    assert told.stdout == f"file,{typed.rpartition(' ')[2]}\n"


def test_what_was_pulled_is_offered_for_removal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path))
    assert CliRunner().invoke(group, ["pull", "inferry/digits"]).exit_code == 0
    monkeypatch.setenv("COMP_WORDS", "inferry cache remove inf")
    monkeypatch.setenv("COMP_CWORD", "3")
    told = CliRunner().invoke(group, [], prog_name="inferry", env={"_INFERRY_COMPLETE": "bash_complete"})
    assert told.stdout == "plain,inferry/digits\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_serves_both_names(shell: str) -> None:
    text = script(shell)
    assert f"{shell}_complete" in text
    assert "_INFERRY_COMPLETE" in text
    assert "_CATALOG_COMPLETE" not in text
    assert all(f"_{name}_completion" in text or f"-CommandName {name} " in text for name in PROGRAMS)
    told = CliRunner().invoke(group, ["completion", shell, "--json"], prog_name="inferry")
    document = json.loads(told.stdout)
    assert (document["shell"], document["script"].rstrip()) == (shell, text.rstrip())


# Windows has one that knows nothing of this Python.
if sys.platform != "win32" and (bash := shutil.which("bash")):

    @pytest.mark.parametrize("name", PROGRAMS)
    def test_bash_completes(name: str, tmp_path: Path) -> None:
        (tmp_path / "script").write_text(script("bash"), encoding="utf-8", newline="\n")
        ask = f"source ./script; COMP_WORDS=({name} sea); COMP_CWORD=1; _{name}_completion {name}; echo $COMPREPLY"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        told = subprocess.run(
            [str(bash), "--norc", "-c", ask],
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout == "search\n"
