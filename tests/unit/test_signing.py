"""An index that is signed here is what TUF's own client trusts, and a change is whole or did not happen."""

from __future__ import annotations

import re
import threading
from datetime import timedelta
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.errors import (
    InvalidManifest,
    MachineError,
    ModelNotFound,
    Refused,
    VerificationError,
)
from inferry.catalog.values.document import PIECE_BYTES, ModelDocument, PieceList
from inferry.catalog.values.model import Release
from inferry.index import wire
from inferry.index.signing.site import fingerprint
from inferry.tests.clients import Folder, fetched, updater
from inferry.tests.indexes import NOW, World, blob, copied, empty_index, listing, seen, signed
from inferry.tests.shelves import artifact, at, publish

if TYPE_CHECKING:
    from pathlib import Path

LATER = NOW + timedelta(hours=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An empty index."""
    return empty_index(tmp_path_factory.mktemp("an index"))


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def test_a_client_of_tuf_finds_what_was_added(world: World, tmp_path: Path) -> None:
    assert seen(world, tmp_path / "before") is None
    added = world.repository.add(world.model, NOW)
    assert (added.name, added.version, added.serial, added.new) == ("acme/add", "1.0.0", 2, True)
    document = seen(world, tmp_path / "home")
    assert document
    entry = document.releases[0]
    assert (document.name, document.summary, document.task) == ("acme/add", "Adds", "arithmetic")
    assert (entry.version, entry.license, entry.precisions) == ("1.0.0", "MIT", ("fp32", "fp16"))
    release = wire.follow(entry.document, blob(world, entry.document.digest).read_bytes(), Release)
    assert added.digest == release.digest == entry.document.digest
    assert entry.size_bytes == release.variants[0].size_bytes
    for variant in release.variants:
        assert blob(world, variant.artifact.digest).read_bytes() == (world.model / variant.artifact.path).read_bytes()


def test_it_is_served_by_any_web_server(world: World, tmp_path: Path) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has them
            """Say nothing."""

    world.repository.add(world.model, NOW)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(world.site)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        client = updater(world.site, tmp_path / "home", f"http://127.0.0.1:{server.server_port}/")
        data = fetched(client, "acme/add")
        assert data
        assert wire.decode(data, ModelDocument).name == "acme/add"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_folder_holds_only_what_may_be_handed_out(world: World) -> None:
    world.repository.add(world.model, NOW)
    bins = {f"metadata/1.bins-{digit:x}.json" for digit in range(16)}
    found = set(listing(world.site))
    metadata = {each for each in found if each.startswith("metadata/")}
    again = {each for each in metadata if each.startswith("metadata/2.bins-")}
    assert len(again) == 2
    roles = ("1.root", "1.targets", "1.models", "1.snapshot", "2.snapshot", "timestamp")
    assert metadata == bins | again | {f"metadata/{role}.json" for role in roles}
    targets = sorted(each for each in found if each.startswith("targets/"))
    assert [re.sub("[0-9a-f]{64}", "X", each) for each in targets] == [
        "targets/models/-/X.listing.json.gz",
        "targets/models/acme/X.add.json",
    ]
    rest = found - metadata - {*targets}
    assert len(rest) == 3
    assert all(each.startswith("blobs/sha256/") for each in rest)
    serial = f"{fingerprint((world.site / 'metadata/1.root.json').read_bytes())[:16]}.serial"
    assert {path.name for path in world.keys.iterdir()} == {"root.pem", "targets.pem", "online.pem", "lock", serial}


def test_who_signs_what_and_for_how_long(world: World) -> None:
    expires = world.repository.status(NOW).expires
    days = {role: (end - NOW.replace(microsecond=0)).days for role, end in expires.items()}
    assert days == {"root": 365, "targets": 365, "models": 90, "bins": 90, "snapshot": 30, "timestamp": 7}
    root, targets, models = (signed(world, f"1.{role}.json") for role in ("root", "targets", "models"))
    online = root["roles"]["timestamp"]["keyids"]
    assert root["roles"]["snapshot"]["keyids"] == online
    assert len({*online, *root["roles"]["root"]["keyids"], *root["roles"]["targets"]["keyids"]}) == 3
    assert root["consistent_snapshot"]
    (role,) = targets["delegations"]["roles"]
    assert (role["name"], role["keyids"], role["paths"], role["terminating"]) == (
        "models",
        online,
        ["models/*/*"],
        True,
    )
    bins = models["delegations"]["succinct_roles"]
    assert (bins["keyids"], bins["bit_length"], bins["name_prefix"]) == (online, 4, "bins")


def test_a_change_signs_two_bins_the_snapshot_and_the_timestamp(world: World) -> None:
    world.repository.add(world.model, NOW)
    before = listing(world.site / "metadata")
    publish(world.model, version="2.0.0")
    assert world.repository.add(world.model, LATER).serial == 3
    after = listing(world.site / "metadata")
    changed = sorted(name for name in after if before.get(name) != after[name])
    assert [name.rstrip("0123456789abcdef.json") for name in changed] == [
        "3.bins-",
        "3.bins-",
        "3.snapshot",
        "timestamp",
    ]
    assert before.keys() <= after.keys()
    assert signed(world, "timestamp.json")["expires"] == f"{LATER + timedelta(days=7):%Y-%m-%dT%H:%M:%SZ}"


def test_releases_stand_newest_first_and_the_newest_speaks(world: World, tmp_path: Path) -> None:
    for version, summary in (("1.0.0", "One"), ("2.0.0", "Two"), ("1.5.0", "Between")):
        folder = publish(tmp_path / version, version=version)
        text = (folder / "manifest.toml").read_text(encoding="utf-8").replace('"Adds"', f'"{summary}"')
        (folder / "manifest.toml").write_text(text, encoding="utf-8")
        world.repository.add(folder, NOW)
    document = seen(world, tmp_path / "home")
    assert document
    assert [each.version for each in document.releases] == ["2.0.0", "1.5.0", "1.0.0"]
    assert document.summary == "Two"


def test_a_client_that_was_here_sees_the_change(world: World, tmp_path: Path) -> None:
    world.repository.add(world.model, NOW)
    assert seen(world, tmp_path / "home")
    publish(world.model, version="2.0.0")
    world.repository.add(world.model, NOW)
    fetcher = Folder(world.site)
    data = fetched(updater(world.site, tmp_path / "home", fetcher=fetcher), "acme/add")
    assert data
    assert [each.version for each in wire.decode(data, ModelDocument).releases] == ["2.0.0", "1.0.0"]
    asked = [each for each in fetcher.asked if each.startswith("metadata/")]
    assert asked[:3] == ["metadata/2.root.json", "metadata/timestamp.json", "metadata/3.snapshot.json"]
    assert len(asked) == 4


def test_the_same_again_changes_nothing(world: World) -> None:
    world.repository.add(world.model, NOW)
    before = listing(world.site)
    again = world.repository.add(world.model, LATER)
    assert (again.serial, again.new) == (2, False)
    assert listing(world.site) == before


def test_a_version_never_gets_other_content(world: World) -> None:
    world.repository.add(world.model, NOW)
    before = listing(world.site)
    publish(world.model, precisions=("fp16",))
    with pytest.raises(Refused, match=r"acme/add 1\.0\.0 is in the index with other content"):
        world.repository.add(world.model, NOW)
    assert listing(world.site) == before


def bent(model: Path) -> None:
    (model / "fp16.onnx").write_bytes(b"other bytes")


def longer(model: Path) -> None:
    (model / "fp16.onnx").write_bytes((model / "fp16.onnx").read_bytes() + b"!")


def gone(model: Path) -> None:
    (model / "fp16.onnx").unlink()


def no_manifest(model: Path) -> None:
    (model / "manifest.toml").unlink()


def nothing(model: Path) -> None:
    for each in model.iterdir():
        each.unlink()


def no_toml(model: Path) -> None:
    (model / "manifest.toml").write_bytes(b"name =")


def no_text(model: Path) -> None:
    (model / "manifest.toml").write_bytes(b"\xff")


def may_not(model: Path) -> None:
    publish(model, redistribution="forbidden")


def nobody_said(model: Path) -> None:
    publish(model, redistribution="unknown")


BAD = [
    (bent, VerificationError, 5),
    (longer, VerificationError, 5),
    (gone, MachineError, 10),
    (no_manifest, InvalidManifest, 9),
    (nothing, ModelNotFound, 3),
    (no_toml, InvalidManifest, 9),
    (no_text, InvalidManifest, 9),
    (may_not, Refused, 8),
    (nobody_said, Refused, 8),
]


@pytest.mark.parametrize(("make", "error", "code"), BAD, ids=[each[0].__name__ for each in BAD])
def test_what_is_wrong_with_a_model_leaves_the_index_as_it_is(
    make: Any, error: type[Exception], code: int, world: World
) -> None:
    make(world.model)
    before = listing(world.site)
    with pytest.raises(error) as raised:
        world.repository.add(world.model, NOW)
    assert getattr(raised.value, "exit_code", 0) == code
    assert listing(world.site) == before


def test_what_others_may_not_hand_on_is_only_named(world: World, tmp_path: Path) -> None:
    publish(world.model, redistribution="forbidden", locations=at("https://acme.example/add.onnx"))
    world.repository.add(world.model, NOW)
    document = seen(world, tmp_path / "home")
    assert document
    link = document.releases[0].document
    release = wire.follow(link, blob(world, link.digest).read_bytes(), Release)
    assert release.variants[0].artifact.locations
    assert not blob(world, release.variants[0].artifact.digest).exists()


def test_a_large_file_has_a_piece_list(world: World, tmp_path: Path) -> None:
    large = bytes(PIECE_BYTES) + b"and more"
    (world.model / "large.md").write_bytes(large)
    text = (world.model / "manifest.toml").read_text(encoding="utf-8")
    card = artifact("large.md", large, ', redistribution = "allowed"')
    (world.model / "manifest.toml").write_text(f"card = {card}\n{text}", encoding="utf-8")
    world.repository.add(world.model, NOW)
    document = seen(world, tmp_path / "home")
    assert document
    link = document.releases[0].document
    card_of = wire.follow(link, blob(world, link.digest).read_bytes(), Release).card
    assert card_of
    assert card_of.pieces
    listed = wire.follow(card_of.pieces, blob(world, card_of.pieces.digest).read_bytes(), PieceList)
    assert (listed.artifact.digest, len(listed.sha256)) == (card_of.digest, 2)
    assert blob(world, card_of.digest).read_bytes() == large
