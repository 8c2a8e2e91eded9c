"""Linux's processor, memory and limits: recorded machines, and files that lie."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from inferry.catalog.values.host import Memory
from inferry.runtime.detect.linux import Linux
from inferry.runtime.detect.sysfs.cpuinfo import cpu_list
from inferry.runtime.detect.sysfs.tree import LIMIT, Tree, clean, whole
from inferry.tests.fakes.hosts import HOSTS, NAMES, plant, recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="PCI addresses are no file names there")


@pytest.mark.parametrize("name", NAMES)
def test_each_machine_says_where_it_comes_from(name: str) -> None:
    told = json.loads((HOSTS / f"{name}.json").read_text(encoding="utf-8"))
    assert told["how"] in {"recorded", "rebuilt"}
    assert len(told["origin"]) > 20
    assert told.keys() == {"how", "origin", "files", "expected"}


@pytest.mark.parametrize("name", NAMES)
def test_platform_processor_and_memory_of_each_machine(name: str, tmp_path: Path) -> None:
    machine = recorded(name, tmp_path)
    host, wanted = Linux(machine.root).host(), machine.expected
    assert host.platform == wanted.platform
    assert host.memory == wanted.memory
    told = machine.files["proc/cpuinfo"]
    assert isinstance(told, str)
    features = re.search(r"^(?:flags|Features)\s*: (.*)$", told, re.MULTILINE)
    assert features
    assert host.cpu == msgspec.structs.replace(wanted.cpu, features=tuple(sorted(features[1].split())))
    assert (host.python, host.onnxruntime.module) == (None, None)


def test_every_known_fact_has_an_origin(tmp_path: Path) -> None:
    host = Linux(recorded("snapdragon-x-elite", tmp_path).root).host()
    for part in ("platform", "cpu", "memory"):
        for fact, value in msgspec.structs.asdict(getattr(host, part)).items():
            assert value is None or host.origin(f"{part}.{fact}"), fact
    assert host.origin("cpu.name") == "/proc/cpuinfo"
    assert host.origin("cpu.threads") == "/sys/devices/system/cpu/online"
    assert host.origin("platform.soc") == "/sys/firmware/devicetree/base/compatible"


UNLIMITED = "9223372036854771712\n"
GROUPS: dict[str, tuple[dict[str, str], int | None, float | None, str]] = {
    "version 2, in the container": (
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "4294967296\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
        },
        4294967296,
        1.5,
        "/sys/fs/cgroup/memory.max",
    ),
    "version 2, the tightest above": (
        {
            "proc/self/cgroup": "0::/a.slice/b.scope\n",
            "sys/fs/cgroup/a.slice/memory.max": "1000000\n",
            "sys/fs/cgroup/a.slice/b.scope/memory.max": "2000000\n",
            "sys/fs/cgroup/a.slice/cpu.max": "max 100000\n",
            "sys/fs/cgroup/a.slice/b.scope/cpu.max": "50000 100000\n",
        },
        1000000,
        0.5,
        "/sys/fs/cgroup/a.slice/memory.max",
    ),
    "version 2, the path of outside": (
        {"proc/self/cgroup": "0::/../../kubepods/pod1\n", "sys/fs/cgroup/memory.max": "3000000\n"},
        3000000,
        None,
        "/sys/fs/cgroup/memory.max",
    ),
    "version 1": (
        {
            "proc/self/cgroup": "9:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED,
            "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "5000000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us": "100000\n",
        },
        5000000,
        2.0,
        "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
    ),
    "both": (
        {
            "proc/self/cgroup": "4:memory:/\n0::/\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "6000000\n",
            "sys/fs/cgroup/unified/cpu.max": "100000 100000\n",
        },
        6000000,
        1.0,
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ),
    "none": (
        {
            "proc/self/cgroup": "0::/\n1:cpu:/\n",
            "sys/fs/cgroup/memory.max": "max\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        None,
        None,
        "/proc/meminfo",
    ),
    "affinity": (
        {
            "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0,2\n",
            "sys/devices/system/cpu/online": "0-7\n",
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "400000 100000\n",
        },
        None,
        2.0,
        "/proc/meminfo",
    ),
    "no sense": (
        {"proc/self/cgroup": "\n:\n0::\n0::/x:y\nx:memory\n", "sys/fs/cgroup/cpu.max": "1 0\n"},
        None,
        None,
        "/proc/meminfo",
    ),
}


@pytest.mark.parametrize(("files", "memory", "threads", "origin"), GROUPS.values(), ids=GROUPS)
def test_limits(files: dict[str, str], memory: int | None, threads: float | None, origin: str, tmp_path: Path) -> None:
    plant(tmp_path, files)
    host = Linux(tmp_path).host()
    assert (host.memory.limit_bytes, host.cpu.limit) == (memory, threads)
    assert host.origin("memory.limit_bytes") == origin


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8", (0, 1, 2, 3, 8)),
        ("0", (0,)),
        ("", ()),
        (None, ()),
        ("3-1", ()),
        ("-1", ()),
        ("a-b", ()),
        ("0-99999999", ()),
        (",".join(["0-8192"] * 9), ()),
    ],
)
def test_lists_of_processors(text: str | None, numbers: tuple[int, ...]) -> None:
    assert cpu_list(text) == numbers


def test_many_processors_are_counted_where_cpuinfo_is_cut_off(tmp_path: Path) -> None:
    block = "processor\t: {}\nvendor_id\t: AuthenticAMD\nphysical id\t: 0\ncore id\t: {}\nflags\t: " + "x" * 1000
    text = "\n\n".join(block.format(number, number) for number in range(256))
    assert len(text) > LIMIT
    plant(tmp_path, {"proc/cpuinfo": text})
    assert (Linux(tmp_path).host().cpu.threads, Linux(tmp_path).host().cpu.cores) == (None, None)
    plant(tmp_path, {"sys/devices/system/cpu/online": "0-255\n"})
    assert (Linux(tmp_path).host().cpu.threads, Linux(tmp_path).host().cpu.cores) == (256, None)
    siblings = {
        f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list": f"{number % 128},{number % 128 + 128}\n"
        for number in range(256)
    }
    plant(tmp_path, siblings)
    assert Linux(tmp_path).host().cpu.cores == 128


def test_no_core_is_named_for_another(tmp_path: Path) -> None:
    """Of cores of several kinds there is no one model; one that nobody knows leaves the name unknown."""
    arm = "processor\t: {}\nFeatures\t: fp\nCPU implementer\t: {}\nCPU part\t: {}\n"
    plant(tmp_path, {"proc/cpuinfo": arm.format(0, "0x41", "0xd05") + "\n" + arm.format(1, "0x41", "0xfff")})
    cpu = Linux(tmp_path).host().cpu
    assert (cpu.vendor, cpu.model, cpu.name, cpu.features) == ("ARM", None, None, ("fp",))
    plant(tmp_path, {"proc/cpuinfo": arm.format(0, "nonsense", "0xd05")})
    assert Linux(tmp_path).host().cpu.vendor is None


def test_whole_numbers_are_plain_ones() -> None:
    assert [whole(text) for text in ("7", " 7\n", "0")] == [7, 7, 0]
    assert {whole(text) for text in ("", None, "-1", "1_0", "\u0667", "1.0", "9" * 400)} == {None}
    assert [whole(text, 16) for text in ("0x10", "ff", "0xZZ")] == [16, 255, None]


def test_what_a_file_says_is_one_printable_line() -> None:
    assert clean("\x1b[31mred\x07\n\tand  more\u202e") == "[31mred and more"
    assert clean("x" * 5000) == "x" * 200
    assert clean("\0\n ") is clean(None) is None


READ = (
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/self/cgroup",
    "proc/self/status",
    "proc/sys/kernel/osrelease",
    "proc/sys/kernel/arch",
    "etc/os-release",
    "sys/devices/system/cpu/online",
    "sys/class/dmi/id/product_name",
    "sys/firmware/devicetree/base/compatible",
)


def unreadable(file: Path) -> None:
    file.write_text("x")
    file.chmod(0)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "folder": lambda file: file.mkdir(),
    "loop": lambda file: file.symlink_to(file.name),
    "dangling": lambda file: file.symlink_to("nowhere"),
    "pipe": os.mkfifo,
    "device": lambda file: file.symlink_to("/dev/zero"),
    "unreadable": unreadable,
    "huge": lambda file: file.write_bytes(b"processor : 0\nflags : " + b"sse " * 10**6),
    "binary": lambda file: file.write_bytes(bytes(range(256)) * 300),
    "empty": lambda file: file.touch(),
    "a NUL": lambda file: file.write_bytes(b"\0"),
    "colons": lambda file: file.write_text(":::\n" * 99),
    "numbers": lambda file: file.write_text("9" * 4000),
}
"""What nobody expects in place of a file."""


@pytest.mark.parametrize("put", HOSTILE.values(), ids=HOSTILE)
def test_nothing_in_place_of_a_file_raises_or_waits(put: Callable[[Path], object], tmp_path: Path) -> None:
    for path in READ:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        put(tmp_path / path)
    host = Linux(tmp_path).host()
    assert host.memory == Memory()
    assert host.cpu.name is host.platform.name is None
    assert host.platform.architecture in {None, "x"}
    assert msgspec.json.decode(msgspec.json.encode(host), type=type(host)) == host


def test_what_is_no_name_is_no_file(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert (tree.text("a\0b"), tree.names("a\0b"), tree.is_folder("a\0b"), tree.target("a\0b")) == (
        None,
        (),
        False,
        None,
    )
    assert (tree.text("x" * 5000), tree.names("x" * 5000), tree.is_folder("x" * 5000)) == (None, (), False)
