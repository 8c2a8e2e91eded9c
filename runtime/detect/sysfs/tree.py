"""Files below a root folder, read with bounds: whatever cannot be read, or is no plain file, is unknown."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from ....catalog.values.host import MAX_COUNT

if TYPE_CHECKING:
    from pathlib import Path

    from ....catalog.values.host import Access

LIMIT: Final = 2**16
"""Bytes read of a file."""
MOST_NAMES: Final = 4096
"""Names read of a folder."""
LONGEST: Final = 200
"""Characters of what a file says about itself, such as a name."""


def clean(text: str | None) -> str | None:
    """Return ``text`` as one printable line of bounded length; ``None`` where nothing is left of it."""
    kept = "".join(letter if letter.isprintable() else " " for letter in (text or "")[: 4 * LONGEST])
    return " ".join(kept.split())[:LONGEST].rstrip() or None


def whole(text: str | None, base: int = 10, *, most: int = MAX_COUNT) -> int | None:
    """Return the number that ``text`` spells, from 0 to ``most``; ``None`` where it spells none."""
    word = (text or "").strip()
    try:
        # int() takes signs, underscores and digits of other scripts as well.
        number = int(word, base) if word.isascii() and word.isalnum() and len(word) <= LONGEST else -1
    except ValueError:
        return None
    return number if 0 <= number <= most else None


class Tree:
    """What lies below one folder: ``/`` of this machine, or another machine's, recorded. Paths have no first slash."""

    def __init__(self, root: Path) -> None:
        """Read below ``root``."""
        self._root = root

    def data(self, path: str, limit: int = LIMIT) -> bytes | None:
        """Return at most ``limit`` bytes of a plain file."""
        try:
            # A pipe or a device must not make anybody wait.
            handle = os.open(self._root / path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                return file.read(limit)
        except (OSError, ValueError):  # a name with a NUL in it is a ValueError
            return None

    def text(self, path: str) -> str | None:
        """Return a file's text without white space around it; what is not UTF-8 in it is replaced."""
        data = self.data(path)
        return None if data is None else data.decode(errors="replace").strip()

    def line(self, path: str) -> str | None:
        """Return what a file says as one printable line; ``None`` where it says nothing."""
        return clean(self.text(path))

    def number(self, path: str) -> int | None:
        """Return the decimal number in a file."""
        return whole(self.text(path))

    def strings(self, path: str) -> tuple[str, ...]:
        """Return the strings of a devicetree property, which end in NUL."""
        parts = (self.data(path) or b"").decode(errors="replace").split("\0")
        return tuple(kept for part in parts[:MOST_NAMES] if (kept := clean(part)))

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted; none where it cannot be listed."""
        found: list[str] = []
        try:
            with os.scandir(self._root / path) as entries:
                for entry in entries:
                    found.append(entry.name)
                    if len(found) == MOST_NAMES:
                        break
        except (OSError, ValueError):
            return ()
        return tuple(sorted(found))

    def is_folder(self, path: str) -> bool:
        """Return whether there is such a folder, and it can be looked into."""
        try:
            return (self._root / path).is_dir() and os.access(self._root / path, os.R_OK | os.X_OK)
        except (OSError, ValueError):
            return False

    def access(self, path: str) -> Access | None:
        """Return whether this process may read and write a file, without opening it; ``None`` where nobody can look.

        The folder at the top of ``path`` must be there: what was recorded of a machine may lack all of it.
        """
        if not self.is_folder(path.partition("/")[0]):
            return None
        try:
            (self._root / path).stat()
            effective = os.access in os.supports_effective_ids
            may = os.access(self._root / path, os.R_OK | os.W_OK, effective_ids=effective)
        except (FileNotFoundError, NotADirectoryError):
            return "missing"
        except PermissionError:
            return "denied"
        except (OSError, ValueError):
            return None
        return "open" if may else "denied"

    def target(self, path: str) -> str | None:
        """Return where a symbolic link points, as it is written."""
        try:
            return (self._root / path).readlink().as_posix()
        except (OSError, ValueError):
            return None
