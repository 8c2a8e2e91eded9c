"""An index that grows gets more bins, and clients that knew it before follow."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inferry.index.signing import roles
from inferry.index.signing.checking import check
from inferry.tests.clients import fetched, updater
from inferry.tests.indexes import NOW, World, empty_index, seen, signed
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return empty_index(tmp_path)


def test_bins_become_more_when_they_are_full(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.repository.add(world.model, NOW)
    assert fetched(updater(world.site, tmp_path / "home"), "acme/add")
    monkeypatch.setattr(roles, "FULL", 1)
    for place in range(16):
        world.repository.add(publish(tmp_path / f"m{place}", f"acme/m{place}"), NOW)
    told = signed(world, "2.models.json")["delegations"]["succinct_roles"]
    assert (told["bit_length"], told["name_prefix"]) == (7, "bins")
    assert check(world.site, NOW).problems == ()
    assert world.repository.status(NOW).models == 17
    for name in ("acme/add", "acme/m0", "acme/m15"):
        assert fetched(updater(world.site, tmp_path / "home"), name)
        assert seen(world, tmp_path / "new", name)
    world.repository.add(publish(tmp_path / "m0", "acme/m0", version="2.0.0"), NOW)
    document = seen(world, tmp_path / "home", "acme/m0")
    assert document
    assert [each.version for each in document.releases] == ["2.0.0", "1.0.0"]
    assert check(world.site, NOW).problems == ()


def test_there_are_4096_at_most() -> None:
    from tuf.api.metadata import SuccinctRoles

    def bins(bits: int) -> SuccinctRoles:
        return SuccinctRoles(["0" * 64], 1, bits, "bins")

    def more(bits: int, targets: int) -> int | None:
        made = roles.more_bins(bins(bits), targets)
        return made.number_of_bins if made else None

    assert more(4, 8192) is None
    assert more(4, 8193) == 128
    assert more(7, 65_536) is None
    assert more(7, 65_537) == 1024
    assert more(10, 524_289) == 4096
    assert more(12, 10**7) is None
