"""EP devices: ONNX Runtime is asked once for each state of the machine, by a real child, and whatever fails is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

import inferry
from inferry.catalog.errors import MachineError
from inferry.catalog.values.host import Device, Distribution, Driver, EpDevice, Host, Node, OrtFacts, Platform, Python
from inferry.cli import inferry as group
from inferry.index.home import cache_folder
from inferry.runtime.detect import ep_devices
from inferry.runtime.detect.detector import detect
from inferry.runtime.detect.ep_devices import with_ep_devices
from inferry.runtime.ort import library
from inferry.tests.fakes.onnxruntimes import SLEEPS, USABLE, pids, plant_distribution

if TYPE_CHECKING:
    from collections.abc import Callable

CPU = EpDevice(ep="CPUExecutionProvider", kind="cpu")
STARTED: list[str] = []
sys.addaudithook(lambda event, arguments: STARTED.append(str(arguments[0])) if event == "subprocess.Popen" else None)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept, of a home that nobody has used."""
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "a home ü"))
    STARTED.clear()
    return tmp_path / "a home ü/cache/onnxruntime-v3"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A function that installs such a module before the real one."""

    def install(body: str = USABLE) -> Path:
        folder = plant_distribution(tmp_path / "site", body)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
        return folder

    return install


def test_this_machines_are_told_and_asked_for_once(kept: Path) -> None:
    first = inferry.devices()
    assert len(STARTED) == 1
    assert first.ep_devices
    assert any((each.ep, each.kind) == ("CPUExecutionProvider", "cpu") for each in first.ep_devices)
    told = f"child process, onnxruntime {library().__version__}"
    assert first.origin("ep_devices[0].vendor_id") == told
    assert first.onnxruntime.version == library().__version__
    again = inferry.devices()
    assert again.ep_devices == first.ep_devices
    assert again.origin("ep_devices") == f"{told}; kept in {next(kept.iterdir())}"
    assert len(STARTED) == 1


def test_opening_a_model_asks_nobody_nor_does_a_plan_for_another_machine(kept: Path) -> None:
    with inferry.load("inferry/digits") as model:
        assert model.device == "cpu"
    assert inferry.plan("inferry/digits", host=inferry.Client().devices(ask=False)).chosen
    assert (STARTED, kept.exists()) == ([], False)


def test_a_saved_profile_holds_them(kept: Path, tmp_path: Path) -> None:
    file = str(tmp_path / "here.json")
    told = CliRunner().invoke(group, ["devices", "--save", file, "--json"])
    document: dict[str, Any] = json.loads(told.stdout)
    assert document["host"]["ep_devices"][0]["ep"] == "CPUExecutionProvider"
    assert [dict(each) for each in document["host"]["ep_devices"]] == json.loads(
        (tmp_path / "here.json").read_text(encoding="utf-8")
    )["host"]["ep_devices"]
    assert kept.exists()
    lines = CliRunner().invoke(group, ["devices"]).stdout.splitlines()
    assert [line for line in lines if line.startswith("ep devices   CPUExecutionProvider: cpu")]


GPUS = (
    USABLE
    + """
class Kind:
    def __init__(self, name):
        self.name = name
class Seen:
    def __init__(self, ep, kind, vendor_id, device_id, **metadata):
        self.ep_name, self.ep_vendor, self.vendor, self.metadata = ep, "Acme", "", metadata
        self.type, self.vendor_id, self.device_id, self.device = Kind(kind), vendor_id, device_id, self
def get_ep_devices():
    return [
        Seen("CPUExecutionProvider", "CPU", 0x8086, 0),
        Seen("AcmeExecutionProvider", "GPU", 0x10de, 0x2335, pci_bus_id="0000:01:00.0", Discrete="1"),
        Seen("AcmeExecutionProvider", "NPU", 0x1de, 0xa),
        Seen("AcmeExecutionProvider", "FPGA", 1, 1),
    ]
