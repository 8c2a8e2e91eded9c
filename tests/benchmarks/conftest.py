"""What the tests of figures measure goes into one file."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def figures() -> Iterator[dict[str, dict[str, Any]]]:
    """Whatever the tests measure; written once all have run."""
    measured: dict[str, dict[str, Any]] = {}
    yield measured
    told = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "python": platform.python_version(),
        "figures": measured,
    }
    text = json.dumps(told, indent=2) + "\n"
    (HERE / "figures.json").write_text(text, encoding="utf-8", newline="\n")
    print(text)  # noqa: T201 - a lane runs in a clone of its own
