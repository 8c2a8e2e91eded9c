"""A large file that comes damaged: only the pieces that are wrong come again."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from inferry.catalog.errors import VerificationError
from inferry.catalog.values.document import PIECE_BYTES
from inferry.index import wire
from inferry.index.files import hash_file
from inferry.index.mending import mend
from inferry.tests.indexes import NOW, World, blob, empty_index, listing
from inferry.tests.servers import Answering, serving
from inferry.tests.shelves import publish
from inferry.tests.sites import NAME, Site, hand_out

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from inferry.tests.servers import Asked

DATA: Final = Random(0).randbytes(2 * PIECE_BYTES + PIECE_BYTES // 2)
"""Three pieces, the last of them half as long."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model that has a large file."""
    made = empty_index(tmp_path_factory.mktemp("an index"), bins=2)
    publish(made.model, files={"CARD.md": DATA})
    made.repository.add(made.model, NOW)
    return made


def bent(*pieces: int) -> bytes:
    data = bytearray(DATA)
    for place in pieces:
        data[place * PIECE_BYTES + 5] ^= 1
    return bytes(data)


class Bending:
    """A server that hands out the large file as each of ``told`` in turn, the last for ever."""

    def __init__(self, world: World, *told: bytes) -> None:
        self.told = [*told]
        self.large = blob(world, hash_file(world.model / "CARD.md")).relative_to(world.site).as_posix()
        self.site = world.site

    def answer(self, request: Answering, _: int) -> None:
        if request.path.lstrip("/") != self.large:
            hand_out(self.site, request)
            return
        data = self.told.pop(0) if len(self.told) > 1 else self.told[0]
        request.send_range(data)

    def starts(self, asked: list[Asked]) -> list[str]:
        """Return from where on the large file was asked for, each time."""
        return [each.headers.get("Range", "") for each in asked if each.path.lstrip("/") == self.large]


@contextmanager
def using(world: World, home: Path, bending: Bending) -> Generator[Site]:
    with serving(bending.answer) as served:
        site = Site(world, served, home)
        site.add()
        served.asked.clear()
        yield site


def partials(site: Site) -> list[str]:
    return [name for name in listing(site.home) if "/partial/" in name]


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_one_piece_comes_again(world: World, tmp_path: Path, wrong: int) -> None:
    bending = Bending(world, bent(wrong), DATA)
    with using(world, tmp_path / "home", bending) as site:
        (it,) = site.client.prepare([NAME])
        assert it.fetched_bytes > len(DATA)
        again = f"bytes={wrong * PIECE_BYTES}-" if wrong else ""
        assert bending.starts(site.served.asked) == ["", again]
        found = [data for name, data in listing(site.home).items() if "/blobs/" in name and len(data) == len(DATA)]
        assert found == [DATA]
        assert not partials(site)


def test_what_stays_damaged_is_refused(world: World, tmp_path: Path) -> None:
    bending = Bending(world, bent(1))
    with using(world, tmp_path / "home", bending) as site:
        with pytest.raises(VerificationError, match="what came is not sha256:"):
            site.client.prepare([NAME])
        assert bending.starts(site.served.asked) == ["", f"bytes={PIECE_BYTES}-"]
        assert not partials(site)
        bending.told = [DATA]
        site.client.prepare([NAME])


def test_another_file_is_not_asked_for_again(world: World, tmp_path: Path) -> None:
    bending = Bending(world, bent(0, 1))
    with using(world, tmp_path / "home", bending) as site:
        with pytest.raises(VerificationError):
            site.client.prepare([NAME])
        assert bending.starts(site.served.asked) == [""]
        assert not partials(site)


def test_what_was_kept_and_is_damaged_since_comes_again(world: World, tmp_path: Path) -> None:
    bending = Bending(world, DATA)
    with using(world, tmp_path / "home", bending) as site:
        site.client.prepare([NAME])
        (whole,) = (path for path in (site.home / "data/store/blobs").rglob("*") if _size(path) == len(DATA))
        kept = site.home / "data/store/partial" / hash_file(whole).removeprefix("sha256:")
        site.client.cache.remove(NAME)
        kept.write_bytes(bent(0)[: PIECE_BYTES + 9])
        site.served.asked.clear()
        site.client.prepare([NAME])
        assert bending.starts(site.served.asked) == [f"bytes={PIECE_BYTES + 9}-", ""]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


@pytest.mark.parametrize("change", [b"", b"{}", None], ids=["empty", "another", "gone"])
def test_pieces_that_are_not_what_the_release_names_are_not_believed(
    change: bytes | None, world: World, tmp_path: Path
) -> None:
    bending = Bending(world, bent(1), DATA)
    listed = blob(world, wire.link(wire.encode(wire.pieces([DATA]))).digest).relative_to(world.site).as_posix()

    def answer(request: Answering, place: int) -> None:
        if request.path.lstrip("/") != listed:
            bending.answer(request, place)
        elif change is None:
            request.send(b"", 404)
        else:
            request.send(change)

    with serving(answer) as served:
        site = Site(world, served, tmp_path / "home")
        site.add()
        with pytest.raises(VerificationError, match="what came is not sha256:"):
            site.client.prepare([NAME])
        assert not partials(site)


@pytest.mark.parametrize("size", [PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_the_last_piece_may_be_of_any_length(tmp_path: Path, size: int) -> None:
    data = DATA[:size] + bytes(size - len(DATA[:size]))
    listed, path = wire.pieces([data]), tmp_path / "it"
    last = (len(listed.sha256) - 1) * PIECE_BYTES

    def fetch(done: int, data: bytes) -> Iterator[bytes]:
        for start in range(done, len(data), 1_000_000):
            yield data[start : start + 1_000_000]

    wrong = data[:last] + bytes([data[last] ^ 1]) + data[last + 1 :]
    path.write_bytes(wrong)
    whole = len(listed.sha256) > 1  # one of one is more than half
    assert mend(path, partial(fetch, data=data), listed) is whole
    assert path.read_bytes() == (data if whole else wrong)
    path.write_bytes(wrong)
    assert not mend(path, partial(fetch, data=data[:-1]), listed)
    assert not mend(path, partial(fetch, data=wrong), listed)
    assert path.read_bytes() == wrong