"""
)


def test_what_is_told_of_devices(kept: Path, planted: Callable[..., Path]) -> None:
    planted(GPUS)
    host = inferry.devices()
    assert host.ep_devices == (
        replace(CPU, vendor_id="8086"),
        EpDevice(ep="AcmeExecutionProvider", kind="gpu", vendor_id="10de", device_id="2335"),
        EpDevice(ep="AcmeExecutionProvider", kind="npu", vendor_id="01de", device_id="000a"),
    )
    assert kept.exists()
    told = CliRunner().invoke(group, ["devices"]).stdout
    assert "\n             AcmeExecutionProvider: gpu 10de:2335, npu 01de:000a\n" in told


def test_the_modules_own_version_is_the_one(kept: Path, planted: Callable[..., Path]) -> None:
    planted(f"{USABLE}\n__version__ = '9.8.7'")
    host = inferry.devices()
    assert (host.onnxruntime.version, host.ep_devices) == ("9.8.7", (CPU,))
    assert host.origin("onnxruntime.version") == "child process, onnxruntime 9.8.7"
    assert kept.exists()


DRIVEN = Device(kind="gpu", vendor_id="10de", driver=Driver(scheme="linux", name="nvidia", version="550.1"))
NEWER = Device(kind="gpu", vendor_id="10de", driver=Driver(scheme="linux", name="nvidia", version="550.2"))
CLOSED = replace(DRIVEN, nodes=(Node(path="/dev/nvidiactl", access="missing"),))
CHANGES: dict[str, Callable[[Host], Host]] = {
    "nothing yet": lambda host: host,
    "Python": lambda host: replace(host, python=Python(version="3.99.1", implementation="cpython")),
    "the kernel": lambda host: replace(host, platform=replace(host.platform, version="99.1")),
    "a device": lambda host: replace(host, devices=(*host.devices, DRIVEN)),
    "its node": lambda host: replace(host, devices=(*host.devices, CLOSED)),
    "its driver": lambda host: replace(host, devices=(*host.devices, NEWER)),
    "the version": lambda host: replace(
        host,
        onnxruntime=replace(host.onnxruntime, distributions=(Distribution(name="onnxruntime", version="9.9.10"),)),
    ),
}
FILES = (
    "onnxruntime/__init__.py",
    "onnxruntime/capi/libonnxruntime.so.9.9.9",
    "onnxruntime/capi/libonnxruntime_providers_shared.so",
    "onnxruntime-9.9.9.dist-info/RECORD",
)


def test_whatever_changes_it_is_asked_again(kept: Path, planted: Callable[..., Path]) -> None:
    folder = planted()
    asked = 0
    host = detect()
    for change in CHANGES.values():
        host = change(host)
        asked += 1
        for origin in ("child process, onnxruntime 9.9.9", "child process, onnxruntime 9.9.9; kept in "):
            seen = with_ep_devices(host)
            assert seen.ep_devices == (CPU,)
            assert (seen.origin("ep_devices") or "").startswith(origin)
            assert len(pids(folder)) == asked
    host = detect()
    with_ep_devices(host)
    asked += 1
    for file in FILES:
        with (folder / file).open("ab") as opened:
            opened.write(b"\n")
        asked += 1
        for _ in range(2):
            with_ep_devices(host)
            assert len(pids(folder)) == asked
    assert len(list(kept.iterdir())) == 1


DAMAGES: dict[str, bytes] = {
    "empty": b"",
    "cut short": b'{"stamp": {"inferry": ',
    "no text": bytes(range(256)),
    "deep": b"[" * 10**5,
    "another kind": b"[]",
    "without an answer": b'{"stamp": {}}',
    "an answer of another kind": b'{"stamp": {}, "asked": "2026-11-23T09:00:00Z", "told": {"version": 1}}',
    "neither an answer nor a failure": b'{"stamp": {}, "asked": "2026-11-23T09:00:00Z"}',
    "without end": b'{"stamp": {"x": "' + b"x" * 2**21,
}


@pytest.mark.parametrize("data", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_told_and_written_anew(data: bytes, kept: Path, planted: Callable[..., Path]) -> None:
    planted()
    inferry.devices()
    file = next(kept.iterdir())
    whole = file.read_bytes()
    file.write_bytes(data)
    host = inferry.devices()
    assert host.ep_devices == (CPU,)
    assert f"; what was kept is of no use: {file}: " in (host.origin("ep_devices") or "")
    assert json.loads(file.read_bytes()) | {"asked": ""} == json.loads(whole) | {"asked": ""}


def test_a_folder_in_its_place_is_told(kept: Path, planted: Callable[..., Path]) -> None:
    planted()
    inferry.devices()
    file = next(kept.iterdir())
    file.unlink()
    file.mkdir()
    host = inferry.devices()
    assert host.ep_devices == (CPU,)
    assert "; not kept: " in (host.origin("ep_devices") or "")
    assert [each.name for each in kept.iterdir()] == [file.name]


def test_where_nothing_can_be_kept_it_goes_on(
    tmp_path: Path, planted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = planted()
    (tmp_path / "file").touch()
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "file"))
    for _ in range(2):
        host = inferry.devices()
        assert host.ep_devices == (CPU,)
        assert "; not kept: " in (host.origin("ep_devices") or "")
    monkeypatch.delenv("INFERRY_HOME")
    for refusal in (Mock(return_value=Path("~/.cache/x")), Mock(side_effect=RuntimeError("nobody's home"))):
        monkeypatch.setattr("platformdirs.user_cache_path", refusal)
        with pytest.raises(MachineError):
            cache_folder()
        assert "; not kept: " in (inferry.devices().origin("ep_devices") or "")
    assert len(pids(folder)) == 4
    assert "not kept" not in CliRunner().invoke(group, ["devices"]).stderr


def test_a_home_may_be_named_by_a_path_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFERRY_HOME", "its home")
    assert cache_folder() == tmp_path / "its home/cache"
    monkeypatch.setenv("INFERRY_HOME", "")
    assert cache_folder().is_absolute()
    assert cache_folder().parts[-1] in {"inferry", "Cache"}


@pytest.mark.parametrize("command", [("devices",), ("plan", "inferry/digits"), ("plan", "inferry/digits", "--explain")])
def test_where_the_child_fails_commands_go_on_and_say_so_once(
    command: tuple[str, ...], kept: Path, planted: Callable[..., Path]
) -> None:
    folder = planted("os.abort()")
    told = CliRunner().invoke(group, command)
    assert told.exit_code == 0
    assert "CPU" in told.stdout or "ep devices   ?" in told.stdout
    why = (
        f"the EP devices are not known: child process: the child process for ep-devices crashed: SIGABRT, "
        f"asked on {datetime.now(UTC):%Y-%m-%d}; ask again: inferry devices --ask-again"
    )
    for _ in range(2):
        assert [line for line in told.stderr.splitlines() if "EP devices" in line] == [why]
        assert kept.exists()
        assert len(pids(folder)) == 1
        told = CliRunner().invoke(group, command)


def test_where_it_hangs_too(kept: Path, planted: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    planted(SLEEPS)
    monkeypatch.setattr(ep_devices, "LIMIT_S", 0.5)
    host = inferry.devices()
    assert host.ep_devices is None
    assert "did not answer within 0.5 s" in (host.origin("ep_devices") or "")
    assert kept.exists()


@pytest.mark.parametrize(
    ("body", "why"),
    {
        "raise ImportError('no such luck')": "ONNX Runtime cannot be imported: no such luck",
        f"{USABLE}\n__version__ = 5": "its answer cannot be read: ",
        f"{USABLE}\n__file__ = '/nosuch'": "it imports another onnxruntime, /nosuch",
        f"{USABLE}\ndef get_ep_devices(): return [1]": "ONNX Runtime 9.9.9 cannot list its devices: ",
    }.items(),
)
def test_an_answer_that_is_none_is_told(body: str, why: str, kept: Path, planted: Callable[..., Path]) -> None:
    planted(body)
    host = inferry.devices()
    assert host.ep_devices is None
    assert (host.origin("ep_devices") or "").startswith(f"child process: {why}")
    assert kept.exists()


def test_without_onnx_runtime_there_are_none() -> None:
    host = Host(platform=Platform(os="linux"), onnxruntime=OrtFacts(module=False), origins={"onnxruntime": "sys.path"})
    seen = with_ep_devices(host)
    assert (seen.ep_devices, seen.origin("ep_devices")) == ((), "sys.path: no onnxruntime")
    seen = with_ep_devices(replace(host, onnxruntime=OrtFacts()))
    assert seen.ep_devices is None
    assert (seen.origin("ep_devices") or "").startswith("not asked: sys.path")


PLAN = """
import sys
started = []
sys.addaudithook(lambda event, arguments: started.append(1) if event == "subprocess.Popen" else None)
sys.argv = ["inferry", "plan", "inferry/digits"]
from inferry.cli import inferry as main
try: main()
except SystemExit: pass
print(len(started), *sorted({"numpy", "onnxruntime"} & set(sys.modules)))
"""


def test_a_plan_imports_neither_numpy_nor_onnxruntime(kept: Path) -> None:
    for last in ("1", "0"):
        told = subprocess.run([sys.executable, "-c", PLAN], capture_output=True, text=True, check=True)
        assert told.stdout.splitlines()[-1] == last
    assert kept.exists()


def test_processes_at_once_do_not_harm_each_other(kept: Path) -> None:
    command = [sys.executable, "-m", "inferry", "devices", "--json"]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for each in started:
        with each:
            assert json.loads(each.communicate(timeout=60)[0])["host"]["ep_devices"]
    assert len(list(kept.iterdir())) == 1
    assert json.loads(next(kept.iterdir()).read_bytes())["told"]["version"] == library().__version__


def test_what_is_kept_is_had_in_no_time(kept: Path) -> None:
    inferry.devices()
    assert kept.exists()
    spans: list[float] = []
    for _ in range(5):
        begun = time.perf_counter()
        inferry.devices()
        spans.append(time.perf_counter() - begun)
    assert min(spans) < 0.15
    assert len(STARTED) == 1
    assert os.environ["INFERRY_HOME"]
