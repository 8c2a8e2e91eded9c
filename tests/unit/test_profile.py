"""A host in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import inferry
from inferry.catalog.errors import InvalidDocument, InvalidProfile, MachineError
from inferry.catalog.profile import read_profile
from inferry.catalog.values.host import (
    Cpu,
    Device,
    Distribution,
    Driver,
    EpDevice,
    Excluded,
    Host,
    Memory,
    OrtFacts,
    Platform,
    Python,
)
from inferry.cli import inferry as group
from inferry.runtime.detect.detector import detect

LAPTOP = Host(
    platform=Platform(os="windows", name="Windows", version="10.0.26100", build=26100, architecture="x64"),
    python=Python(version="3.12.3", implementation="cpython", architecture="x64"),
    cpu=Cpu(vendor="GenuineIntel", family=6, model=140, stepping=1, features=("avx2", "fma"), cores=4, threads=8),
    memory=Memory(total_bytes=16_000_000_000, free_bytes=9_000_000_000),
    devices=(
        Device(kind="cpu", vendor_id="8086"),
        Device(
            kind="gpu",
            vendor_id="10de",
            device_id="2684",
            subsystem="1043:8694",
            name="GeForce RTX 4090",
            memory_bytes=24_000_000_000,
            integrated=False,
            driver=Driver(scheme="wddm", name="NVIDIA", version="32.0.15.5585"),
        ),
    ),
    searched=("cpu", "gpu", "npu"),
    excluded=(Excluded(vendor_id="1a03", device_id="2000", reason="a management controller's display"),),
    onnxruntime=OrtFacts(
        module=True, distributions=(Distribution(name="onnxruntime", version="1.31.1"),), version="1.31.1"
    ),
    ep_devices=(EpDevice(ep="CPUExecutionProvider", kind="cpu"),),
)


def written(folder: Path, host: Host) -> Path:
    file = folder / "laptop.json"
    inferry.HostProfile(host).save(file)
    return file


@pytest.mark.parametrize(
    "host", [LAPTOP, detect(), Host(platform=Platform(os="other"))], ids=["laptop", "here", "bare"]
)
def test_what_was_saved_is_loaded(tmp_path: Path, host: Host) -> None:
    file = written(tmp_path, host)
    loaded = inferry.HostProfile.load(file).host
    one_boot = [msgspec.structs.replace(device, pci=None, luid=None) for device in host.devices]
    assert loaded == msgspec.structs.replace(host, devices=tuple(one_boot), origins={"": str(file)})
    assert loaded.origin("devices[0].name") == str(file)
    assert [each.name for each in tmp_path.iterdir()] == ["laptop.json"]


def test_what_lives_one_boot_is_not_saved(tmp_path: Path) -> None:
    device = msgspec.structs.replace(LAPTOP.devices[1], pci="0000:01:00.0", luid="0:1008")
    host = msgspec.structs.replace(LAPTOP, devices=(device,), origins={"devices[0]": "/sys/…/0000:01:00.0"})
    text = written(tmp_path, host).read_text(encoding="utf-8")
    assert "pci" not in text
    assert "luid" not in text
    assert "0000:01:00.0" not in text


def test_a_profile_may_be_edited_and_what_is_left_out_is_unknown(tmp_path: Path) -> None:
    file = tmp_path / "edited.json"
    file.write_text('{"schema_version": 1, "host": {"platform": {"os": "linux"}, "devices": [{"kind": "npu"}]}}')
    host = inferry.HostProfile.load(file).host
    assert host.devices == (Device(kind="npu"),)
    assert (host.platform.version, host.memory.total_bytes, host.searched) == (None, None, ())


def test_the_profile_in_the_documentation_is_one() -> None:
    page = (Path(__file__).parents[2] / "docs/concepts/hosts.md").read_text(encoding="utf-8")
    host = read_profile(page.split("```json\n")[1].split("```")[0].encode(), where="hosts.md")
    assert [device.kind for device in host.devices] == ["cpu", "gpu"]


def edited(path: str, value: object) -> dict[str, Any]:
    """Return the laptop's document with one thing in it replaced, or added."""
    document: dict[str, Any] = {"schema_version": 1, "host": json.loads(msgspec.json.encode(LAPTOP))}
    *parents, last = path.split("/")
    del document["host"]["origins"]
    it: Any = document
    for key in parents:
        it = it[int(key) if key.isdecimal() else key]
    it[last] = value
    return document


