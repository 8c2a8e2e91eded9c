"""``import inferry`` costs next to nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_it_imports_nothing_but_itself(tmp_path: Path) -> None:
    """What an environment's own start-up files import does not count."""
    script = "import sys; old = set(sys.modules); import inferry; print(*sorted(set(sys.modules) - old))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.split() == ["inferry", "inferry.catalog", "inferry.catalog.version"]
