"""What is wrong with a source, and what its answers are not allowed to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.errors import InvalidManifest, InvalidSettings, NotFoundError, UsageError, VerificationError
from inferry.catalog.manifest import read_manifest
from inferry.catalog.settings import parse_settings
from inferry.index.client.sources import read_sources
from inferry.index.files import hash_file
from inferry.tests.indexes import NOW, World, blob, copied, empty_index, listing, seen
from inferry.tests.servers import serving
from inferry.tests.sites import NAME, Site, hand_out, run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with one model."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def site(made: World, tmp_path: Path) -> Generator[Site]:
    """A copy of it behind a server; nobody has set it up."""
    world = copied(made, tmp_path)
    with serving(lambda request, _: hand_out(world.site, request)) as served:
        yield Site(world, served, tmp_path / "home")


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no fingerprint, and nobody to ask": ({"fingerprint": None}, UsageError, "nobody says by which root"),
    "another fingerprint": ({"fingerprint": "0" * 64}, VerificationError, "no root of this index has the fingerprint"),
    "a fingerprint that is none": ({"fingerprint": "abc"}, UsageError, "fingerprint: it is not 64 lower-case"),
    "a password": ({"url": "https://me:secret@models.example.org/"}, UsageError, "a user or a password"),
    "a query": ({"url": "https://models.example.org/?token=1"}, UsageError, "is not the address of an index"),
    "another scheme": ({"url": "ftp://models.example.org/"}, UsageError, "is not the address of an index"),
    "a space": ({"url": "https://models.example.org/a b"}, UsageError, "a letter that no address has"),
    "a port that is none": ({"url": "https://models.example.org:x/"}, UsageError, "is not the address of an index"),
    "a name that is none": ({"name": "a/b"}, UsageError, "is no name for a source"),
    "the name of the built-in one": ({"name": "built-in"}, UsageError, "is no name for a source"),
    "a namespace that is none": ({"namespaces": ("a/b",)}, UsageError, r"namespaces\[0\]: `a/b`"),
    "a folder without an index": ({"url": "."}, NotFoundError, "holds no index"),
}


@pytest.mark.parametrize(("wish", "kind", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_one_is_told_and_nothing_is_set_up(
    site: Site, wish: dict[str, Any], kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site.world.model)
    with pytest.raises(kind, match=words):
        site.add(**wish)
    assert not site.sources().all()


def test_an_address_that_is_no_index_says_so(site: Site) -> None:
    with pytest.raises(NotFoundError, match=r"/metadata/ holds no index") as caught:
        site.add(url=f"{site.url}metadata/")
    assert caught.value.hints() == ("give the address of the folder that holds `metadata`",)


def test_a_file_that_is_wrong_is_named(site: Site) -> None:
    site.add()
    file = site.home / "config/sources.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("name = ", "nmae = "), encoding="utf-8")
    with pytest.raises(InvalidSettings, match=r"sources\.toml: .*nmae"):
        site.client.find(NAME)


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "9" * 5000], ids=["nested", "a long number"])
def test_what_is_no_toml_is_no_bug(text: str) -> None:
    for read, kind in (
        (read_manifest, InvalidManifest),
        (parse_settings, InvalidSettings),
        (read_sources, InvalidSettings),
    ):
        with pytest.raises(kind, match=r"^here: "):
            read(text, where="here")


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "another byte": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "cut": lambda data: data[:-1],
    "longer": lambda data: data + bytes(1),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("which", ["the artifact", "the release document"])
def test_a_blob_that_was_changed_leaves_nothing_behind(
    site: Site, which: str, change: Callable[[bytes], bytes]
) -> None:
    site.add()
    document = seen(site.world, site.world.site.parent / "theirs")
    assert document
    release = blob(site.world, document.releases[0].document.digest)
    artifact = site.world.model / "fp32.onnx"
    path = release if which == "the release document" else blob(site.world, hash_file(artifact))
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    for command in (("pull", NAME), ("run", NAME, "--input", "a=x")):
        told = run(site, *command)
        assert told.exit_code == 5, told.output
        assert not kept(site)
    path.write_bytes(whole)
    assert run(site, "pull", NAME).exit_code == 0
    assert kept(site)


def kept(site: Site) -> set[str]:
    """Return what a user has of models: blobs, whole or not, records and documents."""
    rooms = ("data/store/blobs/", "data/store/partial/", "data/models/")
    return {name for name in listing(site.home) if name.startswith(rooms)}
