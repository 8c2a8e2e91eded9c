"""Every forgery through the command line of the public conformance suite: an index over http, and real processes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from inferry.tests.forgeries import FORGERIES, NAME, Case, Forger, two_releases
from inferry.tests.indexes import NOW, World, copied, empty_index, listing
from inferry.tests.servers import serving
from inferry.tests.sites import hand_out

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with two releases of a model."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    two_releases(world)
    return world


def client(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "inferry.index.client.conformance", "--metadata-dir", str(folder), *arguments)
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("case", FORGERIES.values(), ids=FORGERIES)
def test_it_is_refused(made: World, tmp_path: Path, case: Case) -> None:
    forger = Forger(copied(made, tmp_path))
    site, folder, out = forger.world.site, tmp_path / "metadata", tmp_path / "out"
    with serving(lambda request, _: hand_out(site, request)) as served:
        base = ("--target-base-url", f"{served.url}/targets/", "--target-dir", str(out))
        wanted = (
            "--metadata-url",
            f"{served.url}/metadata/",
            *base,
            "--target-name",
            f"models/{NAME}.json",
            "download",
        )
        assert client(folder, "init", str(site / "metadata/1.root.json")).returncode == 0
        assert client(folder, *wanted).returncode == 0
        assert [path.read_bytes() for path in out.iterdir()] == [forger.document().read_bytes()]
        known = listing(out)
        case.forge(forger)
        told = client(folder, *wanted)
        assert told.returncode == 1, told.stderr
        assert told.stderr.startswith("error: ")
        assert listing(out) == known
