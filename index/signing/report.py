"""Report: what is wrong with an index, file by file, and which files were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    _T = TypeVar("_T")


class Problem(NamedTuple):
    """What is wrong with one file."""

    file: str
    """Below the folder of the index, with ``/``."""
    message: str


class Report:
    """Collects what is wrong, and goes on."""

    def __init__(self, folder: Path) -> None:
        """Tell files by where they lie in ``folder``."""
        self.folder = folder
        self.problems: list[Problem] = []
        self.named: set[str] = set()
        """The files that something names."""

    def wrong(self, file: Path, message: str) -> None:
        """Say what is wrong with a file."""
        self.problems.append(Problem(self._told(file), message))

    def read(self, file: Path, made: Callable[[bytes], _T]) -> _T | None:
        """Return what is made of a file's bytes; ``None``, once that was said, where it is missing or wrong."""
        return self.hold(file, lambda path: made(path.read_bytes()))

    def hold(self, file: Path, made: Callable[[Path], _T]) -> _T | None:
        """Return what is made of a file; ``None``, once that was said, where it is missing or wrong."""
        self.named.add(self._told(file))
        try:
            return made(file)
        except FileNotFoundError:
            self.wrong(file, "is not there")
        except OSError as error:
            self.wrong(file, f"cannot be read: {error.strerror or error}")
        except Error as error:
            self.wrong(file, error.message)
        return None

    def files(self) -> list[str]:
        """Return every file that is there, and that nothing named so far."""
        there = (self._told(each) for each in self.folder.rglob("*") if not each.is_dir())
        return sorted(each for each in there if each not in self.named)

    def _told(self, file: Path) -> str:
        return file.relative_to(self.folder).as_posix()
