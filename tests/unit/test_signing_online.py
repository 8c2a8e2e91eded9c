"""What every online key of an index may try, and cannot: speak for EP packages."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pytest
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import DelegatedRole, Delegations, MetaFile, Root, TargetFile

from inferry.catalog.errors import (
    Error,
)
from inferry.catalog.values.document import EpDocument
from inferry.index import wire
from inferry.index.signing import roles
from inferry.tests.forgeries import Forger
from inferry.tests.indexes import World, copied

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tuf.api.metadata import Targets
from inferry.tests.owners import FORGED, PATH, found, ours, owned_index


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with a model, and an EP package whose owner's key lies beside the others."""
    return owned_index(tmp_path_factory.mktemp("an index"))


@pytest.fixture
def world(made: World, tmp_path: Path) -> World:
    """A copy of it."""
    return copied(made, tmp_path)


def _a_bin_tells_it(it: Forger) -> None:
    for name in ("bins-0", "bins-1"):
        it.replace(name, _with_forged(it, name), it.key("online"))


def _models_tells_it(it: Forger) -> None:
    it.replace("models", _with_forged(it, "models"), it.key("online"))


def _models_delegates_it(it: Forger) -> None:
    key = it.key("online").public_key
    signed = it.role("models")
    role = DelegatedRole("mine", [key.keyid], 1, terminating=True, paths=["ep/acme/*"])
    signed.delegations = Delegations({key.keyid: key}, {"mine": role})
    snapshot = it.snapshot()
    snapshot.meta["mine.json"] = MetaFile(1)
    it.stamp(snapshot)
    mine = _with_forged(it, "bins-0")
    mine.version = 1
    it.write("1.mine.json", mine, it.key("online"))
    it.replace("models", signed, it.key("online"))


def _the_owners_role(it: Forger) -> None:
    it.replace("ep-acme", _with_forged(it, "ep-acme"), it.key("online"))


def _the_top_role(it: Forger) -> None:
    signed = it.role("targets")
    assert signed.delegations
    assert signed.delegations.roles
    key = it.key("online").public_key
    signed.delegations.keys[key.keyid] = key
    signed.delegations.roles["ep-acme"].keyids = [key.keyid]
    it.replace("targets", signed, it.key("online"))
    _the_owners_role(it)


def _the_root(it: Forger) -> None:
    root: Root = it.signed("1.root.json")
    root.version = 2
    root.add_key(it.key("online").public_key, "targets")
    it.write("2.root.json", root, it.key("online"))
    _the_top_role(it)


def _as_if_nobody_owned_it(it: Forger) -> None:
    snapshot = it.snapshot()
    del snapshot.meta["ep-acme.json"]
    it.stamp(snapshot)
    _a_bin_tells_it(it)


def _with_forged(it: Forger, name: str) -> Targets:
    told = TargetFile.from_data(PATH, FORGED, ["sha256"])
    (it.world.site / f"targets/ep/acme/{told.hashes['sha256']}.fast.json").write_bytes(FORGED)
    signed = it.role(name)
    signed.targets[PATH] = told
    return signed


TRIES: Final[dict[str, Callable[[Forger], None]]] = {
    "a bin tells it": _a_bin_tells_it,
    "models tells it": _models_tells_it,
    "models delegates it": _models_delegates_it,
    "in the owner's place": _the_owners_role,
    "in the place of targets": _the_top_role,
    "in the place of root": _the_root,
    "the owner's role is kept back": _as_if_nobody_owned_it,
}


def test_there_is_one_online_key(world: World) -> None:
    it = Forger(world)
    root, models = it.signed("1.root.json"), it.role("models").delegations
    assert models
    assert models.succinct_roles
    to_models = roles.delegations(it.role("targets"))["models"]
    named = [root.roles["timestamp"].keyids, root.roles["snapshot"].keyids, to_models.keyids]
    assert [*named, models.succinct_roles.keyids] == [[it.key("online").public_key.keyid]] * 4


@pytest.mark.parametrize("known", [False, True], ids=["new client", "client that knew it"])
@pytest.mark.parametrize("forge", TRIES.values(), ids=TRIES)
def test_no_online_key_speaks_for_it(
    forge: Callable[[Forger], None], *, known: bool, world: World, tmp_path: Path
) -> None:
    home, trust = tmp_path / "theirs", ours(world, tmp_path / "ours")

    def asked_again() -> bytes | None:
        trust.refresh()
        return trust.document(PATH)

    if known:
        assert found(world, home) == trust.document(PATH)
    forge(Forger(world))
    for ask in (partial(found, world, home), asked_again):
        try:
            told = ask()
        except (RepositoryError, Error):
            continue
        assert told
        assert told != FORGED
        assert wire.decode(told, EpDocument).ep == "FastExecutionProvider"
