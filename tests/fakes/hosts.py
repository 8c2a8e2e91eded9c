"""Machines as folders: their /proc and /sys, recorded or rebuilt from what was published of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from inferry.catalog.values.host import Host

if TYPE_CHECKING:
    from collections.abc import Mapping

HOSTS = Path(__file__).parents[1] / "assets/hosts"
NAMES = sorted(file.stem for file in HOSTS.glob("*.json"))


class RecordedHost(NamedTuple):
    """A machine, and what must be found out about it."""

    root: Path
    how: str
    """``recorded``, from the machine itself, or ``rebuilt``."""
    origin: str
    files: Mapping[str, str | Mapping[str, str]]
    expected: Host
    """Without origins; the processor's features are those that its cpuinfo lists."""


def plant(root: Path, files: Mapping[str, str | Mapping[str, str]]) -> None:
    """Write ``files`` below ``root``: by path a text, or the target of a symbolic link."""
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            file.write_bytes(content.encode())
        else:
            file.symlink_to(content["link"])


def recorded(name: str, root: Path) -> RecordedHost:
    """Return the machine ``name`` with its files below ``root``."""
    told: dict[str, Any] = json.loads((HOSTS / f"{name}.json").read_text(encoding="utf-8"))
    plant(root, told["files"])
    return RecordedHost(root, told["how"], told["origin"], told["files"], msgspec.convert(told["expected"], Host))
