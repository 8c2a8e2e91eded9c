"""Detection on any system: what is known without files of one system, and what it costs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import inferry
from inferry.catalog.values.host import Distribution, Host, OrtFacts, Platform, architecture
from inferry.runtime.detect import environment
from inferry.runtime.detect.detector import detect
from inferry.runtime.detect.generic import Generic
from inferry.runtime.detect.macos import MacOs
from inferry.runtime.detect.windows import Identifier, Windows

if TYPE_CHECKING:
    from pathlib import Path


def test_the_processor_is_a_device_and_no_other_kind_was_looked_for() -> None:
    host = Generic().host()
    assert [device.kind for device in host.devices] == ["cpu"]
    assert host.searched == ("cpu",)
    assert host.cpu.threads
    assert host.python
    assert host.python.version == ".".join(map(str, sys.version_info[:3]))
    assert host.ep_devices is None


@pytest.mark.parametrize(
    ("machine", "word"),
    {
        "x86_64": "x64",
        "AMD64": "x64",
        "aarch64": "arm64",
        "ARM64": "arm64",
        "i686": "x86",
        "riscv64": "riscv64",
    }.items(),
)
def test_machines_have_one_word_on_all_systems(machine: str, word: str) -> None:
    assert architecture(machine) == word


def test_an_origin_stands_for_all_below_it() -> None:
    host = Host(platform=Platform(os="linux"), origins={"cpu": "a", "devices[1].driver": "b", "devices[1]": "c"})
    assert (host.origin("cpu.name"), host.origin("cpu")) == ("a", "a")
    assert (host.origin("devices[1].driver.version"), host.origin("devices[1].name")) == ("b", "c")
    assert (host.origin("devices[0].name"), host.origin("memory"), host.origin("")) == (None, None, None)
    assert Host(platform=Platform(os="linux"), origins={"": "file"}).origin("memory.total_bytes") == "file"


IDENTIFIERS = {
    "Intel64 Family 6 Model 140 Stepping 1, GenuineIntel": Identifier("x64", "GenuineIntel", (6, 140, 1)),
    "AMD64 Family 25 Model 80 Stepping 0, AuthenticAMD": Identifier("x64", "AuthenticAMD", (25, 80, 0)),
    "ARMv8 (64-bit) Family 8 Model 1 Revision 201, Qualcomm Technologies Inc": Identifier(
        "arm64", "Qualcomm Technologies Inc", None
    ),
    "ARMv8 (64-bit) Family 8 Model D4B Revision   0, ARM Limited": Identifier("arm64", "ARM Limited", None),
    "": None,
    "Intel64 Family 99999 Model 1 Stepping 1, x": None,
}


@pytest.mark.parametrize(("text", "told"), IDENTIFIERS.items(), ids=map(str, range(len(IDENTIFIERS))))
def test_windows_names_the_processor_in_the_environment(text: str, told: Identifier | None) -> None:
    assert Identifier.parse(text) == told


def test_windows_tells_an_emulated_python_from_its_machine() -> None:
    arm = {
        "PROCESSOR_ARCHITECTURE": "AMD64",
        "PROCESSOR_IDENTIFIER": "ARMv8 (64-bit) Family 8 Model 1 Revision 201, Qualcomm Technologies Inc",
    }
    host = Windows(arm).host()
    assert (host.platform.os, host.platform.architecture) == ("windows", "arm64")
    assert host.python
    assert host.python.architecture == "x64"
    assert (host.cpu.vendor, host.cpu.model) == ("Qualcomm Technologies Inc", None)
    intel = {"PROCESSOR_IDENTIFIER": "Intel64 Family 6 Model 140 Stepping 1, GenuineIntel"}
    host = Windows(intel).host()
    assert (host.cpu.family, host.cpu.model, host.devices[0].vendor_id) == (6, 140, "8086")
    assert Windows({}).host().platform.architecture is None


def test_macos_adds_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    assert MacOs().host().platform.version == "14.5"
    monkeypatch.setattr("platform.mac_ver", lambda: ("", ("", "", ""), ""))
    assert MacOs().host().platform.version is None


def installed(folder: Path, *distributions: str, module: bool = True) -> None:
    (folder / "onnxruntime").mkdir()
    if module:
        (folder / "onnxruntime/__init__.py").touch()
    for name in distributions:
        (folder / f"{name}.dist-info").mkdir()
        brings = "onnxruntime_qnn" if "qnn" in name else "onnxruntime"
        (folder / f"{name}.dist-info/RECORD").write_text(f"{brings}/LICENSE,,\n{brings}/__init__.py,sha256=x,1\n")


def onnxruntime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> OrtFacts:
    monkeypatch.setattr(sys, "path", [str(folder)])
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    return environment.onnxruntime({})


def test_the_distribution_is_the_one_that_brought_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "onnxruntime_gpu-1.31.1", "onnxruntime_qnn-2.7.0", "onnxruntime_extensions-0.14.0")
    (tmp_path / "onnxruntime_extensions-0.14.0.dist-info/RECORD").unlink()
    assert onnxruntime(tmp_path, monkeypatch) == OrtFacts(
        module=True, distributions=(Distribution(name="onnxruntime-gpu", version="1.31.1"),), version="1.31.1"
    )


def test_two_distributions_leave_the_version_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "onnxruntime-1.31.1", "onnxruntime_directml-1.24.4")
    told = onnxruntime(tmp_path, monkeypatch)
    assert [each.name for each in told.distributions or ()] == ["onnxruntime", "onnxruntime-directml"]
    assert (told.module, told.version) == (True, None)


def test_what_another_left_behind_is_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, module=False)
    assert onnxruntime(tmp_path, monkeypatch) == OrtFacts(module=False, distributions=())


def test_a_module_of_no_distribution_is_one_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path)
    assert onnxruntime(tmp_path, monkeypatch) == OrtFacts(module=True, distributions=())


def test_a_module_put_there_by_hand_leaves_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", type(sys)("onnxruntime"))
    sys.modules["onnxruntime"].__spec__ = None
    assert environment.onnxruntime({}) == OrtFacts()


def test_the_onnx_runtime_of_this_environment_is_known() -> None:
    told = detect().onnxruntime
    assert told.module
    assert told.version


QUIET = """
import sys
seen = []
FORBIDDEN = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "ctypes.", "socket.")
sys.addaudithook(lambda event, arguments: seen.append(event) if event.startswith(FORBIDDEN) else None)
from inferry.runtime.detect.detector import detect
detect()
print(seen, [name for name in sys.modules if name.split(".")[0] in {"numpy", "onnxruntime", "subprocess", "ctypes"}])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there the system is asked for its memory through ctypes")
def test_no_process_is_started_and_no_library_loaded() -> None:
    told = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert told.stdout == "[] []\n"


def test_the_command_imports_neither_numpy_nor_onnxruntime() -> None:
    script = "import sys; sys.argv = ['inferry', 'devices']; from inferry.cli import inferry\ntry: inferry()\n"
    script += "except SystemExit: print(*({'numpy', 'onnxruntime'} & set(sys.modules)), 'none')"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.splitlines()[-1] == "none"


def test_python_has_the_same_facts() -> None:
    assert inferry.devices().platform == detect().platform
    assert inferry.devices().devices == detect().devices
