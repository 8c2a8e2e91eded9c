"""What the program asks of the system: no connection, no telemetry file, nothing written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from inferry.tests.models import add

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.traces
TELEMETRY = "DeveloperTools"


class Trace(NamedTuple):
    connects: list[str]
    telemetry: list[str]
    written: list[str]
    processes: int
    text: str
    told: str
    """On stderr."""


def traced(home: Path, *command: str, **environment: str) -> Trace:
    """Run Python with ``command`` under strace, with ``home`` for a home folder, and return what it asked for."""
    home.mkdir(exist_ok=True)
    log = home.parent / f"{home.name}.trace"
    calls = "network,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,execve"
    done = subprocess.run(
        [
            shutil.which("strace") or "strace",
            "-f",
            "-qq",
            "-s",
            "300",
            "-e",
            f"trace={calls}",
            "-o",
            log,
            sys.executable,
            *command,
        ],
        env={"PATH": os.environ["PATH"], "HOME": str(home), **environment},
        cwd=home,
        check=True,
        capture_output=True,
    )
    text = log.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if "resumed>" not in line]
    changed = re.compile(r"O_(WRONLY|RDWR|CREAT)|\b(creat|mkdir\w*|rename\w*|unlink\w*)\(")
    return Trace(
        # An event loop wakes itself through a pair of sockets that have no address.
        connects=[line for line in lines if re.search(r"\b(connect|bind)\(|sin6?_addr", line)],
        telemetry=[line for line in lines if TELEMETRY in line],
        written=[line for line in lines if changed.search(line) and '"/dev/' not in line and "__pycache__" not in line],
        processes=sum("execve(" in line for line in lines),
        text=done.stdout.decode(),
        told=done.stderr.decode(),
    )


RUN = ("-m", "inferry", "run", "inferry/digits")


def test_a_run_connects_to_nobody_and_writes_nothing(tmp_path: Path) -> None:
    trace = traced(tmp_path / "home", *RUN)
    assert trace.text.startswith("7 ")
    assert trace.connects == []
    assert trace.telemetry == []
    assert trace.written == []
    assert trace.processes == 1
    assert list((tmp_path / "home").iterdir()) == []


def test_the_control_with_telemetry_on_leaves_its_file(tmp_path: Path) -> None:
    """Without it the test above could not fail."""
    trace = traced(tmp_path / "home", *RUN, ORT_DISABLE_TELEMETRY="0")
    assert trace.text.startswith("7 ")
    assert trace.telemetry
    assert list((tmp_path / "home").rglob("onnxruntime.db"))
    assert [line for line in trace.written if TELEMETRY in line]


def test_the_control_that_connects_is_seen(tmp_path: Path) -> None:
    script = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    assert any("connect(" in call for call in traced(tmp_path / "home", "-c", script).connects)


@pytest.mark.parametrize("command", [("devices",), ("plan", "inferry/digits")])
def test_onnx_runtime_is_asked_once_in_a_child_and_nobody_else_is(command: tuple[str, ...], tmp_path: Path) -> None:
    home = tmp_path / "home"
    cold = traced(home, "-m", "inferry", *command)
    assert "CPUExecutionProvider" in cold.text
    assert (cold.connects, cold.telemetry) == ([], [])
    assert cold.processes == 2
    kept = ".cache/inferry/onnxruntime-v3"
    assert [line for line in cold.written if f'"{home}/.cache' not in line] == []
    assert [str(file.parent.relative_to(home)) for file in home.rglob("*") if file.is_file()] == [kept]
    warm = traced(home, "-m", "inferry", *command)
    assert "CPUExecutionProvider" in warm.text
    assert (warm.connects, warm.telemetry, warm.written) == ([], [], [])
    assert warm.processes == 1
    assert f"{kept}/" in traced(home, "-m", "inferry", "devices", "-v").told


def test_the_control_with_telemetry_on_leaves_its_file_from_the_child_too(tmp_path: Path) -> None:
    trace = traced(tmp_path / "home", "-m", "inferry", "plan", "inferry/digits", ORT_DISABLE_TELEMETRY="0")
    assert trace.telemetry
    assert list((tmp_path / "home").rglob("onnxruntime.db"))


PYTHON = """
import asyncio, inferry
with inferry.load("inferry/digits") as model:
    print(asyncio.run(model.run_async(model.samples)).labels()[0].label)
print(inferry.search("digit")[0].name)
print(inferry.load("model.onnx").run({"a": [[1, 2]], "b": [[3, 4]]})["sum"].tolist())
"""


def test_so_does_python(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "model.onnx").write_bytes(add())
    trace = traced(home, "-c", PYTHON)
    assert trace.text.split("\n")[:3] == ["7", "inferry/digits", "[[4.0, 6.0]]"]
    assert (trace.connects, trace.telemetry, trace.written) == ([], [], [])


def test_the_output_is_the_one_file_that_is_written(tmp_path: Path) -> None:
    trace = traced(tmp_path / "home", *RUN, "--output", "out.npz")
    assert (trace.connects, trace.telemetry) == ([], [])
    assert all("out.npz" in line for line in trace.written)
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["out.npz"]
