"""The table of EP packages that is part of the program: one reviewed row, a TOML file, for each package."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..catalog.manifest import read_package

if TYPE_CHECKING:
    from ..catalog.values.package import EpPackage

ROWS: Final = Path(__file__).parent


@cache
def packages() -> tuple[EpPackage, ...]:
    """Return all packages, sorted by name; raise ``InvalidManifest`` where a row is wrong."""
    return tuple(
        sorted(
            (read_package(path.read_text(encoding="utf-8"), where=str(path)) for path in ROWS.glob("*.toml")),
            key=lambda package: package.name,
        )
    )
