"""``inferry cache``: what is here, what of it is sound, and what goes when nobody needs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from inferry import Client
from inferry.catalog.errors import ModelNotFound, NotInstalled, UsageError, VersionNotFound
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.progress import Watch
from inferry.catalog.values.size import Size
from inferry.cli import inferry as group
from inferry.index.leases import lease
from inferry.index.locks import try_hold
from inferry.tests.shelves import adds, labelled, laid_beside, publish

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from inferry.catalog.values.progress import Progress
    from inferry.index.client.pulled import Pulled

OLD = (1_700_000_000, 1_700_000_000)
CARD = {"CARD.md": b"# Adds\n"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "a home ü"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "a shelf"
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        publish(root / version / "acme/add", version=version, precisions=("fp32", "fp16"), files=CARD)
    publish(root / "1.0.0/acme/other", "acme/other", files=CARD)
    return root


@pytest.fixture
def client(home: Path, shelf: Path) -> Client:
    """A client that pulled three versions of one model and one of another, all long ago; they share a card."""
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        Client(home=home, sources=[shelf / version]).prepare(["acme/add"])
    client = Client(home=home, sources=[shelf / "1.0.0"])
    client.prepare(["acme/other"])
    rest(home)
    return client


def rest(home: Path, times: tuple[int, int] = OLD) -> None:
    """Let all blobs have been used last long ago."""
    for path in (home / "data/store/blobs").rglob("*.json"):
        os.utime(path, times)


def pulled(client: Client) -> Pulled:
    return client._library.pulled  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def here(client: Client) -> dict[str, tuple[str, ...]]:
    return {str(each): each.variants for each in client.cache.holdings().models}


def command(*arguments: str, code: int = 0) -> dict[str, Any]:
    told = CliRunner().invoke(group, ["cache", *arguments, "--json"])
    assert told.exit_code == code, told.output
    document: dict[str, Any] = json.loads(told.stdout)
    return document


def blob(home: Path, data: bytes) -> Path:
    digest = Digest.of(data)[7:]
    return home / "data/store/blobs/sha256" / digest[:2] / digest[2:]


FP32 = {version: labelled(f"acme/add {version} fp32") for version in ("1.0.0", "1.1.0", "2.0.0")}


def test_it_lists_what_was_pulled(client: Client, home: Path, shelf: Path) -> None:
    told = client.cache.holdings()
    assert [(str(each), each.variants, each.source) for each in told.models] == [
        ("acme/add@=1.0.0", ("fp32",), str(shelf / "1.0.0")),
        ("acme/add@=1.1.0", ("fp32",), str(shelf / "1.1.0")),
        ("acme/add@=2.0.0", ("fp32",), str(shelf / "2.0.0")),
        ("acme/other@=1.0.0", ("fp32",), str(shelf / "1.0.0")),
    ]
    assert {(each.size_bytes, each.used) for each in told.models[:3]} == {
        (len(FP32["1.0.0"]) + len(CARD["CARD.md"]), OLD[0])
    }
    assert told.blobs.number == 5, "the card is one blob"
    assert told.blobs.size_bytes == sum(each.size_bytes for each in pulled(client).store.blobs())
    assert told.leases == ()
    adds(client)
    used = {str(each): each.used for each in client.cache.holdings().models}
    assert used["acme/add@=2.0.0"] > OLD[0] == used["acme/add@=1.0.0"]
    with lease(pulled(client).store, [Digest.of(FP32["1.0.0"])], "run acme/add"):
        (held,) = client.cache.holdings().leases
        assert (held.holder.pid, held.why) == (os.getpid(), "run acme/add")
    assert (home / "data").is_dir()


def test_nothing_pulled_is_nothing_written(home: Path) -> None:
    client = Client(home=home)
    assert client.cache.holdings().models == ()
    assert client.cache.verify().checked == (0, 0)
    assert client.cache.gc(dry_run=True).plan.goes == ()
    with pytest.raises(ModelNotFound):
        client.cache.remove("acme/add")
    assert not home.exists()


def test_what_is_damaged_is_named_and_fetched_again(client: Client, home: Path) -> None:
    path = blob(home, FP32["2.0.0"])
    good = path.read_bytes()
    path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    told: list[Progress] = []
    found = client.cache.verify(Watch(told.append))
    assert [each.files for each in found.damaged] == [("acme/add@=2.0.0 fp32.onnx",)]
    assert found.checked.number == 5
    assert [each.done_bytes for each in told] == sorted(each.done_bytes for each in told)
    assert told[-1].done_bytes == told[-1].total_bytes == found.checked.size_bytes
    assert {each.stage for each in told} == {"verify"}
    assert here(client)["acme/add@=2.0.0"] == ()
    with pytest.raises(NotInstalled):
        client.load("acme/add@=2.0.0", install="never")
    with client.load("acme/add") as model:
        assert model.opening.fetched_bytes == len(good)
    assert path.read_bytes() == good
    assert client.cache.verify().damaged == ()


def test_nothing_of_a_pulled_model_goes(client: Client) -> None:
    before = here(client)
    done = client.cache.gc()
    assert done.plan.goes == ()
    assert {item.why for item in done.plan.stays} == {"named"}
    assert here(client) == before


def test_over_the_limit_what_rested_longest_goes_and_its_record_is_right(client: Client, home: Path) -> None:
    rest(home)
    os.utime(blob(home, FP32["1.1.0"]).with_suffix(".json"), (OLD[0] - 60, OLD[0] - 60))
    total = client.cache.holdings().blobs.size_bytes
    serial = pulled(client).serial.read_bytes()
    planned = client.cache.gc(max_bytes=total - 1, dry_run=True)
    assert here(client)["acme/add@=1.1.0"] == ("fp32",), "a dry run removes nothing"
    done = client.cache.gc(max_bytes=total - 1)
    assert done == planned
    assert [(item.why, item.blob.digest) for item in done.plan.goes] == [("over the limit", Digest.of(FP32["1.1.0"]))]
    assert here(client) == {
        "acme/add@=1.0.0": ("fp32",),
        "acme/add@=1.1.0": (),
        "acme/add@=2.0.0": ("fp32",),
        "acme/other@=1.0.0": ("fp32",),
    }
    assert pulled(client).serial.read_bytes() != serial, "whoever remembers a choice must choose anew"
    with pytest.raises(NotInstalled, match=r"acme/add@=1\.1\.0 is not on this machine"):
        client.load("acme/add@=1.1.0", install="never")
    with client.load("acme/add@=1.1.0") as model:
        assert model.opening.fetched_bytes == len(FP32["1.1.0"])
    assert here(client)["acme/add@=1.1.0"] == ("fp32",)


def test_where_nothing_may_be_fetched_the_newest_that_is_still_here_runs(client: Client, shelf: Path) -> None:
    client.cache.remove("acme/other")
    newest = next(each for each in pulled(client).find("acme/add") if each.release and each.release.version == "2.0.0")
    store = pulled(client).store
    for blob in [*store.blobs()]:
        if newest.release and blob.digest in {each.artifact.digest for each in newest.release.variants}:
            store.drop(blob)
    with client.load("acme/add", install="never") as model:
        assert model.release
        assert model.release.version == "1.1.0"
    with pytest.raises(NotInstalled, match=r"acme/add@=2\.0\.0"):
        client.load("acme/add@2", install="never")
    with Client(home=client._home, sources=[shelf / "2.0.0"]).load("acme/add") as model:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        assert model.release
        assert model.release.version == "2.0.0"


def test_what_is_leased_or_was_just_used_stays_over_any_limit(client: Client, home: Path) -> None:
    assert adds(client, "acme/other")
    with lease(pulled(client).store, [Digest.of(FP32["1.0.0"])], "run"):
        client.cache.gc(max_bytes=0)
    assert [name for name, variants in here(client).items() if variants] == ["acme/add@=1.0.0", "acme/other@=1.0.0"]
    assert not blob(home, FP32["2.0.0"]).exists()


def test_what_was_laid_out_goes_with_its_blob(home: Path, tmp_path: Path) -> None:
    client = Client(home=home)
    client.prepare([laid_beside(tmp_path / "it")])
    (laid,) = (home / "data/models").rglob("weights.bin")
    rest(home)
    client.cache.gc()
    assert laid.exists()
    client.cache.gc(max_bytes=0)
    assert not laid.exists()
    assert list(here(client).values()) == [()]
    assert client.run("acme/shift", {"x": [1, 2]})["y"].tolist() == [2.5, 3.5]
    assert laid.exists()


def test_what_is_removed_goes_at_once_and_what_others_need_stays(client: Client, home: Path) -> None:
    rest(home, (2**31, 2**31))  # a clock that was wrong once
    done = client.cache.remove("acme/add@1")
    assert done.models == ("acme/add@=1.0.0", "acme/add@=1.1.0")
    assert done.plan.bytes_freed == 2 * len(FP32["1.0.0"])
    assert {item.why for item in done.plan.stays} == {"named"}
    assert [*here(client)] == ["acme/add@=2.0.0", "acme/other@=1.0.0"]
    assert adds(client)
    assert adds(client, "acme/other")
    assert client.cache.remove("acme/other", "acme/add", "acme/add@=2.0.0").models == (
        "acme/other@=1.0.0",
        "acme/add@=2.0.0",
    )
    assert client.cache.holdings()[:2] == ((), (0, 0))
    assert [path.name for path in (home / "data/models").iterdir() if path.is_dir()] == []


def test_of_several_names_none_goes_where_one_is_wrong(client: Client) -> None:
    before = here(client)
    with pytest.raises(ModelNotFound) as caught:
        client.cache.remove("acme/other", "acme/ad")
    assert caught.value.hints()[0] == "did you mean acme/add?"
    with pytest.raises(VersionNotFound) as missing:
        client.cache.remove("acme/other", "acme/add@3")
    assert missing.value.hints()[0] == "there is acme/add@=2.0.0"
    assert here(client) == before


def test_what_is_leased_is_forgotten_now_and_goes_later(client: Client, home: Path) -> None:
    with lease(pulled(client).store, [Digest.of(FP32["2.0.0"])], "run acme/add"):
        done = client.cache.remove("acme/add@2")
        assert [each.why for each in done.held] == ["run acme/add"]
        assert blob(home, FP32["2.0.0"]).exists()
        assert "acme/add@=2.0.0" not in here(client)
    assert [item.why for item in client.cache.gc(recent_s=-1).plan.goes] == ["no name"]
    assert not blob(home, FP32["2.0.0"]).exists()


@contextmanager
def ended_process() -> Generator[int]:
    """Yield the number of a process that has just ended."""
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.read()
        process.wait()
        yield process.pid


def test_what_dead_processes_left_is_swept(client: Client, home: Path) -> None:
    folder = next(path for path in (home / "data/models").iterdir() if path.is_dir())
    rubbish = home / "data/models/acme+gone@1.0.0"
    rubbish.mkdir()
    (rubbish / "weights.bin").write_bytes(b"x")
    with ended_process() as dead:
        wanted = [
            home / f"data/store/.store.json.{dead}.1",
            blob(home, FP32["1.0.0"]).with_name(f".{'a' * 62}.json.{dead}.140245"),
            folder / f".pulled.json.{dead}.12",
            folder / f".weights.bin.{dead}.1f2e3d",
        ]
        living = [path.with_name(path.name.replace(str(dead), str(os.getpid()))) for path in wanted]
        others = [folder / ".hidden", folder / f"weights.{dead}.1"]
        for path in (*wanted, *living, *others):
            path.write_bytes(b"half")
        assert client.cache.gc().temporaries == (), "they are young"
        assert {*client.cache.gc(recent_s=-1, dry_run=True).temporaries} == {*wanted}
        client.cache.gc(recent_s=-1)
    assert [path for path in wanted if path.exists()] == []
    assert all(path.exists() for path in (*living, *others))
    assert not rubbish.exists()


@pytest.mark.skipif(os.name == "nt", reason="filelock removes them itself")
def test_locks_of_what_is_gone_are_swept_but_not_those_that_are_held(client: Client, home: Path) -> None:
    locks = home / "data/store/locks"
    client.cache.gc()
    # Some versions of filelock remove them themselves.
    names = [Digest.of(data)[7:] for data in (FP32["1.0.0"], FP32["1.1.0"], FP32["2.0.0"])]
    for name in names:
        (locks / name).touch()
    client.cache.remove("acme/add")
    for name in names:
        (locks / name).touch()
    descriptor = try_hold(locks / names[0])
    assert descriptor is not None
    try:
        with lease(pulled(client).store, [Digest(f"sha256:{names[1]}")], "pull"):
            client.cache.gc()
            assert {path.name for path in locks.iterdir()} & {*names} == {names[0], names[1]}
    finally:
        os.close(descriptor)
    client.cache.gc()
    assert {path.name for path in locks.iterdir()} & {*names} == set()
    client.prepare(["acme/add"])
    assert adds(client)


@pytest.mark.parametrize("killed_after", range(12))
def test_a_collection_that_is_killed_leaves_records_right(killed_after: int, client: Client, home: Path) -> None:
    """Wherever it ends, what is told to be here runs, and the next one finishes."""
    script = f"""if True:
        import os
        from inferry import Client
        left, unlink = {killed_after}, os.unlink
        def killing(path, **told):
            global left
            if left == 0:
                os._exit(9)
            left -= 1
            unlink(path, **told)
        os.unlink = killing
        Client(home={str(home)!r}).cache.gc(max_bytes=0)
        """
    code = subprocess.run([sys.executable, "-c", script], check=False).returncode
    assert code in {0, 9}
    for name, variants in here(client).items():
        if variants:
            assert adds(client, name)
        else:
            with pytest.raises(NotInstalled):
                client.load(name, install="never")
    rest(home)
    client.cache.gc(max_bytes=0)
    assert client.cache.holdings().blobs == (0, 0)
    client.prepare(["acme/add"])
    assert adds(client, "acme/add@=1.0.0")


def test_the_commands(client: Client, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(home))
    told = command("list")
    assert [each["name"] for each in told["models"]] == ["acme/add"] * 3 + ["acme/other"]
    assert told["models"][0].keys() == {"name", "version", "variants", "source", "size_bytes", "used"}
    assert told["totals"]["blobs"]["number"] == 5
    with lease(pulled(client).store, [Digest.of(FP32["2.0.0"])], "run acme/add"):
        (held,) = command("list")["leases"]
        assert (held["pid"], held["why"]) == (os.getpid(), "run acme/add")
        words = CliRunner().invoke(group, ["cache", "list"]).stdout
        assert "acme/add@=2.0.0    fp32" in words
        assert f"leased by process {os.getpid()} (" in words
        removed = CliRunner().invoke(group, ["cache", "remove", "acme/add@2"])
        assert removed.stdout == "removed acme/add@=2.0.0\nfreed 0 B\n"
        assert "in use, and left to a later `inferry cache gc`: 1\n" in removed.stderr
    over = command("gc", "--max-size", "1kB", "--dry-run")
    assert over["dry_run"]
    assert {item["why"] for item in over["goes"]} == {"no name"}
    gone = CliRunner().invoke(group, ["cache", "gc"])
    assert gone.stdout.startswith("no name  ")
    assert gone.stdout.splitlines()[-1] == f"freed {len(FP32['2.0.0'])} B"
    assert gone.stderr.startswith("stays: named ")
    path = blob(home, FP32["1.0.0"])
    path.write_bytes(b"x" * len(FP32["1.0.0"]))
    damaged = command("verify", code=5)["damaged"]
    assert [each["files"] for each in damaged] == [["acme/add@=1.0.0 fp32.onnx"]]
    assert command("verify")["damaged"] == []
    assert command("remove", "acme/nosuch", code=3)["error"]["type"] == "ModelNotFound"
    assert command("gc", "--max-size", "much", code=2)["error"]["type"] == "UsageError"


SIZES = {
    "0": 0,
    "512": 512,
    "512B": 512,
    "1k": 1000,
    "500MB": 500_000_000,
    "500 mb": 500_000_000,
    "2GB": 2 * 10**9,
    "1.5TB": 15 * 10**11,
    "1GiB": 2**30,
    " 3MiB ": 3 * 2**20,
}


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_sizes(text: str, size: int) -> None:
    assert Size.parse(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "1e9", "2 G B", "2PB", "1,5GB", "٣", "1" * 99])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Size.parse(text)
    assert caught.value.hints()
