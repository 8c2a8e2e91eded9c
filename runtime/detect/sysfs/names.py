"""Names of PCI devices, from the pci.ids list where the system has one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .tree import LONGEST, clean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .tree import Tree

LISTS: Final = ("usr/share/hwdata/pci.ids", "usr/share/misc/pci.ids")
LIMIT: Final = 2**22
"""Bytes read of it; in 2026 it has 1.6 million."""
_NEXT: Final = re.compile(rb"\n(?=[0-9a-fC])")


class Name(NamedTuple):
    """A device's name, with its vendor's, and the list that has it."""

    text: str
    origin: str


def names(tree: Tree, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Name]:
    """Return the names of those ``wanted``, by vendor and device id, that the first list at hand knows."""
    wanted = set(wanted)
    if not wanted:
        return {}
    path, data = next(((path, data) for path in LISTS if (data := tree.data(path, LIMIT))), ("", b""))
    data = b"\n" + data
    found: dict[tuple[str, str], Name] = {}
    for vendor, device in wanted:
        # A vendor's line begins with its id; its devices follow, each after a tab, up to the next line without one.
        begin = data.find(b"\n%s  " % vendor.encode())
        end = _NEXT.search(data, begin + 1) if begin >= 0 else None
        at = data.find(b"\n\t%s  " % device.encode(), begin, end.start() if end else None) if begin >= 0 else -1
        if at >= 0 and (told := clean(f"{_rest(data, begin + 7)} {_rest(data, at + 8)}")):
            found[vendor, device] = Name(told, f"/{path}")
    return found


def _rest(data: bytes, begin: int) -> str:
    """Return what follows on the same line."""
    return data[begin : begin + LONGEST].partition(b"\n")[0].decode(errors="replace")
