"""Indexes that are signed here: one with its keys and a model to add, and what lies in it."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from inferry.catalog.errors import MachineError
from inferry.catalog.values.document import ModelDocument
from inferry.index import blobs, files, wire
from inferry.index.signing import place
from inferry.index.signing.namespaces import add_namespace
from inferry.index.signing.repository import Repository
from inferry.index.signing.site import Site
from inferry.tests.clients import fetched, updater
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NOW = datetime.now(UTC)
PASSPHRASE = "a long passphrase"  # noqa: S105 - of keys that sign nothing but tests

PACKAGE: Final = """name = "acme/fast"
ep = "FastExecutionProvider"
summary = "Fast"
vendor = "Acme"
reach = "generic"
delivery = "plugin"
license = "MIT"
facts = []

[[releases]]
version = "VERSION"

[[releases.builds]]
kinds = ["gpu"]
file = "fast.whl"
size_bytes = 10
requires = { source = "Acme" }
"""
"""The manifest of an EP package."""

_HELD = ("--keys", "../home/keys")
ANSWERS: Final[dict[str, tuple[str, ...]]] = {
    "index init": ("index", "init", "made"),
    "index init with keys": ("index", "init", "made", "--keys", "keys", "--passphrase-file", "below.json"),
    "index add": ("index", "add", "site", "adder", *_HELD),
    "index add an EP package": ("index", "add", "site", "fast.toml", *_HELD),
    "index namespace add": ("index", "namespace", "add", "other", "--data", "site", *_HELD),
    "index namespace add what is there": ("index", "namespace", "add", "acme", "--data", "site", *_HELD),
    "index status": ("index", "status", "site"),
    "index sign": ("index", "sign", "site", *_HELD),
    "index sign with a key": ("index", "sign", "site", *_HELD, "--key", "../home/keys/root.pem"),
    **{
        f"index {verb}": ("index", verb, "acme/twice@1.0.0", "--reason", "so", "--data", "site", *_HELD)
        for verb in ("yank", "deprecate", "revoke")
    },
    "index remove": ("index", "remove", "site", "acme/twice@1.0.0", *_HELD),
    "index remove a model": ("index", "remove", "site", "acme/twice", *_HELD),
    "index status of data": ("index", "status", "--data", "site"),
    "index rotate": ("index", "rotate", "site", "online", *_HELD),
    "index verify": ("index", "verify", "site"),
    "index unyank": ("index", "unyank", "acme/twice@1.0.0", "--data", "site", *_HELD),
}
"""Commands that answer, where ``site`` is an index with ``acme/twice``, ``adder`` a model, and ``fast.toml`` an EP
package of the namespace ``acme``."""
FAILURES: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "no index": (3, ("index", "status", "adder")),
    "no index said": (2, ("index", "status")),
    "said twice": (2, ("index", "status", "site", "--data", "site")),
    "no such role": (2, ("index", "rotate", "site", "bins", *_HELD)),
    "nothing to verify": (3, ("index", "verify", "--data", "adder")),
    "nothing to remove": (3, ("index", "remove", "site", "acme/nosuch", *_HELD)),
    "no version": (2, ("index", "yank", "acme/twice", "--reason", "so", "--data", "site", *_HELD)),
    "no reason": (2, ("index", "revoke", "acme/twice@1.0.0", "--data", "site", *_HELD)),
    "no such release": (3, ("index", "unyank", "acme/twice@2", "--data", "site", *_HELD)),
    "not the owner": (8, ("index", "add", "site", "fast.toml", "--key", "../home/keys/online.pem", *_HELD)),
    "a key for a model": (2, ("index", "add", "site", "adder", "--key", "../home/keys/online.pem", *_HELD)),
    "an EP package to check": (2, ("check", "fast.toml")),
    "a version for an EP package": (2, ("index", "add", "site", "fast.toml", "--version", "1", *_HELD)),
    "an index already": (8, ("index", "init", "site")),
    "a folder that is not empty": (8, ("index", "init", "adder")),
    "not the files of the manifest": (5, ("index", "add", "site", "bent", *_HELD)),
}
"""Commands that fail there, each with its exit code; the model in ``bent`` is not what its manifest says."""


class World(NamedTuple):
    """An index, its keys, and a model to add."""

    site: Path
    keys: Path
    model: Path

    @property
    def repository(self) -> Repository:
        return Repository(self.site, self.keys)

    @property
    def signer(self) -> Site:
        return Site(self.site, self.keys)


def empty_index(root: Path, bins: int = 16) -> World:
    """Make an empty index below ``root``, and a model of two variants beside it."""
    world = World(root / "site", root / "keys", publish(root / "model", precisions=("fp32", "fp16")))
    world.repository.init(NOW, bins, lambda: PASSPHRASE)
    return world


def small_index(folder: Path, keys: Path) -> None:
    """Make the index ``site`` in ``folder``, with the model ``acme/twice``, and an EP package's manifest beside it.

    The passphrase lies beside its keys, and ``acme`` is a namespace of EP packages.
    """
    made = Repository(folder / "site", keys)
    made.init(NOW)
    made.add(publish(folder / "twice", "acme/twice"), NOW)
    add_namespace(Site(folder / "site", keys), "acme", NOW)
    (folder / "fast.toml").write_text(PACKAGE.replace("VERSION", "1.0.0"), encoding="utf-8")


def writes(monkeypatch: pytest.MonkeyPatch, last: int) -> list[str]:
    """Let ``last`` files be written, and the disk fail at the next one; return the list of what was written."""
    names: list[str] = []

    def failing(told: Any) -> Any:
        def write(*arguments: Any, **keywords: Any) -> Any:
            if len(names) == last:
                raise MachineError("the disk fails")
            names.append(str(arguments[told is files.replace]))
            return told(*arguments, **keywords)

        return write

    monkeypatch.setattr(place, "write_whole", failing(blobs.write_whole))
    monkeypatch.setattr(place, "replace", failing(files.replace))
    return names


def copied(world: World, root: Path) -> World:
    """Return a copy of it below ``root``."""
    copies = World(*(root / each.name for each in world))
    for old, new in zip(world, copies, strict=True):
        shutil.copytree(old, new)
    return copies


def listing(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def seen(world: World, home: Path, name: str = "acme/add") -> ModelDocument | None:
    """Return what a client that begins anew sees of a model."""
    data = fetched(updater(world.site, home), name)
    return wire.decode(data, ModelDocument) if data else None


def signed(world: World, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((world.site / "metadata" / name).read_bytes())["signed"]
    return told


def blob(world: World, digest: str) -> Path:
    digits = digest.removeprefix("sha256:")
    return world.site / "blobs/sha256" / digits[:2] / digits[2:]
