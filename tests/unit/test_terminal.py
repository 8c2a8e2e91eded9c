"""What the command line prints where somebody looks: wrapped, with a little colour, and nothing lost."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from inferry.cli import inferry as group
from inferry.index.client.source import BUILT_IN
from inferry.runtime.terminal import Face, takes_colour, width_of

if TYPE_CHECKING:
    from inferry.catalog.values.answer import Told

CASES = Path(__file__).parents[1] / "cases"
CODE = re.compile(r"\x1b\[[\d;]*m")
LINES = 36
PLAIN = Face(20, colour=False)

WRAPPED = {
    "it fits": ("twenty letters, good", ["twenty letters, good"]),
    "a sentence": ("one letter more, and on", ["one letter more, and", "  on"]),
    "as it is indented": ("    one letter more, too", ["    one letter more,", "      too"]),
    "below the last column on the left": (
        "  fp16  Conv, Cast, Gemm, Relu",
        ["  fp16  Conv, Cast,", "        Gemm, Relu"],
    ),
    "not below a column on the right": ("a lengthy cell  and one", ["a lengthy cell  and", "  one"]),
    "columns stay apart": ("a  b  c  d  e  f  g  h", ["a  b  c  d  e  f  g", "         h"]),
    "an address stays whole": (
        "see https://example.org/a/b, page 2",
        ["see", "  https://example.org/a/b,", "  page 2"],
    ),
    "hyphens stay together": ("not broken at onnx-runtime", ["not broken at", "  onnx-runtime"]),
    "a command stays whole": ("try: inferry run ./model.onnx", ["try: inferry run ./model.onnx"]),
    "lines of their own": (
        "error: one\n  two letters more, and on",
        ["error: one", "  two letters more,", "    and on"],
    ),
    "nothing": ("", [""]),
    "only spaces": (" " * 30, [""]),
}


@pytest.mark.parametrize(("line", "shown"), WRAPPED.values(), ids=WRAPPED)
def test_how_a_line_is_wrapped(line: str, shown: list[str]) -> None:
    assert PLAIN.lines([line], "words") == shown


@settings(deadline=None)
@given(st.text("ab:- \n", max_size=60), st.integers(1, 30))
def test_no_word_is_lost_and_no_line_is_longer(text: str, width: int) -> None:
    shown = Face(width, colour=False).lines([text], "words")
    assert [word for line in shown for word in line.split()] == text.split()
    assert all(len(line) <= width or len(line.split()) == 1 for line in shown)


COLOURED: dict[str, tuple[Told, list[str], list[str]]] = {
    "data": ("data", ["no: a line of data that is long"], ["no: a line of data that is long"]),
    "words": ("words", ["error: no", "no: error"], ["error: no", "no: error"]),
    "what was chosen, and what was not": (
        "ranking",
        ["fp32 on cpu, the best of all", "second: fp16", "no: fp16 on gpu, it has none"],
        [
            "\x1b[1mfp32 on cpu, the\x1b[0m",
            "\x1b[1m  best of all\x1b[0m",
            "second: fp16",
            "\x1b[2mno: fp16 on gpu, it\x1b[0m",
            "\x1b[2m  has none\x1b[0m",
        ],
    ),
    "a failure": (
        "failure",
        ["error: there is nothing", "hint: look"],
        ["\x1b[1;31merror:\x1b[0m there is", "  nothing", "\x1b[2mhint:\x1b[0m look"],
    ),
    "interrupted": ("failure", ["interrupted"], ["interrupted"]),
}


@pytest.mark.parametrize(("told", "lines", "shown"), COLOURED.values(), ids=COLOURED)
def test_what_is_coloured(told: Told, lines: list[str], shown: list[str]) -> None:
    assert Face(20, colour=True).lines(lines, told) == shown
    assert PLAIN.lines(lines, told) == [CODE.sub("", line) for line in shown]
    assert Face(None, colour=False).lines(lines, told) == lines


TERMINALS: dict[str, tuple[dict[str, str], bool, bool]] = {
    "any": ({"TERM": "xterm-256color"}, False, True),
    "without a name": ({}, False, True),
    "NO_COLOR": ({"NO_COLOR": "1", "TERM": "xterm"}, False, False),
    "NO_COLOR that says no": ({"NO_COLOR": "0"}, False, False),
    "NO_COLOR that is empty": ({"NO_COLOR": ""}, False, True),
    "dumb": ({"TERM": "dumb"}, False, False),
    "Windows' oldest": ({}, True, False),
    "Windows Terminal": ({"WT_SESSION": "0"}, True, True),
    "Windows Terminal with NO_COLOR": ({"WT_SESSION": "0", "NO_COLOR": "1"}, True, False),
}


@pytest.mark.parametrize(("environment", "windows", "takes"), TERMINALS.values(), ids=TERMINALS)
def test_which_terminals_are_coloured(environment: dict[str, str], *, windows: bool, takes: bool) -> None:
    assert takes_colour(environment, windows=windows) is takes


class Screen(io.StringIO):
    """A terminal that has no file of the system."""

    def isatty(self) -> bool:
        return True


WIDTHS = {"told": ("100", 100), "not told": ("", 80), "no number": ("wide", 80), "nothing": ("0", 80)}


@pytest.mark.parametrize(("columns", "width"), WIDTHS.values(), ids=WIDTHS)
def test_how_wide_a_terminal_is(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert width_of(Screen()) == width
    assert width_of(io.StringIO()) is None
    assert width_of(None) is None
    assert Face.of(io.StringIO()) == (None, False)


# Windows has no pseudo-terminals that Python opens.
if sys.platform != "win32":
    COMMANDS = {
        "help": ("--help",),
        "search": ("search", "digit"),
        "show": ("show", "inferry/digits"),
        "check": ("check", str(BUILT_IN / "inferry/digits")),
        "plan": ("plan", "inferry/digits", "--explain", "--host", str(CASES / "resolve/hybrid-laptop.json")),
        "error": ("plan", "inferry/digits", "--device", "a device whose name is", "--explian"),
        "long error": ("show", "inferry/digits@" + "1 or another, " * 10),
        "document": ("run", "inferry/digits", "--json", "--nosuch"),
    }
    LOOKS = {"colour": {"TERM": "xterm"}, "NO_COLOR": {"TERM": "xterm", "NO_COLOR": "1"}, "dumb": {"TERM": "dumb"}}
    SHOTS = [(name, width, look) for name in COMMANDS for width in (80, 120) for look in LOOKS]
    PROGRAM = """
