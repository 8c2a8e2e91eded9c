"""What is wrong with an index is found, file by file, without a key; what is right is not complained of."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from inferry.catalog.errors import NotFoundError
from inferry.catalog.values.document import PIECE_BYTES, ModelDocument
from inferry.catalog.values.listing import Listing
from inferry.catalog.values.names import ModelName
from inferry.index import listing as listings, wire
from inferry.index.signing.checking import Checked, check
from inferry.index.signing.draft import document_path
from inferry.index.signing.lifecycle import mark
from inferry.index.signing.removal import remove
from inferry.index.signing.renewal import renew, renew_offline
from inferry.tests.indexes import NOW, PASSPHRASE, World, blob, copied, empty_index, listing, signed
from inferry.tests.shelves import at, publish

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGE = bytes(PIECE_BYTES) + b"and more"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index after some of its life: models, a yanked release, renewed roles."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(publish(world.model, "acme/other"), NOW)
    world.repository.add(publish(world.model, "acme/add"), NOW)
    publish(world.model, "acme/add", "2.0.0")
    world.repository.add(world.model, NOW)
    mark(world.signer, "acme/add@1.0.0", "yanked", NOW, "so")
    renew_offline(world.signer, world.keys / "root.pem", NOW, lambda: PASSPHRASE)
    renew_offline(world.signer, world.keys / "targets.pem", NOW, lambda: PASSPHRASE)
    return world


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def found(world: World) -> Checked:
    return check(world.site, NOW)


def only(folder: Path, ending: str) -> Path:
    (path,) = (each for each in folder.rglob("*") if each.name.endswith(ending))
    return path


def newest(world: World, role: str) -> Path:
    """Return the file of a role's newest version."""
    return max((world.site / "metadata").glob(f"*.{role}.json"), key=lambda path: int(path.name.partition(".")[0]))


def bin_of(world: World, path: str) -> Path:
    """Return the file of the bin that speaks for a path."""
    with world.signer.changing() as draft:
        return newest(world, draft.state.bins.get_role_for_target(path))


def model(world: World, name: str = "acme/add") -> Path:
    """Return the file of a model's package document."""
    path = document_path(ModelName(name))
    told = json.loads(bin_of(world, path).read_bytes())["signed"]["targets"][path]
    folder, _, last = path.rpartition("/")
    return world.site / "targets" / folder / f"{told['hashes']['sha256']}.{last}"


def test_what_is_right_is_right(world: World) -> None:
    before = listing(world.site)
    it = found(world)
    assert (it.problems, it.unnamed, it.models) == ((), (), 2)
    assert listing(world.site) == before
    remove(world.signer, "acme/add@2.0.0", NOW)
    remove(world.signer, "acme/other", NOW)
    renew(world.signer, NOW + timedelta(days=61))
    assert check(world.site, NOW + timedelta(days=61))[:3] == ((), (), 1)


def test_an_index_without_models_is_right(tmp_path: Path) -> None:
    assert check(empty_index(tmp_path).site, NOW)[:3] == ((), (), 0)


def test_what_may_not_be_handed_on_is_not_expected(world: World) -> None:
    where = at("https://acme.example/add.onnx")
    publish(world.model, "acme/named", redistribution="forbidden", locations=where)
    world.repository.add(world.model, NOW)
    assert found(world)[:3] == ((), (), 3)


def test_no_index_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        check(tmp_path, NOW)


def changed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes(byte ^ 1 for byte in data[-20:-19]) + data[-19:])


def resigned(path: Path, old: bytes, new: bytes) -> None:
    """Change what a file says under signatures that no longer hold."""
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))


def of_bin(world: World) -> Path:
    return bin_of(world, "models/acme/add.json")


def release(world: World) -> Path:
    told = json.loads(model(world).read_bytes())["releases"][0]["document"]["digest"]
    return blob(world, told)


def file(world: World) -> Path:
    told = json.loads(release(world).read_bytes())["variants"][0]["artifact"]["digest"]
    return blob(world, told)


def the_listing(world: World) -> Path:
    told = signed(world, bin_of(world, listings.PATH).name)["targets"][listings.PATH]
    return world.site / "targets/models/-" / f"{told['hashes']['sha256']}.listing.json.gz"


FILES: dict[str, Callable[[World], Path]] = {
    "first root": lambda world: world.site / "metadata/1.root.json",
    "newest root": lambda world: newest(world, "root"),
    "timestamp": lambda world: world.site / "metadata/timestamp.json",
    "snapshot": lambda world: newest(world, "snapshot"),
    "targets": lambda world: newest(world, "targets"),
    "models": lambda world: newest(world, "models"),
    "bin": of_bin,
    "package document": model,
    "release document": release,
    "artifact": file,
    "listing": the_listing,
}


WAYS = [
    (how, name)
    for name in FILES
    for how in ("changed", "cut", "gone")
    # Without these it is no index, or an older one.
    if how != "gone" or name not in {"first root", "newest root", "timestamp"}
]