WRONG: dict[str, tuple[str, object, str, str]] = {
    "system": ("host/platform/os", "beos", "host.platform.os", "'beos'"),
    "number": ("host/cpu/cores", "four", "host.cpu.cores", "Expected `int | null`"),
    "no cores": ("host/cpu/cores", 0, "host.cpu.cores", "0 is not between 1 and"),
    "no share": ("host/cpu/limit", 0, "host.cpu.limit", "0.0 is not a number of processors"),
    "negative": ("host/memory/total_bytes", -1, "host.memory.total_bytes", "-1 is not between 0 and"),
    "too large": ("host/memory/free_bytes", 2**53, "host.memory.free_bytes", "is not between"),
    "id": ("host/devices/1/vendor_id", "0x10DE", "host.devices[1].vendor_id", "`0x10DE` is not written in"),
    "subsystem": ("host/devices/1/subsystem", "1043", "host.devices[1].subsystem", "`1043` is not written in"),
    "version": ("host/platform/version", "11 Pro", "host.platform.version", "`11 Pro` is not made of numbers"),
    "scheme": ("host/devices/1/driver/scheme", "x", "host.devices[1].driver.scheme", "'x'"),
    "unknown": ("host/devices/1/memory", 1, "host.devices[1].memory", "unknown field"),
    "at the top": ("comment", "x", "comment", "unknown field"),
    "address": ("host/devices/1/pci", "0000:01:00.0", "host.devices[1].pci", "is no part of a profile"),
    "luid": ("host/devices/1/luid", "0:1008", "host.devices[1].luid", "is no part of a profile"),
    "origins": ("host/origins", {"cpu": "x"}, "host.origins", "is no part of a profile"),
    "schema": ("schema_version", 2, "schema_version", "2 is not 1, the one that can be read here"),
    "no platform": ("host", {}, "host.platform", "missing required field"),
}


@pytest.mark.parametrize(("path", "value", "field", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_path(tmp_path: Path, path: str, value: object, field: str, words: str) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(edited(path, value)))
    with pytest.raises(InvalidProfile) as caught:
        inferry.HostProfile.load(file)
    assert caught.value.field == field
    assert caught.value.message.startswith(f"{file}: {field}: ")
    assert words in caught.value.message
    assert (caught.value.exit_code, isinstance(caught.value, InvalidDocument)) == (9, True)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff", b'{"schema_version": 1}', b'"\xff"', b'{"a": "\xff"}'])
def test_what_is_no_profile_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "no.json"
    file.write_bytes(data)
    with pytest.raises(InvalidProfile, match=r"no\.json"):
        inferry.HostProfile.load(file)


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be read: No such file"):
        inferry.HostProfile.load(tmp_path / "nosuch.json")
    with pytest.raises(MachineError, match="cannot be written"):
        inferry.HostProfile(LAPTOP).save(tmp_path / "nosuch" / "laptop.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(MachineError, match="cannot be written"):
        inferry.HostProfile(LAPTOP).save(tmp_path / "folder")
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_the_command_saves_what_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "here.json"
    told = CliRunner().invoke(group, ["devices", "--save", str(file)])
    assert told.exit_code == 0
    assert told.stderr.splitlines()[-1] == f"wrote {file}"
    saved = inferry.HostProfile.load(file).host
    shown = detect()
    assert (saved.platform, saved.cpu, saved.memory.total_bytes) == (
        shown.platform,
        shown.cpu,
        shown.memory.total_bytes,
    )