import fcntl, json, os, struct, sys, termios
from inferry.cli import inferry
for arguments, width, look in json.loads(sys.argv[1]):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        os.environ.pop(name, None)
    os.environ.update(look)
    try:
        inferry(arguments, prog_name="inferry")
    except SystemExit:
        print(end="\\0", flush=True)
"""

    Shots = dict[tuple[str, int, str], str]

    @pytest.fixture(scope="module")
    def shots(home: Path) -> Shots:
        """What each command prints at each width, by one process in one terminal."""
        screen, inside = os.openpty()
        asked = json.dumps([(COMMANDS[name], width, LOOKS[look]) for name, width, look in SHOTS])
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, asked],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env=os.environ | {"INFERRY_HOME": str(home)},
        ):
            os.close(inside)
            told = b""
            # At the end Linux has an error, macOS nothing more.
            try:
                while part := os.read(screen, 65536):
                    told += part
            except OSError:
                pass
        os.close(screen)
        pages = told.decode().replace("\r\n", "\n").split("\0")
        return dict(zip(SHOTS, pages[:-1], strict=True))

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_terminal_shows_all_that_a_pipe_gets(name: str, shots: Shots) -> None:
        piped = CliRunner().invoke(group, COMMANDS[name], prog_name="inferry").output
        assert "\x1b" not in piped
        for width in (80, 120):
            shown = CODE.sub("", shots[name, width, "colour"])
            assert all(
                len(line) <= width or len(line.split()) == 1 for line in shown.splitlines() if name != "document"
            )
            if name == "search" and width == 80:  # a table is cut
                assert piped.startswith(shown.removesuffix("…\n"))
            else:
                assert shown.split() == piped.split()
            assert shots[name, width, "NO_COLOR"] == shots[name, width, "dumb"] == shown

    def test_what_has_colour_and_what_has_none(shots: Shots) -> None:
        for width in (80, 120):
            coloured = {name for name in COMMANDS if "\x1b" in shots[name, width, "colour"]}
            assert coloured == {"plan", "error", "long error"}
            chosen, *others = shots["plan", width, "colour"].split("\n")
            assert chosen.startswith("\x1b[1minferry/digits ")
            assert any(line.startswith("\x1b[2mno: ") for line in others)

    @pytest.mark.parametrize("width", [80, 120])
    def test_it_looks_as_it_did(width: int, shots: Shots) -> None:
        """If not, and it looks better: delete the file, and run this again."""
        text = "\n".join(_steady(shots[name, width, "colour"]) for name in COMMANDS if name != "document")
        file = CASES / f"terminal/{width}.txt"
        if not file.exists():
            file.write_text(text, encoding="utf-8")
            pytest.fail(f"{file} was made: look at it")
        assert text == file.read_text(encoding="utf-8")

    def _steady(page: str) -> str:
        """Return the beginning of a page, each version and date as long as it is, but without its numbers."""
        lines = "\n".join(page.replace("\x1b", "^").splitlines()[:LINES])
        return re.sub(r"\d+([.-]\d+)+", lambda found: "#" * len(found[0]), lines) + "\n"
