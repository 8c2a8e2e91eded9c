"""What holds for every test: none writes into the home folder of whoever runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inferry.catalog.settings import VARIABLES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one folder for all tests of a process, so that ONNX Runtime is asked once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(home))
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
