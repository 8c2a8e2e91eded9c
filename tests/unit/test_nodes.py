"""Nodes below /dev: which ones a device has, whether they may be opened, and what is told of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from inferry.catalog.profile import read_profile, write_profile
from inferry.catalog.values.host import Device, Driver, Node
from inferry.cli import inferry as group
from inferry.runtime.detect.linux import Linux
from inferry.runtime.detect.sysfs.tree import Tree
from inferry.runtime.doctor import Finding, examine
from inferry.runtime.profile import HostProfile
from inferry.tests.catalogs import DISCRETE, SHARED, host
from inferry.tests.fakes.hosts import plant

if TYPE_CHECKING:
    from collections.abc import Callable

    from inferry.catalog.values.host import Access, Host

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="PCI addresses are no file names there")
ADDRESS = "0000:03:00.0"
PCI = f"sys/bus/pci/devices/{ADDRESS}"
TOLD = f"proc/driver/nvidia/gpus/{ADDRESS}/information"


def found(root: Path, driver: str, *files: str, vendor: str = "1002", code: str = "030000", **more: str) -> Host:
    """Return what is found where there is one device with this driver, and these files, which are empty."""
    plant(
        root,
        {
            f"{PCI}/class": f"0x{code}",
            f"{PCI}/vendor": f"0x{vendor}",
            f"{PCI}/device": "0x1234",
            f"{PCI}/driver": {"link": f"../../bus/pci/drivers/{driver}"},
            "dev/null": "",
            **dict.fromkeys(files, ""),
            **more,
        },
    )
    return Linux(root).host()


RENDER = (f"{PCI}/drm/card0/dev", f"{PCI}/drm/renderD128/dev")
MINOR = {TOLD: "Model: \t\t NVIDIA H200\nDevice Minor: \t 3\nGPU Excluded:\t No\n"}
NO_MODPROBE = {"usr/bin/env": ""}
CASES: dict[str, tuple[Callable[[Path], Host], tuple[Node, ...] | None, str | None]] = {
    "a card": (
        lambda root: found(root, "amdgpu", *RENDER, "dev/dri/renderD128"),
        (Node(path="/dev/dri/renderD128", access="open"),),
        f"/{PCI}/drm",
    ),
    "a card that a container was not given": (
        lambda root: found(root, "i915", *RENDER, vendor="8086"),
        (Node(path="/dev/dri/renderD128", access="missing"),),
        f"/{PCI}/drm",
    ),
    "ROCm's": (
        lambda root: found(root, "amdgpu", *RENDER, "sys/class/kfd/kfd/dev", "dev/dri/renderD128"),
        (
            Node(path="/dev/dri/renderD128", access="open"),
            Node(path="/dev/kfd", access="missing", only_for="ROCm"),
        ),
        f"/{PCI}/drm",
    ),
    "an NPU": (
        lambda root: found(root, "intel_vpu", f"{PCI}/accel/accel0/dev", "dev/accel", vendor="8086", code="120000"),
        (Node(path="/dev/accel/accel0", access="missing"),),
        f"/{PCI}/accel",
    ),
    "NVIDIA's": (
        lambda root: found(root, "nvidia", "dev/nvidiactl", vendor="10de", **NO_MODPROBE, **MINOR),
        (Node(path="/dev/nvidiactl", access="open"), Node(path="/dev/nvidia3", access="missing")),
        f"/{TOLD}",
    ),
    "NVIDIA's, which are made when they are needed": (
        lambda root: found(root, "nvidia", "usr/bin/nvidia-modprobe", vendor="10de", **MINOR),
        (Node(path="/dev/nvidiactl"), Node(path="/dev/nvidia3")),
        f"/{TOLD}",
    ),
    "a card without nodes": (lambda root: found(root, "nouveau", *RENDER[:1], vendor="10de"), None, None),
    "no name of a node": (lambda root: found(root, "amdgpu", f"{PCI}/drm/renderD1x8/dev"), None, None),
}


@pytest.mark.parametrize(("planted", "nodes", "origin"), CASES.values(), ids=CASES)
def test_the_nodes_of_a_device(
    planted: Callable[[Path], Host], nodes: tuple[Node, ...] | None, origin: str | None, tmp_path: Path
) -> None:
    there = planted(tmp_path)
    assert there.devices[1].nodes == nodes
    assert there.origins.get("devices[1].nodes") == origin
    assert read_profile(write_profile(there), where="x").devices[1].nodes == nodes


def test_those_of_a_system_on_a_chip(tmp_path: Path) -> None:
    device = "sys/bus/platform/devices/1002000000.v3d"
    plant(
        tmp_path,
        {
            f"{device}/of_node/compatible": "brcm,2712-v3d\0",
            f"{device}/drm/renderD129/dev": "226:129",
            "sys/firmware/devicetree/base/model": "x",
            "dev/dri/renderD128": "",
        },
    )
    assert Linux(tmp_path).host().devices[1].nodes == (Node(path="/dev/dri/renderD129", access="missing"),)


def test_what_a_recording_without_dev_tells(tmp_path: Path) -> None:
    plant(tmp_path, {f"{PCI}/drm/renderD128/dev": ""})
    assert Tree(tmp_path).access("dev/dri/renderD128") is None
    assert Tree(tmp_path).access(f"{PCI}/drm/renderD128/dev") == "open"


HOSTILE: dict[str, tuple[str, Access | None]] = {
    "below a file": ("dev/null/x", "missing"),
    "a NUL": ("dev/a\0b", None),
    "too long": ("dev/" + "x" * 5000, None),
    "a loop": ("dev/loop", None),
    "leads nowhere": ("dev/dangling", "missing"),
}


@pytest.mark.parametrize(("path", "access"), HOSTILE.values(), ids=HOSTILE)
def test_nothing_in_its_place_raises(path: str, access: Access | None, tmp_path: Path) -> None:
    plant(tmp_path, {"dev/null": "", "dev/loop": {"link": "loop"}, "dev/dangling": {"link": "nowhere"}})
    assert Tree(tmp_path).access(path) == access


def test_a_node_that_is_closed_is_no_missing_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, dict.fromkeys(("dev/open", "dev/half", "dev/closed", "dev/folder/closed"), ""))
    for name, mode in {"open": 0o666, "half": 0o444, "closed": 0, "folder": 0}.items():
        (tmp_path / "dev" / name).chmod(mode)
    # Whoever owns everything may open everything; and the folders above are that user's alone.
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    user = os.geteuid()
    os.seteuid(user or 65534)
    try:
        told = [Tree(Path()).access(f"dev/{name}") for name in ("open", "half", "closed", "folder/closed", "other")]
    finally:
        os.seteuid(user)
    (tmp_path / "dev/folder").chmod(0o755)
    assert told == ["open", "denied", "denied", "denied", "missing"]


def with_node(device: Device, path: str, access: Access, only_for: str | None = None) -> Device:
    node = Node(path=path, access=access, only_for=only_for)
    driver = Driver(scheme="linux", name="itsdriver")
    return replace(device, driver=driver, nodes=(*(device.nodes or ()), node))


SAID: dict[str, tuple[tuple[Device, ...], list[Finding]]] = {
    "nobody looked, or may be opened": (
        (DISCRETE, replace(SHARED, nodes=(Node(path="/dev/x"), Node(path="/dev/y", access="open")))),
        [],
    ),
    "a user who is not in the group": (
        (with_node(SHARED, "/dev/dri/renderD128", "denied"),),
        [
            Finding(
                "device-node",
                wrong=True,
                message="This user may not open /dev/dri/renderD128, needed for Its own graphics.",
                fix="usermod -aG render $USER",
            )
        ],
    ),
    "a container that has none of them": (
        (
            with_node(with_node(DISCRETE, "/dev/nvidiactl", "missing"), "/dev/nvidia0", "missing"),
            with_node(with_node(DISCRETE, "/dev/nvidiactl", "missing"), "/dev/nvidia1", "missing"),
            with_node(SHARED, "/dev/accel/accel0", "missing"),
        ),
        [
            Finding(
                "device-node",
                wrong=False,
                message=(
                    "This machine or container lacks /dev/nvidiactl and /dev/nvidia0 and /dev/nvidia1, "
                    "needed for A card."
                ),
                fix="run the container with --gpus all",
            ),
            Finding(
                "device-node",
                wrong=False,
                message="This machine or container lacks /dev/accel/accel0, needed for Its own graphics.",
                fix="run the container with --device /dev/accel",
            ),
        ],
    ),
    "ROCm only": (
        (with_node(SHARED, "/dev/kfd", "missing", "ROCm"), with_node(SHARED, "/dev/kfd", "denied", "ROCm")),
        [
            Finding(
                "device-node",
                wrong=False,
                message="This machine or container lacks /dev/kfd, needed for ROCm on Its own graphics.",
                fix="run the container with --device /dev/kfd",
            ),
            Finding(
                "device-node",
                wrong=False,
                message="This user may not open /dev/kfd, needed for ROCm on Its own graphics.",
                fix="usermod -aG render $USER",
            ),
        ],
    ),
}


@pytest.mark.parametrize(("devices", "findings"), SAID.values(), ids=SAID)
def test_doctor_says_what_a_device_lacks_and_what_would_help(
    devices: tuple[Device, ...], findings: list[Finding]
) -> None:
    assert examine(host(*devices), []) == findings


def test_commands_say_it(tmp_path: Path) -> None:
    file = tmp_path / "there.json"
    HostProfile(host(with_node(SHARED, "/dev/dri/renderD128", "denied"))).save(file)
    told = CliRunner().invoke(group, ["doctor", "--host", str(file)])
    assert told.exit_code == 7
    assert "  usermod -aG render $USER\n" in told.stdout
    document = json.loads(CliRunner().invoke(group, ["plan", "inferry/digits", "--host", str(file), "--json"]).stdout)
    rules = {
        reason["rule"]: reason
        for each in document["candidates"]
        for reason in each["reasons"]
        if each["device"]["kind"] == "gpu"
    }
    assert rules["device-node"] == {
        "rule": "device-node",
        "outcome": "no",
        "observed": "/dev/dri/renderD128 is closed to this user",
        "required": "read and write /dev/dri/renderD128",
        "origin": "the driver itsdriver",
        "fix": "usermod -aG render $USER",
    }


def test_a_profile_from_before_is_read() -> None:
    document = msgspec.json.decode(write_profile(host(DISCRETE)))
    for device in document["host"]["devices"]:
        del device["nodes"]
    assert read_profile(msgspec.json.encode(document), where="x").devices[1].nodes is None
