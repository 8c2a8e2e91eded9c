"""``inferry pull`` and ``inferry.prepare``: once a model is here it runs from here, whatever happens to its source."""

from __future__ import annotations

import asyncio
import json
import shutil
from threading import Event
from typing import TYPE_CHECKING

import onnx
import pytest
from click.testing import CliRunner

from inferry import Client
from inferry.catalog.errors import (
    Error,
    NotInstalled,
    UsageError,
    VersionNotFound,
)
from inferry.cli import inferry as group
from inferry.index.client.source import BUILT_IN
from inferry.tests.servers import serving
from inferry.tests.shelves import ONES, adds, at, held, laid_beside, publish

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.progress import Progress


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "a home ü"


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    root = tmp_path / "Regal mit Modellen"
    publish(root / "acme/add", precisions=("fp32", "fp16", "int8"), files={"CARD.md": b"# Adds\n"})
    return root


def test_what_was_pulled_runs_with_its_source_gone(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    (ready,) = client.prepare(["acme/add"])
    assert (ready.model, ready.variant, ready.source) == ("acme/add@=1.0.0", "fp32", str(shelf))
    shutil.rmtree(shelf)
    assert adds(client)
    assert adds(Client(home=home))  # whoever looks, and wherever else


def test_only_what_is_missing_is_fetched(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    (first,) = client.prepare(["acme/add"])
    assert first.fetched_bytes == sum((shelf / "acme/add" / each).stat().st_size for each in ("fp32.onnx", "CARD.md"))
    before = held(home)
    assert client.prepare(["acme/add"])[0].fetched_bytes == 0
    assert held(home) == before
    (more,) = client.prepare(["acme/add"], precision="fp16")
    assert (more.variant, more.fetched_bytes) == ("fp16", (shelf / "acme/add/fp16.onnx").stat().st_size)
    assert [*before] == [path for path in held(home) if path in before]
    assert adds(client)


def test_a_load_fetches_what_is_missing_and_then_nothing(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    told: list[Progress] = []
    with client.load("acme/add", progress=told.append) as model:
        assert model.opening.fetched_bytes == told[-1].done_bytes > 0
    with client.load("acme/add", progress=told.append) as model:
        assert model.opening.fetched_bytes == 0
    # What was pulled is what runs; another variant comes where it is asked for.
    with client.load("acme/add", precision="int8") as model:
        assert model.opening.fetched_bytes == (shelf / "acme/add/int8.onnx").stat().st_size


def test_progress_goes_up_to_the_end(home: Path, shelf: Path) -> None:
    publish(shelf / "acme/large", "acme/large", files={"CARD.md": bytes(3_500_000)})
    told: list[Progress] = []
    Client(home=home, sources=[shelf]).prepare(["acme/large"], progress=told.append)
    assert [each.done_bytes for each in told] == sorted(each.done_bytes for each in told)
    assert {(each.stage, each.item) for each in told} == {("fetch", "acme/large@=1.0.0")}
    assert len(told) >= 5
    assert told[0].done_bytes == 0
    assert told[-1].done_bytes == told[-1].total_bytes > 3_500_000


def test_never_means_never(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    with pytest.raises(NotInstalled) as caught:
        client.load("acme/add", install="never")
    assert caught.value.hints() == ("inferry pull acme/add@=1.0.0", 'inferry.prepare(["acme/add@=1.0.0"])')
    assert caught.value.exit_code == 8
    client.prepare(["acme/add"])
    with pytest.raises(Error, match="nothing of acme/add"):
        client.load("acme/add", install="never", precision="int8")
    assert not list(home.rglob("partial/*"))
    with pytest.raises(UsageError, match="auto or never"):
        client.load("acme/add", install="soon")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_what_is_part_of_the_program_needs_no_pulling(home: Path) -> None:
    client = Client(home=home)
    with client.load("inferry/digits", install="never") as model:
        assert model.opening.fetched_bytes == 0
    assert not home.exists()


def test_a_folder_is_had_under_its_name_beside_other_versions(home: Path, tmp_path: Path) -> None:
    client = Client(home=home)
    one, two = publish(tmp_path / "one"), publish(tmp_path / "two", version="2.0.0")
    assert [each.source for each in client.prepare([one, str(two)])] == ["local", "local"]
    shutil.rmtree(one)
    shutil.rmtree(two)
    versions = []
    for name in ("acme/add", "acme/add@1", "acme/add@=1.0.0", "Acme/Add@>=2"):
        release = client.find(name).release
        assert release
        versions.append(release.version)
        assert adds(client, name)
    assert versions == ["2.0.0", "1.0.0", "1.0.0", "2.0.0"]
    with pytest.raises(VersionNotFound) as caught:
        client.load("acme/add@3")
    assert caught.value.hints() == ("there is acme/add@=2.0.0", "there is acme/add@=1.0.0")


def test_a_folder_that_was_changed_is_pulled_anew(home: Path, tmp_path: Path) -> None:
    client = Client(home=home)
    client.prepare([publish(tmp_path / "it")])
    client.prepare([publish(tmp_path / "it", files={"CARD.md": b"another"})])
    release = client.find("acme/add").release
    assert release
    assert release.card


def test_a_preview_that_was_pulled_is_what_runs(home: Path, tmp_path: Path) -> None:
    publish(tmp_path / "shelf/acme/add", version="3.0.0", head='channel = "preview"\n')
    client = Client(home=home, sources=[tmp_path / "shelf"])
    with pytest.raises(VersionNotFound):
        client.prepare(["acme/add"])
    client.prepare(["acme/add@preview"])
    assert adds(client)


def test_names_that_windows_keeps_for_itself(home: Path, tmp_path: Path) -> None:
    client = Client(home=home)
    client.prepare([publish(tmp_path / "it", "con/aux.nul")])
    assert adds(client, "con/aux.nul")
    folders = [path.name.partition(".")[0] for path in (home / "data/models").iterdir()]
    assert not {"con", "aux", "nul"} & {*folders}


def test_tensors_in_other_files_lie_beside_what_was_pulled(home: Path, tmp_path: Path) -> None:
    folder = laid_beside(tmp_path / "it")
    client = Client(home=home)
    wanted = client.run(folder, {"x": [1, 2]})["y"].tolist()
    client.prepare([folder])
    shutil.rmtree(folder)
    assert client.run("acme/shift", {"x": [1, 2]})["y"].tolist() == wanted
    (laid,) = (home / "data/models").rglob("weights.bin")
    laid.unlink()
    assert client.run("acme/shift", {"x": [1, 2]}, install="never")["y"].tolist() == wanted


def test_a_location_of_this_machine_is_fetched_from(home: Path, tmp_path: Path) -> None:
    folder = publish(tmp_path / "mit Leerzeichen ü", locations="")
    elsewhere = tmp_path / "elsewhere ü.onnx"
    url = elsewhere.as_uri()
    client = Client(home=home)
    with serving(lambda it, _: it.send(b"", 404)) as server:
        publish(folder, locations=f"{at(f'{server.url}/x')}, {at(url)}")
        (folder / "fp32.onnx").rename(elsewhere)
        assert client.prepare([folder])[0].fetched_bytes == elsewhere.stat().st_size
    assert [each.path for each in server.asked] == ["/x"]
    elsewhere.write_bytes(b"changed")
    assert client.prepare([folder])[0].fetched_bytes == 0
    assert adds(client)


@pytest.mark.parametrize("damage", ["flipped", "cut short", "a folder", "gone"])
def test_what_was_damaged_is_fetched_again(damage: str, home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    blob = next(path for path in (home / "data/store/blobs").rglob("*") if path.is_file() and is_model(path))
    good = blob.read_bytes()
    blob.unlink()
    if damage == "a folder":
        blob.mkdir()
    elif damage != "gone":
        blob.write_bytes(good[:-1] if damage == "cut short" else bytes([good[0] ^ 1]) + good[1:])
    with pytest.raises(NotInstalled, match=r"acme/add@=1\.0\.0 is not "):
        client.load("acme/add", install="never")
    with client.load("acme/add") as model:
        assert model.opening.fetched_bytes == len(good)
    assert blob.read_bytes() == good
    assert adds(client)


def is_model(path: Path) -> bool:
    try:
        return bool(onnx.ModelProto.FromString(path.read_bytes()).graph.node)
    except Exception:  # noqa: BLE001 - protobuf's error has another base in each implementation
        return False


def test_what_is_gone_on_both_sides_is_told(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])
    client.prepare(["acme/add"])
    shutil.rmtree(home / "data/store/blobs")
    (shelf / "acme/add/fp32.onnx").unlink()
    with pytest.raises(NotInstalled, match=r"fp32\.onnx .* no place"):
        client.load("acme/add")


def test_the_command(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(home))
    first = CliRunner().invoke(group, ["pull", "inferry/digits"])
    assert (first.exit_code, first.stderr.split(":")[0]) == (0, "fetching inferry/digits@=1.0.0")
    assert first.stdout.startswith("inferry/digits@=1.0.0 fp32: fetched ")
    again = CliRunner().invoke(group, ["pull", "inferry/digits", "--json"])
    assert json.loads(again.stdout)["pulled"] == [
        {
            "model": "inferry/digits",
            "version": "1.0.0",
            "variant": "fp32",
            "source": "built-in",
            "fetched_bytes": 0,
        }
    ]
    assert again.stderr == ""
    wrong = CliRunner().invoke(group, ["pull", str(tmp_path / "x.onnx")])
    assert wrong.exit_code == 3
    (tmp_path / "x.onnx").write_bytes(b"")
    assert CliRunner().invoke(group, ["pull", str(tmp_path / "x.onnx")]).exit_code == 2
    assert CliRunner().invoke(group, ["pull"]).exit_code == 2


def test_a_run_of_what_was_pulled_reads_nothing_of_the_package(home: Path, tmp_path: Path) -> None:
    """Which is moved away meanwhile."""
    source = shutil.copytree(BUILT_IN, tmp_path / "index")
    client = Client(home=home, sources=[source])
    client.prepare(["inferry/digits"])
    shutil.rmtree(source)
    with client.load("inferry/digits", install="never") as model:
        assert model.run(model.samples).labels()[0].label == "7"


def test_all_of_it_can_be_awaited(home: Path, shelf: Path) -> None:
    client = Client(home=home, sources=[shelf])

    async def both() -> list[list[float]]:
        (ready,) = await client.prepare_async(["acme/add"])
        assert ready.fetched_bytes
        model = await client.load_async("acme/add", install="never")
        with model:
            summed: list[list[float]] = (await model.run_async(ONES))["sum"].tolist()
            return summed

    assert asyncio.run(both()) == [[4, 6]]


def test_who_stops_waiting_stops_what_is_fetched(home: Path, shelf: Path) -> None:
    publish(shelf / "acme/large", "acme/large", files={"CARD.md": bytes(8_000_000)})
    client = Client(home=home, sources=[shelf])
    begun, cancel = Event(), Event()

    def slowly(event: Progress) -> None:
        begun.set()
        if event.done_bytes:
            cancel.wait(20)

    async def given_up() -> None:
        task = asyncio.create_task(client.load_async("acme/large", progress=slowly, cancel=cancel))
        assert await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(given_up())
    assert cancel.is_set()
    with pytest.raises(NotInstalled):
        client.load("acme/large", install="never")
