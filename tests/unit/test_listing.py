"""The listing: what it tells of a model, in how many bytes, and what is none."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import InvalidDocument, InvalidName
from inferry.catalog.synonyms import KINDS
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.document import ModelDocument, ModelEntry
from inferry.catalog.values.link import Link
from inferry.catalog.values.listing import Listed, Listing
from inferry.catalog.values.names import ModelName
from inferry.index import wire
from inferry.index.listing import PATH, decode_listing, encode_listing, listed, with_model
from inferry.tests.clients import updater
from inferry.tests.indexes import NOW, World, copied, empty_index, listing as files
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from inferry.catalog.values.document import Status
    from inferry.catalog.values.version import Channel

LINK = Link(digest=Digest.of(b"!"), size_bytes=1)


def document(*releases: tuple[str, Status, Channel], name: str = "acme/add") -> ModelDocument:
    entries = tuple(
        ModelEntry(
            version=version,
            document=LINK,
            channel=channel,
            status=status,
            reason="" if status == "current" else "so",
            license="MIT",
            precisions=("fp32",),
            size_bytes=7,
        )
        for version, status, channel in releases
    )
    return ModelDocument(name=ModelName(name), task="arithmetic", summary="Adds", releases=entries)


SHOWN = {
    "the newest": ((("2.0", "current", "stable"), ("1.0", "current", "stable")), "2.0"),
    "a stable one": ((("2.0", "current", "preview"), ("1.0", "current", "stable")), "1.0"),
    "a current one": ((("2.0", "deprecated", "stable"), ("1.0", "current", "stable")), "1.0"),
    "a deprecated one": ((("2.0", "yanked", "stable"), ("1.0", "deprecated", "stable")), "1.0"),
    "a preview": ((("2.0", "revoked", "stable"), ("1.0", "current", "preview")), "1.0"),
    "none": ((("2.0", "revoked", "stable"), ("1.0", "yanked", "stable")), None),
}


@pytest.mark.parametrize(("releases", "version"), SHOWN.values(), ids=SHOWN)
def test_which_release_is_shown(releases: tuple[tuple[str, Status, Channel], ...], version: str | None) -> None:
    told = listed(document(*releases))
    assert (told.version if told else None) == version
    if told:
        assert told.channel == next(channel for each, _, channel in releases if each == version)


def test_it_is_made_of_one_document_after_the_other() -> None:
    made = Listing(models=())
    for name in ("acme/c", "acme/a", "zeta/b", "acme/b", "acme/a"):
        made = with_model(made, ModelName(name), document(("1.0", "current", "stable"), name=name))
    assert [each.name for each in made.models] == ["acme/a", "acme/b", "acme/c", "zeta/b"]
    made = with_model(made, ModelName("acme/b"), document(("1.0", "yanked", "stable"), name="acme/b"))
    made = with_model(made, ModelName("zeta/b"), None)
    made = with_model(made, ModelName("zeta/nosuch"), None)
    assert [each.name for each in made.models] == ["acme/a", "acme/c"]
    assert decode_listing(encode_listing(made)) == made


def test_a_model_takes_at_most_200_bytes() -> None:
    draw = random.Random(7)
    words = sorted({word for kind in KINDS for group in (*kind.names, kind.words) for word in group.split()})
    names = sorted({f"{draw.choice(words)}-labs/{draw.choice(words)}-{draw.randrange(10**6)}" for _ in range(3000)})
    models = tuple(
        Listed(
            name=ModelName.parse(name),
            version=f"{draw.randrange(9)}.{draw.randrange(30)}.{draw.randrange(9)}",
            task="-".join(draw.sample(words, 2)),
            summary=" ".join(draw.choices(words, k=draw.randrange(6, 18))).capitalize(),
            license=draw.choice(["MIT", "Apache-2.0", "BSD-3-Clause", "LicenseRef-Proprietary"]),
            precisions=tuple(draw.sample(["fp32", "fp16", "int8", "int4"], draw.randrange(1, 4))),
            size_bytes=draw.randrange(10**10),
        )
        for name in names
    )
    data = encode_listing(Listing(models=models))
    assert len(data) / len(models) <= 200
    assert encode_listing(decode_listing(data)) == data
    assert gzip.decompress(data) == wire.encode(Listing(models=models))


def of(told: bytes) -> bytes:
    return gzip.compress(told, mtime=0)


GOOD = encode_listing(Listing(models=()))
BAD = {
    "no gzip": (b"noise", "incorrect header"),
    "nothing": (b"", "cut short"),
    "zlib alone": (zlib.compress(b"{}"), "incorrect header"),
    "cut short": (GOOD[:-1], "cut short"),
    "damaged": (GOOD[:-8] + bytes(8), "incorrect"),
    "more after it": (GOOD + b"!", "1 bytes follow its end"),
    "another after it": (GOOD + GOOD, "follow its end"),
    "no JSON": (of(b"{"), "no Listing"),
    "not canonical": (of(b'{ "models":[]}'), "canonical"),
    "a list": (of(b"[]"), "no Listing"),
    "no models": (of(b'{"models":7}'), "no Listing"),
    "half a model": (of(b'{"models":[{"name":"acme/a"}]}'), "no Listing"),
}


@pytest.mark.parametrize(("data", "words"), BAD.values(), ids=BAD)
def test_what_is_no_listing_is_told(data: bytes, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words):
        decode_listing(data)


def test_a_bomb_is_not_decompressed(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = of(bytes(5_000_000))
    assert len(bomb) < 10_000
    monkeypatch.setitem(wire.LIMITS, Listing, 1_000_000)
    with pytest.raises(InvalidDocument, match="may have 1,000,000 bytes, and this has more"):
        decode_listing(bomb)


def test_a_listing_out_of_order_is_none() -> None:
    one, two = (document(("1.0", "current", "stable"), name=f"acme/{name}") for name in "ba")
    made = [listed(each) for each in (one, two, two)]
    for models in (made[:2], made[1:]):
        with pytest.raises(ValueError, match="models: acme/a stands after"):
            Listing(models=tuple(each for each in models if each))


def test_what_newer_writers_add_is_passed_over() -> None:
    data = b'{"models":[{"license":"MIT","more":[1],"name":"acme/a","precisions":["fp32"],"size_bytes":1,'
    data += b'"summary":"Adds","task":"arithmetic","version":"1.0"}],"more":{}}'
    assert [each.name for each in decode_listing(of(data)).models] == ["acme/a"]


def test_it_lies_in_no_namespace() -> None:
    _, namespace, name = PATH.split("/")
    for spelled in (f"{namespace}/{name}", f"{namespace}/listing", "-/-"):
        with pytest.raises(InvalidName):
            ModelName.parse(spelled)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An empty index."""
    return empty_index(tmp_path_factory.mktemp("an index"))


def seen(world: World, home: Path) -> list[tuple[str, str]]:
    client = updater(world.site, home)
    told = client.get_targetinfo(PATH)
    if not told:
        return []
    data = Path(client.download_target(told)).read_bytes()
    return [(each.name, each.version) for each in decode_listing(data).models]


def test_every_change_signs_it_and_the_two_newest_stay(made: World, tmp_path: Path) -> None:
    world = copied(made, tmp_path)
    assert seen(world, tmp_path / "home") == []
    names: list[set[str]] = []
    for number, (name, version) in enumerate((("b", "1.0"), ("a", "1.0"), ("a", "2.0"), ("a", "1.5"))):
        world.repository.add(publish(tmp_path / f"{number}", f"acme/{name}", version), NOW)
        names.append({each for each in files(world.site) if each.endswith(".listing.json.gz")})
    assert seen(world, tmp_path / "home") == [("acme/a", "2.0"), ("acme/b", "1.0")]
    assert [len(each) for each in names] == [1, 2, 2, 2]
    assert names[3] == names[2]
    assert len([each for each in files(world.site) if each.endswith(".a.json")]) == 2
