"""EP devices that nobody told: a failure is remembered until something changes that it hangs on, variables among it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import inferry
from inferry.catalog.values.host import EpDevice
from inferry.cli import inferry as group
from inferry.tests.fakes.onnxruntimes import SLEEPS, USABLE, pids, plant_distribution, plant_module

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what is kept, of a home that nobody has used."""
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "a home ü"))
    return tmp_path / "a home ü/cache/onnxruntime-v3"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A function that installs such a module before the real one."""

    def install(body: str) -> Path:
        folder = plant_distribution(tmp_path / "site", body)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
        return folder

    return install


def test_a_failure_is_remembered_until_something_changes(kept: Path, planted: Callable[[str], Path]) -> None:
    folder = planted(f"if not os.path.exists('{kept.parent}/mended'): os.abort()\n{USABLE}")
    for asked, command in enumerate((["devices"], ["devices", "--ask-again"]), start=1):
        for _ in range(2 if len(command) == 1 else 1):
            assert "ep devices   ?" in CliRunner().invoke(group, command).stdout
            assert len(pids(folder)) == asked
    with (folder / "onnxruntime/capi/libonnxruntime.so.9.9.9").open("ab") as opened:
        opened.write(b"x")
    assert inferry.devices().ep_devices is None
    assert len(pids(folder)) == 3
    (kept.parent / "mended").touch()
    assert inferry.devices().ep_devices is None
    told = CliRunner().invoke(group, ["devices", "--ask-again"])
    assert "ep devices   CPUExecutionProvider: cpu\n" in told.stdout
    assert "EP devices" not in told.stderr
    assert inferry.devices().ep_devices == (EpDevice(ep="CPUExecutionProvider", kind="cpu"),)
    assert len(pids(folder)) == 4


def test_what_was_never_asked_is_not_remembered(
    kept: Path, planted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(USABLE)
    monkeypatch.setattr(sys, "executable", "/nosuch/python")
    origin = inferry.devices().origin("ep_devices") or ""
    assert "cannot be started" in origin
    assert "asked on" not in origin
    assert not kept.exists()


def test_ctrl_c_is_no_failure(kept: Path, tmp_path: Path) -> None:
    folder = plant_module(tmp_path / "site", SLEEPS)
    # Whoever starts the tests may have it ignored, as shells do for what runs in the background.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{heed}; import sys; sys.path.insert(0, {str(folder)!r}); import inferry; inferry.devices()"
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as started:
        end = time.monotonic() + 20
        while not pids(folder) and time.monotonic() < end:
            time.sleep(0.01)
        started.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in started.communicate(timeout=20)[1]
    assert not kept.exists()


def test_the_variables_that_rows_name_are_kept_and_counted(
    kept: Path, planted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("CUDA_VISIBLE_DEVICES", "VK_LOADER_DRIVERS_SELECT", "ACME")
    folder = planted(f"{USABLE}\n__version__ = ' '.join(os.environ.get(each, '?') for each in {names})")
    asked = 0
    for name in names:
        for value in ("0,1", "1"):
            monkeypatch.setenv(name, value)
            inferry.devices()
            asked += name != "ACME"
            assert len(pids(folder)) == asked
    assert inferry.devices().onnxruntime.version == "1 1 ?"
    assert len(list(kept.iterdir())) == 1


def test_nor_is_a_failure_remembered_there(
    tmp_path: Path, planted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = planted("os.abort()")
    (tmp_path / "file").touch()
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "file"))
    for asked in (1, 2):
        origin = inferry.devices().origin("ep_devices") or ""
        assert "crashed: SIGABRT; " in origin
        assert "; not kept: " in origin
        assert "asked on" not in origin
        assert len(pids(folder)) == asked


@pytest.mark.skipif(sys.platform == "win32", reason="what is no text is no variable there")
@pytest.mark.parametrize("body", [USABLE, "raise ImportError('no \\udcff luck')"])
def test_bytes_that_are_no_text_are_kept_as_well(
    body: str, kept: Path, planted: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = planted(body)
    monkeypatch.setenv("VK_DRIVER_FILES", os.fsdecode(b"/drivers/\xff.json"))
    assert inferry.devices().ep_devices == inferry.devices().ep_devices
    assert len(pids(folder)) == len(list(kept.iterdir())) == 1
