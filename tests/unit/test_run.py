"""``inferry run``: what it prints, and how it fails."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from inferry.cli import inferry as group

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, ["run", *arguments], prog_name="inferry")


def test_data_on_stdout_words_on_stderr() -> None:
    told = run("inferry/digits")
    assert told.exit_code == 0
    assert re.fullmatch(r"7  \d\d\.\d%\n|7  100\.0%\n", told.stdout)
    assert told.stderr == (
        "input image: the model's own sample\nran inferry/digits 1.0.0 fp32 on cpu: CPUExecutionProvider, 10 nodes\n"
    )


FAILURES = {
    "unknown": (
        ["inferry/digist"],
        3,
        "no source knows the model `inferry/digist`\nhint: did you mean inferry/digits?",
    ),
    "no name": (["dig its"], 2, "`dig its` is not a model's name\nhint: write namespace/name"),
    "no value": (["inferry/digits", "--input", "image"], 2, "--input image: write NAME=VALUE"),
    "unknown input": (
        ["inferry/digits", "--input", "a=b"],
        2,
        "has no input `a`, only `image`\nhint: try: inferry run inferry/digits\n",
    ),
    "no file": (["inferry/digits", "--input", "image=nosuch.png"], 2, "nosuch.png cannot be read"),
    "no picture": (["inferry/digits", "--input", f"image={__file__}"], 2, "no picture that can be read"),
}


@pytest.mark.parametrize(("arguments", "code", "words"), FAILURES.values(), ids=FAILURES)
def test_failures_say_what_to_do(arguments: list[str], code: int, words: str) -> None:
    told = run(*arguments)
    assert told.exit_code == code
    assert told.stderr.startswith("error: ")
    assert words in told.stderr
    assert not told.stdout


def test_without_onnx_runtime_it_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    told = run("inferry/digits")
    assert told.exit_code == 7
    assert told.stderr == (
        'error: ONNX Runtime is not installed in this environment\nhint: pip install "inferry[cpu]"\n'
    )


def test_what_an_uninstalled_onnx_runtime_left_behind_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two distributions of one module: uninstalling either leaves a folder without code."""
    (tmp_path / "onnxruntime" / "capi").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxruntime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    told = run("inferry/digits")
    assert told.exit_code == 7
    assert "left behind" in told.stderr
    assert "new environment" in told.stderr


def test_without_pillow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    told = run("inferry/digits")
    assert told.exit_code == 7
    assert 'hint: pip install "inferry[image]"' in told.stderr


def test_ctrl_c_while_onnx_runtime_is_imported_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    class Native:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "onnxruntime":
                error = ImportError("initialization failed")
                raise error from KeyboardInterrupt()

    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxruntime"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Native(), *sys.meta_path])
    assert run("inferry/digits").exit_code == 130


def test_ctrl_c_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("inferry.runtime.client.Client.load", interrupted)
    told = run("inferry/digits")
    assert told.exit_code == 130
    assert told.stderr == "interrupted\n"
