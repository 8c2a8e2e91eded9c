"""What lies on servers is pulled from them: gone on with, verified, and not at all where the network is forbidden."""

from __future__ import annotations

import json
from threading import Event, Timer
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from inferry import Client
from inferry.catalog.errors import Cancelled, Refused, VerificationError
from inferry.cli import inferry as group
from inferry.index.client.fetch import Pace
from inferry.tests.servers import Answering, Served, serving
from inferry.tests.shelves import adds, at, publish

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "a home ü"


def away(server: Served, folder: Path) -> bytes:
    """Write a model into ``folder`` whose file lies on a server alone; return that file."""
    publish(folder, locations=at(f"{server.url}/fp32.onnx"))
    data = (folder / "fp32.onnx").read_bytes()
    (folder / "fp32.onnx").unlink()
    return data


def test_a_location_on_a_server_is_fetched_from_and_gone_on_with(home: Path, tmp_path: Path) -> None:
    files: list[bytes] = []

    def answer(it: Answering, place: int) -> None:
        it.send_range(files[0], upto=10 if place == 0 else None)

    with serving(answer) as server:
        files.append(away(server, tmp_path / "adder"))
        client = Client(home=home)
        assert client.prepare([tmp_path / "adder"])[0].fetched_bytes == len(files[0])
    assert [each.headers.get("Range") for each in server.asked] == [None, "bytes=10-"]
    assert adds(client)


def test_what_a_server_changed_is_refused_and_nothing_of_it_stays(home: Path, tmp_path: Path) -> None:
    files: list[bytes] = []
    with serving(lambda it, _: it.send_range(files[0])) as server:
        data = away(server, tmp_path / "adder")
        files.append(bytes([data[0] ^ 1]) + data[1:])
        with pytest.raises(VerificationError, match="what came is not"):
            Client(home=home).prepare([tmp_path / "adder"])
    assert not [path for path in (home / "data/store").rglob("*") if path.is_file() and path.stat().st_size > 100]
    assert not [*(home / "data").glob("models/*/pulled.json")]


def test_without_the_network_nobody_is_asked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: list[bytes] = []
    with serving(lambda it, _: it.send_range(files[0])) as server:
        files.append(away(server, tmp_path / "adder"))
        client = Client(home=home)
        with pytest.raises(Refused, match=r"^offline: fp32\.onnx of acme/add@=1\.0\.0 is not here") as caught:
            client.prepare([tmp_path / "adder"], offline=True)
        assert caught.value.hints() == (f"it lies at {server.url}/fp32.onnx",)
        monkeypatch.setenv("INFERRY_OFFLINE", "1")
        with pytest.raises(Refused, match=r"^INFERRY_OFFLINE: offline: "):
            client.prepare([tmp_path / "adder"])
        assert server.asked == []
        monkeypatch.setenv("INFERRY_OFFLINE", "0")
        client.prepare([tmp_path / "adder"])
        monkeypatch.setenv("INFERRY_OFFLINE", "1")
        assert client.prepare([tmp_path / "adder"], offline=True)[0].fetched_bytes == 0, "it is here"
        assert adds(client)


def test_what_a_server_refuses_is_told_with_exit_code_6(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    with serving(lambda it, _: it.send(b"", 403)) as server:
        away(server, tmp_path / "adder")
        told = CliRunner().invoke(group, ["pull", str(tmp_path / "adder"), "--json"])
        refused = CliRunner().invoke(group, ["pull", str(tmp_path / "adder"), "--offline"])
    assert (told.exit_code, json.loads(told.stdout)["error"]["type"]) == (6, "NetworkError")
    assert (refused.exit_code, len(server.asked)) == (8, 1)


def test_a_rate_holds_over_all_that_comes_at_once_and_cancelling_does_not_wait_for_it(tmp_path: Path) -> None:
    pace = Pace(1000)
    waits = [pace.wait_s(500_000) for _ in range(4)]
    assert waits == pytest.approx([0, 500, 1000, 1500], abs=20)
    folder = publish(tmp_path / "adder", files={"CARD.md": b"# Adds\n" * 100})
    cancel = Event()
    timer = Timer(0.3, cancel.set)
    timer.start()
    with pytest.raises(Cancelled):  # at one byte a second it would take minutes
        Client(home=tmp_path / "home").prepare([folder], cancel=cancel, limit_rate=1)
    timer.join()
    assert Client(home=tmp_path / "home").prepare([folder], limit_rate=10**9)[0].fetched_bytes


@pytest.mark.parametrize(("rate", "words"), [("0", "nothing comes"), ("fast", "is no size")])
def test_rates_that_are_none(rate: str, words: str) -> None:
    told = CliRunner().invoke(group, ["pull", "inferry/digits", "--limit-rate", rate])
    assert told.exit_code == 2
    assert words in told.stderr
