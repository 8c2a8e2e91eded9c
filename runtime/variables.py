"""Environment variables: those that a child process keeps, and those that keep libraries from telling what is done.

It imports the standard library only, as ``child.py`` does.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

QUIET: Final = {"ORT_DISABLE_TELEMETRY": "ONNX Runtime", "HF_HUB_DISABLE_TELEMETRY": "huggingface-hub"}
"""What turns telemetry off, and whose."""


def variables(names: Collection[str]) -> dict[str, str]:
    """Return this process's environment variables that have one of these names; ``*`` in a name stands for any end."""
    return {name: value for name, value in os.environ.items() if any(fnmatchcase(name, each) for each in names)}
