"""How words look in a terminal: wrapped at its width, with a little colour; nothing of it where they go elsewhere."""

from __future__ import annotations

import os
import re
import textwrap
from typing import TYPE_CHECKING, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from ..catalog.values.answer import Told

_RESET: Final = "\x1b[0m"
_BOLD: Final = "\x1b[1m"
_DIM: Final = "\x1b[2m"
_RED: Final = "\x1b[1;31m"
_MARKS: Final = {"error:": _RED, "hint:": _DIM}
_REJECTED: Final = "no: "
_COMMAND: Final = "try: "
_NEXT_COLUMN: Final = re.compile(r"(?<=\S)  +(?=\S)")
_UNKNOWN: Final = 80
_ANSI_CONSOLES: Final = ("WT_SESSION", "TERM_PROGRAM", "TERM")
"""The variables of Windows' consoles that understand the codes; the oldest one prints them."""


class Face(NamedTuple):
    """The look of one stream."""

    width: int | None
    """Lines that are longer are wrapped; ``None`` wraps none."""
    colour: bool

    @classmethod
    def of(cls, stream: TextIO | None) -> Self:
        """Return the look that a stream takes: none, if it is no terminal."""
        width = width_of(stream)
        return cls(width, width is not None and takes_colour(os.environ, windows=os.name == "nt"))

    def lines(self, lines: Iterable[str], told: Told) -> list[str]:
        """Return lines as they are printed, each with the codes that it needs alone."""
        if told == "data":
            return list(lines)
        return [line for place, words in enumerate(lines) for line in self._lines(words, told, first=place == 0)]

    def _lines(self, words: str, told: Told, *, first: bool) -> list[str]:
        shown = [line for part in words.split("\n") for line in self._wrapped(part)]
        if not self.colour:
            return shown
        if told == "ranking":
            code = _BOLD if first else _DIM if words.startswith(_REJECTED) else ""
            return [f"{code}{line}{_RESET}" if code else line for line in shown]
        mark = words.partition(" ")[0]
        if told == "failure" and mark in _MARKS:
            shown[0] = f"{_MARKS[mark]}{mark}{_RESET}{shown[0].removeprefix(mark)}"
        return shown

    def _wrapped(self, line: str) -> list[str]:
        """Return a line in parts. A single word, such as an address, stays whole: what is broken can't be followed."""
        if self.width is None or len(line) <= self.width or line.startswith(_COMMAND):  # half a command would be run
            return [line]
        parts = textwrap.wrap(
            line,
            self.width,
            subsequent_indent=" " * _hang(line, self.width),
            break_long_words=False,
            break_on_hyphens=False,
            expand_tabs=False,
            replace_whitespace=False,
        )
        return parts or [""]


def width_of(stream: TextIO | None) -> int | None:
    """Return how many letters a line of the terminal has; ``None`` where the stream leads elsewhere."""
    if stream is None or not stream.isatty():  # an app without a console has no streams
        return None
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _UNKNOWN
    except OSError:
        return _UNKNOWN


def takes_colour(environment: Mapping[str, str], *, windows: bool) -> bool:
    """Return whether a terminal is to be coloured: unless ``NO_COLOR`` says something, or it cannot show it."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    return not windows or any(name in environment for name in _ANSI_CONSOLES)


def _hang(line: str, width: int) -> int:
    """Return where a line goes on: below its last column that begins in the left half, else two letters in."""
    indent = len(line) - len(line.lstrip(" "))
    columns = [found.end() for found in _NEXT_COLUMN.finditer(line) if found.end() <= width // 2]
    return columns[-1] if columns else min(indent + 2, width // 2)
