"""Documents on the wire: what each kind must be, what newer writers may add, and what is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from inferry.catalog.errors import InvalidDocument, VerificationError
from inferry.catalog.manifest import read_manifest
from inferry.catalog.values import canonical
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.document import PIECE_BYTES, ModelDocument, ModelEntry, PieceList
from inferry.catalog.values.link import Link
from inferry.catalog.values.model import Release
from inferry.catalog.values.names import ModelName
from inferry.catalog.values.package import EpRelease
from inferry.index import wire
from inferry.index.client.source import BUILT_IN
from inferry.tests.catalogs import STOCK

MANIFEST = BUILT_IN / "inferry/digits/manifest.toml"
DIGITS = read_manifest(MANIFEST.read_text(encoding="utf-8"), where=str(MANIFEST))
ENTRY = ModelEntry(
    version="1.0.0", document=wire.link(wire.encode(DIGITS)), license="MIT", precisions=("fp32",), size_bytes=7
)
PACKAGE = ModelDocument(name=ModelName("acme/add"), task="sum", summary="Adds.", releases=(ENTRY,))


def told(document: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(canonical.encode(document))
    return found


def again(document: dict[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_what_a_release_says_travels_whole() -> None:
    data = wire.encode(DIGITS)
    assert wire.follow(wire.link(data), data, Release) == DIGITS
    assert wire.link(data) == Link(digest=DIGITS.digest, size_bytes=len(data))
    ep = STOCK.releases[0]
    assert wire.decode(wire.encode(ep), EpRelease) == ep


def test_keys_that_are_not_known_are_passed_over() -> None:
    document: dict[str, Any] = {**told(DIGITS), "colour": "blue"}
    document["variants"][0]["artifact"]["smell"] = {"a": [1]}
    document["inputs"][0]["picture"]["mood"] = "good"
    assert wire.decode(again(document), Release) == DIGITS


def test_what_requires_more_than_is_understood_is_left_out() -> None:
    document = told(DIGITS)
    (first, *others) = document["variants"]
    first["requires"] = {"source": "a test", "moon": "full"}
    assert [each.name for each in wire.decode(again(document), Release).variants] == [each["name"] for each in others]
    first["requires"] = {"source": "a test", "devices": [{"kind": "gpu", "phase": "new"}]}
    assert len(wire.decode(again(document), Release).variants) == len(others)
    document["variants"] = [first]
    with pytest.raises(InvalidDocument, match="variants: a release has at least one") as caught:
        wire.decode(again(document), Release)
    assert caught.value.hints() == ("update inferry, if a newer one wrote it",)
    of_ep = told(STOCK.releases[0])
    (build,) = of_ep["builds"]
    of_ep["builds"] = [build | {"requires": build["requires"] | {"moon": "full"}}, build]
    assert wire.decode(again(of_ep), EpRelease) == STOCK.releases[0]


def test_a_kind_of_location_that_is_not_known_is_left_out() -> None:
    document = told(DIGITS)
    near = {"kind": "url", "url": "https://example.org/a"}
    document["variants"][0]["artifact"]["locations"] = [{"kind": "carrier-pigeon", "loft": 3}, near]
    (found,) = wire.decode(again(document), Release).variants[0].artifact.locations
    assert canonical.encode(found) == again(near)


def entry(**more: Any) -> dict[str, Any]:
    return told(ENTRY) | more


LINK = told(ENTRY.document)
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no release": ({"releases": []}, "releases: a package has at least one"),
    "one twice": ({"releases": [entry(), entry()]}, "releases: 1.0.0 is told twice"),
    "no version": ({"releases": [entry(version="v1")]}, "`v1` is no version"),
    "no name": ({"name": "Acme"}, "Acme"),
    "yanked for nothing": ({"releases": [entry(status="yanked")]}, "nobody says why 1.0.0 is yanked"),
    "no status": ({"releases": [entry(status="gone", reason="x")]}, "Invalid enum value 'gone'"),
    "no digest": ({"releases": [entry(document=LINK | {"digest": "sha256:0"})]}, "is not a digest"),
    "no size": ({"releases": [entry(document=LINK | {"size_bytes": 0})]}, "is the size of no document"),
    "a text for a number": ({"releases": [entry(size_bytes="7")]}, "Expected `int`, got `str`"),
    "a list": ({"task": ["sum"]}, "Expected `str`, got `array`"),
}


@pytest.mark.parametrize(("changes", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        wire.decode(again(told(PACKAGE) | changes), ModelDocument)
    assert words in caught.value.message


BYTES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"name":"\xff"}',
    "half a character": b'{"name":"\\ud800"}',
    "a list": b"[]",
    "nested": b"[" * 30_000 + b"]" * 30_000,
    "a key twice": b'{"name":"acme/add",' + again(told(PACKAGE))[1:],
    "white space": json.dumps(told(PACKAGE)).encode(),
    "not a number": again(told(PACKAGE)).replace(b":7,", b":NaN,"),
    "other order": again(told(PACKAGE) | {"zz": 1}).replace(b',"zz":1', b"").replace(b"{", b'{"zz":1,', 1),
}


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES)
def test_bytes_that_are_no_document_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidDocument, match="this is no ModelDocument"):
        wire.decode(data, ModelDocument)


def test_one_that_is_too_large_is_refused() -> None:
    long = ModelDocument(name=PACKAGE.name, task="sum", summary="x" * 64_000, releases=(ENTRY,))
    words = r"a ModelDocument may have 64,000 bytes, and this has 64,\d+"
    with pytest.raises(InvalidDocument, match=words):
        wire.encode(long)
    with pytest.raises(InvalidDocument, match=words):
        wire.decode(canonical.encode(long), ModelDocument)


def test_a_package_of_two_hundred_releases_has_room() -> None:
    many = tuple(
        ModelEntry(version=f"1.{place}.0", document=ENTRY.document, license="MIT", precisions=("fp32",), size_bytes=7)
        for place in range(200)
    )
    assert len(wire.encode(ModelDocument(name=PACKAGE.name, task="sum", summary="Adds.", releases=many))) < 64_000


def test_another_document_than_the_one_that_is_named_is_refused() -> None:
    data = wire.encode(PACKAGE)
    for other in (data[:-1], data + b"\n", data.replace(b"sum", b"mus")):
        with pytest.raises(VerificationError, match="is another document"):
            wire.follow(wire.link(data), other, ModelDocument)


@pytest.mark.parametrize("size", [1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1])
def test_pieces(size: int) -> None:
    data = b"abcdefg" * (size // 7 + 1)
    data = data[:size]
    found = wire.pieces([data[:3], b"", data[3:]])
    whole = Link(digest=Digest.of(data), size_bytes=size)
    parts = (data[place : place + PIECE_BYTES] for place in range(0, size, PIECE_BYTES))
    assert found == PieceList(artifact=whole, sha256=tuple(sha256(part).hexdigest() for part in parts))
    assert wire.decode(wire.encode(found), PieceList) == found


def test_piece_lists_that_are_none() -> None:
    with pytest.raises(InvalidDocument, match="without a byte"):
        wire.pieces([b""])
    link = Link(digest=Digest.of(b"a"), size_bytes=PIECE_BYTES + 1)
    with pytest.raises(ValueError, match="1 digests for an artifact of 2 pieces"):
        PieceList(artifact=link, sha256=("0" * 64,))
    with pytest.raises(ValueError, match="the one at place 1 is not"):
        PieceList(artifact=link, sha256=("0" * 64, "A" * 64))
