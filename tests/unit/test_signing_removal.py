"""A release or a model is taken out: first signed, then what nothing else names is deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.errors import InvalidName, MachineError, ModelNotFound, VersionNotFound
from inferry.catalog.values.model import Release
from inferry.index import files, wire
from inferry.index.signing import place
from inferry.index.signing.lifecycle import mark
from inferry.index.signing.removal import remove
from inferry.tests.indexes import NOW, World, blob, copied, empty_index, listing, seen, writes
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

CARD = {"CARD.md": b"# Adds\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model of two releases, and another, which have a file in common."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    for name, version in (("acme/add", "1.0.0"), ("acme/add", "2.0.0"), ("acme/x.add", "1.0.0")):
        folder = publish(world.model, name, version, precisions=("fp32", "fp16"), files=CARD)
        text = (folder / "manifest.toml").read_text(encoding="utf-8").replace('"Adds"', f'"Adds {version}"')
        (folder / "manifest.toml").write_text(text, encoding="utf-8")
        world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def blobs(world: World) -> set[str]:
    return {each for each in listing(world.site) if each.startswith("blobs/")}


def whole(world: World, home: Path, name: str) -> bool:
    """Return whether all that a client would follow is there."""
    document = seen(world, home, name)
    assert document
    for entry in document.releases:
        release = wire.follow(entry.document, blob(world, entry.document.digest).read_bytes(), Release)
        for variant in release.variants:
            assert all(blob(world, each.digest).exists() for each in release.files(variant))
    return True


def test_a_release_goes_with_what_it_alone_names(world: World, tmp_path: Path) -> None:
    before = blobs(world)
    it = remove(world.signer, "acme/add@2.0.0", NOW)
    assert (it.name, it.versions, it.serial, it.blobs) == ("acme/add", ("2.0.0",), 5, 3)
    assert len(before - blobs(world)) == 3
    assert it.freed_bytes > 0
    document = seen(world, tmp_path / "home")
    assert document
    assert [each.version for each in document.releases] == ["1.0.0"]
    assert document.summary == "Adds 1.0.0"
    assert whole(world, tmp_path / "home", "acme/add")
    assert whole(world, tmp_path / "home", "acme/x.add")
    assert len([each for each in (world.site / "targets/models/acme").iterdir() if each.name[65:] == "add.json"]) == 1


def test_an_older_release_leaves_the_newest_its_words(world: World, tmp_path: Path) -> None:
    remove(world.signer, "acme/add@1.0.0", NOW)
    document = seen(world, tmp_path / "home")
    assert document
    assert (document.summary, len(document.releases)) == ("Adds 2.0.0", 1)


def test_a_model_goes_whole(world: World, tmp_path: Path) -> None:
    it = remove(world.signer, "acme/add", NOW)
    assert (it.versions, it.blobs) == (("2.0.0", "1.0.0"), 6)
    assert seen(world, tmp_path / "home") is None
    assert whole(world, tmp_path / "home", "acme/x.add")
    assert [each.name[65:] for each in (world.site / "targets/models/acme").iterdir()] == ["x.add.json"]
    with world.signer.changing() as draft:
        assert [each.name for each in draft.listing().models] == ["acme/x.add"]
    last = remove(world.signer, "acme/x.add@1.0.0", NOW)
    assert last.blobs == 4
    assert blobs(world) == set()
    assert world.repository.status(NOW).models == 0


def test_the_last_release_takes_the_model_with_it(world: World, tmp_path: Path) -> None:
    for version in ("1.0.0", "2.0.0"):
        remove(world.signer, f"acme/add@{version}", NOW)
    assert seen(world, tmp_path / "home") is None


def test_what_was_yanked_can_go_too(world: World) -> None:
    mark(world.signer, "acme/add@2.0.0", "yanked", NOW, "so")
    assert remove(world.signer, "acme/add@2.0.0", NOW).blobs == 3


WRONG = {
    "no such model": ("acme/nosuch", ModelNotFound),
    "no such release": ("acme/add@3.0.0", VersionNotFound),
    "several": ("acme/add@>=1", InvalidName),
    "no version": ("acme/add@", InvalidName),
    "no name": ("add", InvalidName),
}


@pytest.mark.parametrize(("text", "error"), WRONG.values(), ids=WRONG)
def test_what_is_not_there_leaves_the_index_as_it_is(text: str, error: type[Exception], world: World) -> None:
    before = listing(world.site)
    with pytest.raises(error):
        remove(world.signer, text, NOW)
    assert listing(world.site) == before


def test_no_blob_goes_while_nobody_knows_what_others_name(world: World, tmp_path: Path) -> None:
    document = seen(world, tmp_path / "home", "acme/x.add")
    assert document
    blob(world, document.releases[0].document.digest).write_bytes(b"other")
    before = blobs(world)
    assert remove(world.signer, "acme/add", NOW).blobs == 0
    assert blobs(world) == before


def test_what_is_damaged_can_be_taken_out(world: World, tmp_path: Path) -> None:
    document = seen(world, tmp_path / "home")
    assert document
    blob(world, document.releases[0].document.digest).unlink()
    remove(world.signer, "acme/add@2.0.0", NOW)
    assert whole(world, tmp_path / "home", "acme/add")


REMOVED = 6
"""Files that are written for it: two targets, of metadata two bins, the snapshot and the timestamp."""


@pytest.mark.parametrize("crash", range(REMOVED))
def test_a_crash_before_any_write_leaves_what_was(
    crash: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        writes(patched, crash)
        with pytest.raises(MachineError, match="the disk fails"):
            remove(world.signer, "acme/add@2.0.0", NOW)
    assert whole(world, tmp_path / "home", "acme/add")
    assert remove(world.signer, "acme/add@2.0.0", NOW).blobs == 3
    assert whole(world, tmp_path / "home", "acme/add")


@pytest.mark.parametrize("crash", range(5))
def test_a_crash_after_it_leaves_blobs_that_nobody_names(
    crash: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[Path] = []
    really = files.remove

    def failing(path: Path) -> Any:
        if len(removed) == crash:
            raise OSError(5, "the disk fails")
        removed.append(path)
        really(path)

    with monkeypatch.context() as patched:
        patched.setattr(place, "remove", failing)
        with pytest.raises(MachineError, match="the disk fails"):
            remove(world.signer, "acme/add@2.0.0", NOW)
    assert whole(world, tmp_path / "home", "acme/add")
    assert whole(world, tmp_path / "home", "acme/x.add")
