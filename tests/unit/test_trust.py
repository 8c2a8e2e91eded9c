"""Whatever an index is turned into, it is refused, and nothing of it stays."""

from __future__ import annotations

from concurrent.futures.thread import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import InvalidDocument, NetworkError, VerificationError
from inferry.catalog.settings import Effective
from inferry.catalog.values.names import parse_request
from inferry.index.client.library import Library
from inferry.index.client.source import Asked
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.settings import Machine
from inferry.tests.forgeries import DOCUMENTS, FORGERIES, NAME, Case, Forger, rotate, two_releases
from inferry.tests.indexes import NOW, World, copied, empty_index, listing
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path


class Reader:
    """A user who has set up an index in a folder."""

    def __init__(self, site: Path, home: Path) -> None:
        self.home = home
        self.list = SourceList(Machine(home / "machine"), Effective, home)
        self.list.add(Wish(str(site), name="site", root=site / "metadata/1.root.json"), Transport())

    def version(self, name: str = NAME, *, offline: str = "") -> str:
        """Return what somebody new finds."""
        library = Library((), lambda: self.home / "data", self.list.allowed)
        found = library.find(Asked(parse_request(name), anew=True, offline=offline)).release
        assert found
        return found.version

    def documents(self) -> dict[str, bytes]:
        return {name: data for name, data in listing(self.home / "data").items() if "metadata/" not in name}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with two releases of a model."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    two_releases(world)
    return world


@pytest.fixture
def forger(made: World, tmp_path: Path) -> Forger:
    """A copy of it, and its keys."""
    return Forger(copied(made, tmp_path))


@pytest.mark.parametrize("case", FORGERIES.values(), ids=FORGERIES)
def test_what_is_not_signed_as_it_must_be_is_refused(forger: Forger, tmp_path: Path, case: Case) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    assert reader.version() == "1.1.0"
    known, around = reader.documents(), {path.name for path in tmp_path.iterdir()}
    case.forge(forger)
    for _ in range(2):
        with pytest.raises(VerificationError, match=case.words):
            reader.version()
        assert reader.documents() == known
    assert {path.name for path in tmp_path.iterdir()} == around
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_symlink()]


@pytest.mark.parametrize("case", DOCUMENTS.values(), ids=DOCUMENTS)
def test_what_is_signed_must_be_what_it_is_named(forger: Forger, tmp_path: Path, case: Case) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    assert reader.version(f"{NAME}@=1.0.0") == "1.0.0"
    case.forge(forger)
    with pytest.raises((VerificationError, InvalidDocument), match=case.words):
        reader.version()
    assert not (tmp_path / "home/data/models").exists()


def test_a_root_that_the_old_one_signed_is_followed(forger: Forger, tmp_path: Path) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    rotate(forger)
    assert reader.version() == "1.1.0"
    rotate(forger)
    rotate(forger)
    assert reader.version() == "1.1.0"
    again = Reader(forger.world.site, tmp_path / "other")
    assert again.version() == "1.1.0"


def test_what_is_withheld_is_not_there(forger: Forger, tmp_path: Path) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    assert reader.version() == "1.1.0"
    forger.world.repository.add(publish(tmp_path / "third", version="1.2.0"), NOW)
    forger.document().unlink()
    with pytest.raises(NetworkError, match="there is no file"):
        reader.version()


def test_it_goes_on_where_nothing_is_wrong_any_more(forger: Forger, tmp_path: Path) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    path = forger.metadata / "timestamp.json"
    data = path.read_bytes()
    FORGERIES["a timestamp without an end"].forge(forger)
    with pytest.raises(VerificationError):
        reader.version()
    path.write_bytes(data)
    assert reader.version() == "1.1.0"


def test_what_was_known_and_was_damaged_here_comes_again(forger: Forger, tmp_path: Path) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    assert reader.version() == "1.1.0"
    known = reader.documents()
    for name in known:
        path = tmp_path / "home/data" / name
        if path.suffix == ".json" and path.name != "pinned.json":
            path.write_bytes(b"noise")
    assert reader.version() == "1.1.0"
    assert reader.documents() == known


def test_threads_share_what_is_known(forger: Forger, tmp_path: Path) -> None:
    reader = Reader(forger.world.site, tmp_path / "home")
    with ThreadPoolExecutor(4) as pool:
        assert {*pool.map(reader.version, [NAME] * 8)} == {"1.1.0"}
