"""Children: real ones, with whatever a library may do to them; none of them is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import inferry
from inferry.catalog.errors import ChildFailed, ChildNotStarted, ChildTimedOut, OnnxRuntimeMissing
from inferry.runtime.child import ask
from inferry.runtime.ort import library
from inferry.tests.fakes.onnxruntimes import (
    ABORTS,
    EVERY_PIPE,
    FORK,
    HOLDS_THE_LOCK,
    SLEEPS,
    USABLE,
    pids,
    plant_module,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="what is planted here needs signals and fork")
ROOT = Path(__file__).resolve().parents[2]
VERSION = library().__version__
Planted: TypeAlias = "Callable[..., dict[str, Any]]"
QUICK_S = 2.0
"""Far less than what is planted sleeps, far more than a child takes to start."""


def running(pid: int) -> bool:
    """Return whether there is such a process; an orphan that ended may wait for a reaper without end."""
    told = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(told.stdout.strip()) and not told.stdout.startswith("Z")


def all_gone(folder: Path, within_s: float = 0.5) -> bool:
    """Return whether those that imported what is planted in ``folder`` are gone, or are so within moments."""
    seen = pids(folder)
    end = time.monotonic() + within_s
    while seen and time.monotonic() < end:
        if not any(map(running, seen)):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planted:
    """A function that puts such a module before the real one, asks for it, and sees to it that nobody is left."""

    def asked(body: str, limit_s: float = 10) -> dict[str, Any]:
        monkeypatch.syspath_prepend(str(plant_module(tmp_path / "planted", body)))
        begun = time.monotonic()
        try:
            told: dict[str, Any] = ask("ep-devices", limit_s=limit_s)
            return told
        finally:
            assert time.monotonic() - begun < min(limit_s, 3) + QUICK_S
            assert all_gone(tmp_path / "planted")
            with pytest.raises(ChildProcessError):
                os.waitpid(pids(tmp_path / "planted")[0], os.WNOHANG)

    return asked


def test_it_answers_what_this_onnx_runtime_is() -> None:
    told = ask("ep-devices", limit_s=30)
    ort = library()
    assert (told["version"], told["module"]) == (ort.__version__, ort.__file__)
    assert told["available"] == ort.get_available_providers()
    processor = next(each for each in told["devices"] if each["ep"] == "CPUExecutionProvider")
    assert processor["kind"] == "cpu"
    assert processor["device_id"] is None or len(processor["device_id"]) == 4


CRASHES: dict[str, tuple[str, str, str]] = {
    "abort": (ABORTS, "crashed: SIGABRT", "Fatal Python error: Aborted"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "crashed: SIGSEGV", "Segmentation fault"),
    "killed": ("os.kill(os.getpid(), 9)", "crashed: SIGKILL", ""),
    "exit": ("sys.exit(3)", "ended with exit code 3", ""),
    "a bug": ("1 / 0", "ended with exit code 1", "ZeroDivisionError: division by zero"),
    "words on all pipes": (f"{EVERY_PIPE}\nwrite(b'hello\\n')\nos._exit(0)", "ended with exit code 0", "hello"),
    "an answer of rubbish": (f"{EVERY_PIPE}\nwrite(b'\\x1erubbish\\n')\n{SLEEPS}", "cannot be read", ""),
    "an answer of another kind": (f"{EVERY_PIPE}\nwrite(b'\\x1e[1]\\n')\n{SLEEPS}", "cannot be read", ""),
    "an error of no kind": (
        f'{EVERY_PIPE}\nwrite(b\'\\x1e{{"error": {{"type": "int"}}}}\\n\')\n{SLEEPS}',
        "cannot be read",
        "",
    ),
    "an answer without end": (f"{EVERY_PIPE}\nwrite(b'\\x1e' + bytes(2**21))\n{SLEEPS}", "answered more than", ""),
    "one that it started holds the pipes": (f"{FORK}\n{ABORTS}", "crashed: SIGABRT", "Aborted"),
}


@pytest.mark.parametrize(("body", "ended", "tail"), CRASHES.values(), ids=CRASHES)
def test_a_child_that_fails_is_an_error_of_ours(body: str, ended: str, tail: str, planted: Planted) -> None:
    with pytest.raises(ChildFailed) as caught:
        planted(body)
    assert not isinstance(caught.value, ChildTimedOut)
    assert caught.value.exit_code == 7
    assert ended in caught.value.ended
    assert caught.value.message.startswith(f"the child process for ep-devices {caught.value.ended}")
    assert tail in caught.value.tail


@pytest.mark.parametrize("body", [SLEEPS, HOLDS_THE_LOCK, f"{FORK}\n{SLEEPS}", "os.close(2); time.sleep(60)"])
def test_one_that_hangs_is_ended_in_time(body: str, planted: Planted) -> None:
    with pytest.raises(ChildTimedOut, match=r"did not answer within 1 s") as caught:
        planted(body, 1)
    assert caught.value.limit_s == 1


SURVIVED = {
    "prints megabytes": "for number in (1, 2):\n    os.write(number, bytes(2**20)); print('x' * 2**22)",
    "writes bytes that are no text": "os.write(1, b'\\xff\\x1e{}\\n')",
    "reads stdin": "assert sys.stdin.read() == ''; assert os.read(0, 10) == b''",
    "closes stdout": "os.close(1)",
    "starts one that holds the pipes": FORK,
    "leaves a thread": "import threading; threading.Thread(target=time.sleep, args=(60,)).start()",
    "fails at its end": "import atexit; atexit.register(os.abort)",
}


@pytest.mark.parametrize("body", SURVIVED.values(), ids=SURVIVED)
def test_what_a_library_prints_or_starts_does_not_touch_the_answer(body: str, planted: Planted) -> None:
    assert planted(f"{body}\n{USABLE}")["version"] == "9.9.9"


def test_an_error_of_ours_comes_through(planted: Planted) -> None:
    with pytest.raises(OnnxRuntimeMissing, match="cannot be imported: no such luck") as caught:
        planted("raise ImportError('no such luck')")
    assert caught.value.hints()


def test_an_unknown_task_is_told() -> None:
    with pytest.raises(ChildFailed) as caught:
        ask("nosuch", limit_s=30)
    assert "KeyError: 'nosuch'" in caught.value.tail
    assert caught.value.hints() == ("it said: KeyError: 'nosuch'",)


def test_a_large_payload_goes_through_and_is_not_waited_for() -> None:
    """No pipe holds it at once."""
    with pytest.raises(ChildFailed, match="exit code 1"):
        ask("nosuch", "x" * 2**23, limit_s=30)


def test_what_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for executable in ("/nosuch/python", ""):
        monkeypatch.setattr(sys, "executable", executable)
        with pytest.raises(ChildNotStarted, match="start"):
            ask("ep-devices", limit_s=1)


def test_a_caller_that_ignores_its_children_gets_an_answer_too(planted: Planted) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert planted(USABLE)["version"] == "9.9.9"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_the_environment_is_cleaned_and_telemetry_off(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ACME_SECRET", "PYTHONINSPECT", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    told: dict[str, str] = planted(f"{USABLE}\n__version__ = dict(os.environ)")["version"]
    assert not {"ACME_SECRET", "PYTHONINSPECT", "PYTHONSTARTUP"} & told.keys()
    assert told["PATH"] == os.environ["PATH"]
    assert (told["ORT_DISABLE_TELEMETRY"], told["HF_HUB_DISABLE_TELEMETRY"]) == ("1", "0")


def test_it_keeps_the_variables_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plant_module(tmp_path / "x", f"{USABLE}\n__version__ = dict(os.environ)")))
    before = {"ACME": "1", "ACME_A": "a ü", "ACME_B": "", "ACME_": "_", "XACME_A": "x", "PYTHONUTF8": "7"}
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    told = ask("ep-devices", limit_s=30, keep=("ACME_*", "ACME", "PYTHONUTF8"))["version"]
    assert {name: told[name] for name in before if name in told} == {
        **{name: before[name] for name in ("ACME", "ACME_A", "ACME_B", "ACME_")},
        "PYTHONUTF8": str(sys.flags.utf8_mode),
    }
    assert "ACME" not in ask("ep-devices", limit_s=30)["version"]


def test_the_childs_half_imports_next_to_nothing(planted: Planted) -> None:
    told = planted(f"{USABLE}\n__version__ = [*sys.modules]")["version"]
    ours = {each for each in told if each.partition(".")[0] == "inferry"}
    assert ours == {"inferry", *(f"inferry.{each}" for each in ("catalog", "catalog.errors", "catalog.version"))} | {
        "inferry.runtime",
        "inferry.runtime.ort",
    }
    assert not {"click", "msgspec", "numpy", "subprocess"} & set(told)


def asking(limit_s: float, before: str = "") -> str:
    return f"{before}\nfrom inferry.runtime.child import ask\nprint(ask('ep-devices', limit_s={limit_s})['version'])"


def parent(folder: Path, body: str, limit_s: float = 60) -> subprocess.Popen[str]:
    """Start a process that asks a child with this module, and wait until the child imports it."""
    plant_module(folder, body)
    # Whoever starts the tests may have it ignored, as shells do for what runs in the background.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", asking(limit_s, f"{heed}; import sys; sys.path.insert(0, {str(folder)!r})")]
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    end = time.monotonic() + 20
    while len(pids(folder)) < 1 + body.count("fork") and time.monotonic() < end:
        time.sleep(0.01)
    return started


@pytest.mark.parametrize(
    "body", [SLEEPS, f"{FORK}\n{SLEEPS}", f"import signal; signal.signal(2, signal.SIG_IGN); {SLEEPS}"]
)
def test_ctrl_c_ends_the_child_too(body: str, tmp_path: Path) -> None:
    with parent(tmp_path / "x", body) as started:
        assert all(map(running, pids(tmp_path / "x")))
        os.killpg(started.pid, signal.SIGINT)
        assert "KeyboardInterrupt" in started.communicate(timeout=10)[1]
    assert all_gone(tmp_path / "x")


@pytest.mark.parametrize(("body", "within_s"), [(SLEEPS, 1), (f"{FORK}\n{SLEEPS}", 1), (HOLDS_THE_LOCK, 4)])
def test_no_child_outlives_a_parent_that_is_killed(body: str, within_s: float, tmp_path: Path) -> None:
    with parent(tmp_path / "x", body, limit_s=2) as started:
        assert all(map(running, pids(tmp_path / "x")))
        started.kill()
    assert all_gone(tmp_path / "x", within_s)


def test_it_is_the_same_package_wherever_it_lies(tmp_path: Path) -> None:
    """Put on the path by hand, by a Python that looks nowhere else; with letters that no code page has together."""
    package, module = tmp_path / "Ordner ü 船", tmp_path / "and: another"
    package.mkdir()
    (package / "inferry").symlink_to(ROOT)
    plant_module(module, f"{USABLE}\n__version__ = [sys.modules['inferry'].__file__, *sys.path]")
    before = f"import sys; sys.path[:0] = [{str(package)!r}, {str(module)!r}]"
    command = [sys.executable, "-I", "-S", "-c", asking(30, before)]
    for locale in ({"LC_ALL": "C"}, {"LC_ALL": "C.UTF-8"}):
        told = subprocess.run(
            command, capture_output=True, encoding="utf-8", check=True, env=locale | {"PYTHONIOENCODING": "utf-8"}
        )
        assert "Ordner" in told.stdout
        assert "site-packages" not in told.stdout


@pytest.mark.parametrize("entry", ["", "its name"])
def test_nothing_is_imported_from_the_working_folder(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "os", "threading", "inferry", "numpy", "onnxruntime", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('touched', 'w')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry and str(tmp_path), *sys.path])
    assert ask("ep-devices", limit_s=30)["version"] == VERSION
    assert not (tmp_path / "touched").exists()


def test_a_working_folder_that_is_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path / "x")
    (tmp_path / "x").rmdir()
    assert ask("ep-devices", limit_s=30)["version"] == VERSION


def frozen(folder: Path, *, supported: bool) -> subprocess.CompletedProcess[str]:
    """Run what behaves as a frozen app does: whoever starts its executable starts the app itself."""
    app = folder / "the app"
    script = folder / "app.py"
    support = "inferry.freeze_support()" if supported else "pass"
    lines = [
        f"import sys; sys.frozen = True; sys.executable = {str(app)!r}",
        f"open({str(folder / 'starts')!r}, 'a').write('x')",
        f"import inferry; {support}",
        "from inferry.runtime.child import ask",
        "try: print(ask('ep-devices', limit_s=30)['version'])",
        "except inferry.Error as error: sys.exit('\\n'.join((error.message, *error.hints())))",
    ]
    script.write_text("\n".join(lines), encoding="utf-8")
    app.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    app.chmod(0o755)
    return subprocess.run([str(app), "its", "arguments"], capture_output=True, text=True, check=False)


def test_a_frozen_app_is_its_own_child(tmp_path: Path) -> None:
    told = frozen(tmp_path, supported=True)
    assert told.stdout == f"{VERSION}\n"
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "xx"


def test_one_that_does_not_say_so_does_not_start_itself_without_end(tmp_path: Path) -> None:
    told = frozen(tmp_path, supported=False)
    assert told.returncode == 1
    assert "call inferry.freeze_support() first" in told.stderr
    assert (tmp_path / "starts").read_text(encoding="utf-8") == "xx"


def test_without_a_frozen_app_freeze_support_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["x", "--inferry-child"])
    inferry.freeze_support()


def test_the_childs_half_can_be_talked_to_by_hand() -> None:
    """One line in, one line out, whatever is printed before."""
    request = {"task": "ep-devices", "payload": None, "limit_s": 30, "path": sys.path}
    started = subprocess.Popen(
        [sys.executable, "-m", "inferry.runtime.child_main"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(json.dumps(request).encode() + b"\n")
        started.stdin.flush()
        line = started.stdout.readline()
    assert line.startswith(b"\x1e")
    assert json.loads(line[1:])["answer"]["version"] == VERSION
