"""Search over plain files: one signed listing tells what there is."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Unpack

import pytest

from inferry.catalog.errors import NetworkError, StaleSource, VerificationError
from inferry.index.client.sources import Wish
from inferry.index.client.transport import Transport
from inferry.tests.indexes import NOW, World, copied, empty_index
from inferry.tests.servers import serving
from inferry.tests.shelves import publish
from inferry.tests.sites import NAME, Site, hand_out, run

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from inferry.runtime.finding import Filters


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with two models."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    world.repository.add(publish(world.model.parent / "large", "beta/large", precisions=("int8",)), NOW)
    return world


@pytest.fixture
def site(made: World, tmp_path: Path) -> Generator[Site]:
    """A copy of it behind a server, set up as a source."""
    world = copied(made, tmp_path)
    with serving(lambda request, _: hand_out(world.site, request)) as served:
        site = Site(world, served, tmp_path / "home")
        site.add()
        yield site


def names(site: Site, query: str = "", **filters: Unpack[Filters]) -> list[str]:
    return [each.name for each in site.client.search(query, **filters)]


def test_one_document_tells_all_models(site: Site) -> None:
    assert names(site) == [NAME, "beta/large", "inferry/digits"]
    assert not [each for each in site.asked if "acme" in each or "beta" in each]
    assert names(site, "lar") == ["beta/large"]
    assert [each.rpartition("/")[2] for each in site.asked] == ["2.root.json", "timestamp.json"]
    assert names(site, precision="int8") == ["beta/large", "inferry/digits"]
    assert names(site, source="site") == [NAME, "beta/large"]
    assert names(site, source=site.url) == [NAME, "beta/large"]
    found = site.client.search("add", source="site")[0]
    assert (found.version, found.license, found.precisions, found.source) == ("1.0.0", "MIT", ("fp32", "fp16"), "site")


def test_what_it_shows_changes_with_the_index(site: Site) -> None:
    assert names(site, "acme") == [NAME]
    site.publish("2.0.0")
    assert site.client.search("acme")[0].version == "2.0.0"
    for version in ("1.0.0", "2.0.0"):
        site.mark(version, "yanked")
    assert names(site, "acme") == []


def test_without_the_network_it_finds_what_was_listed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    assert names(site) == ["inferry/digits"]
    monkeypatch.delenv("INFERRY_OFFLINE")
    assert names(site, "lar") == ["beta/large"]
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    site.served.asked.clear()
    assert names(site, "lar") == ["beta/large"]
    assert not site.asked


def test_an_index_that_cannot_be_reached_is_passed_over_with_a_warning(site: Site) -> None:
    shutil.rmtree(site.world.site / "metadata")
    with pytest.warns(StaleSource, match=r"site lists what it did before"):
        assert names(site) == ["inferry/digits"]
    with pytest.raises(NetworkError):
        names(site, source="site")
    told = run(site, "search")
    assert (told.exit_code, told.stderr.count("warning: ")) == (0, 1)


def test_what_fits_is_looked_up(site: Site) -> None:
    assert [each.name for each in site.client.search("large", fits=True)] == ["beta/large"]
    assert [each for each in site.asked if "beta" in each]
    assert site.client.search("large", ep="cuda") == []


def test_a_namespace_of_another_source_is_not_listed(site: Site, tmp_path: Path) -> None:
    other = empty_index(tmp_path / "second")
    other.repository.add(publish(tmp_path / "newer", version="9.0.0"), NOW)
    other.repository.add(publish(tmp_path / "gamma", "gamma/x"), NOW)
    root = other.site / "metadata/1.root.json"
    site.sources().add(Wish(str(other.site), name="second", root=root, namespaces=("acme",)), Transport())
    assert {each.name: (each.version, each.source) for each in site.client.search()} == {
        NAME: ("9.0.0", "second"),
        "beta/large": ("1.0.0", "site"),
        "inferry/digits": ("1.0.0", "built-in"),
    }


def test_a_listing_that_was_changed_is_refused(site: Site) -> None:
    for file in (site.world.site / "targets/models/-").glob("*.listing.json.gz"):
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(VerificationError):
        names(site)