@pytest.mark.parametrize(("how", "name"), WAYS)
def test_every_file_is_checked(how: str, name: str, world: World) -> None:
    path = FILES[name](world)
    if how == "changed":
        changed(path)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        path.unlink()
    told = found(world).problems
    assert path.relative_to(world.site).as_posix() in {each.file for each in told}
    if name in {"package document", "release document", "artifact", "listing"}:
        assert len(told) == 1


@pytest.mark.parametrize("name", ["first root", "newest root", "timestamp", "snapshot", "targets", "models", "bin"])
def test_who_signed_is_checked(name: str, world: World) -> None:
    path = FILES[name](world)
    data = json.loads(path.read_bytes())
    data["signed"]["expires"] = "2099-01-01T00:00:00Z"
    path.write_bytes(json.dumps(data).encode())
    (problem,) = (each for each in found(world).problems if each.file.endswith(f"/{path.name}"))
    assert "signed" in problem.message


def test_pieces_are_checked(world: World) -> None:
    world.repository.add(publish(world.model, "acme/add", "3.0.0", files={"large.md": LARGE}), NOW)
    assert found(world).problems == ()
    card = json.loads(release(world).read_bytes())["card"]
    large, pieces = blob(world, card["digest"]), blob(world, card["pieces"]["digest"])
    changed(large)
    pieces.write_bytes(pieces.read_bytes()[:-1])
    assert {world.site / each.file for each in found(world).problems} == {large, pieces}


def test_what_expired_is_told(world: World) -> None:
    told = check(world.site, NOW + timedelta(days=31)).problems
    assert {each.file.rpartition("/")[2].split(".")[-2] for each in told} == {"snapshot", "timestamp"}
    assert all("expired on" in each.message for each in told)
    assert len(check(world.site, NOW + timedelta(days=400)).problems) == 4 + 17


def test_an_older_version_is_not_what_the_snapshot_names(world: World) -> None:
    path = of_bin(world)
    older = path.with_name(f"1.{path.name.partition('.')[2]}")
    path.write_bytes(older.read_bytes())
    (problem,) = (each for each in found(world).problems if path.name in each.file)
    assert "it holds version 1" in problem.message


def spoken(world: World, path: str, data: bytes) -> None:
    """Have a document signed that is not what it should be."""
    with world.signer.changing() as draft:
        draft._put(path, data)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        draft.publish(NOW)


def test_a_listing_that_says_other_than_the_documents(world: World) -> None:
    with world.signer.changing() as draft:
        old = draft.listing()
    one = Listing(models=old.models[:1])
    spoken(world, listings.PATH, listings.encode_listing(one))
    (problem,) = found(world).problems
    assert problem.file.endswith(".listing.json.gz")
    assert "does not tell of acme/other" in problem.message


def test_a_document_of_another_name(world: World) -> None:
    spoken(world, "models/acme/third.json", model(world).read_bytes())
    (problem,) = found(world).problems
    assert "is the package document of acme/add" in problem.message


def test_a_document_that_is_none(world: World) -> None:
    spoken(world, "models/acme/third.json", b"{}")
    (problem,) = found(world).problems
    assert "no ModelDocument" in problem.message


def test_a_bin_that_speaks_for_what_is_not_its_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    data, own = model(world).read_bytes(), of_bin(world).name
    with world.signer.changing() as draft:
        other = next(each for each in draft.state.bins.get_roles() if f".{each}." not in own)

        def elsewhere(*_: object) -> str:
            return other

        monkeypatch.setattr(type(draft.state.bins), "get_role_for_target", elsewhere)
        draft._put("models/acme/add.json", data)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        draft.publish(NOW)
    monkeypatch.undo()
    assert any(
        "speaks for models/acme/add.json, which is not its own" in each.message for each in found(world).problems
    )


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "metadata/.timestamp.json.1.2", "metadata/99.snapshot.json", f"blobs/sha256/00/{'0' * 62}"],
)
def test_files_that_nothing_names_are_only_told(name: str, world: World) -> None:
    path = world.site / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left")
    assert found(world)[:2] == ((), (name,))


def test_what_an_interrupted_change_left_is_only_told(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    publish(world.model, "acme/third")
    with monkeypatch.context() as patched:
        patched.setattr("inferry.index.signing.place.Place.write_metadata", failing)
        with pytest.raises(KeyboardInterrupt):
            world.repository.add(world.model, NOW)
    it = found(world)
    assert (it.problems, len(it.unnamed)) == ((), 3)


def test_a_release_document_of_another_model(world: World) -> None:
    document = wire.decode(model(world).read_bytes(), ModelDocument)
    other = wire.decode(model(world, "acme/other").read_bytes(), ModelDocument)
    entry = msgspec.structs.replace(document.releases[0], document=other.releases[0].document)
    bent = msgspec.structs.replace(document, releases=(entry, *document.releases[1:]))
    with world.signer.changing() as draft:
        draft.put(bent)
        draft.publish(NOW)
    assert any("is the release document of acme/other@=1.0.0" in each.message for each in found(world).problems)
