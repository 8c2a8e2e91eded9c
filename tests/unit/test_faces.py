"""Every command's faces: JSON, more words, help, errors for programs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner, Result

import inferry
from inferry.catalog.version import VERSION
from inferry.cli import inferry as group
from inferry.ep_packages.table import packages
from inferry.runtime.ort import library
from inferry.tests.models import one_node
from inferry.tests.pages import paths
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

HELPS = paths()
GROUPS = {path[:-1] for path in HELPS if path}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(group, arguments, prog_name="inferry")


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    told = run(*arguments, *(["--json"] * ("--json" not in arguments)))
    assert told.exit_code == code
    assert told.stderr == ""
    assert told.stdout.count("\n") == 1
    document: dict[str, Any] = json.loads(told.stdout)
    assert document.pop("schema_version") == 1
    return document


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the examples of the help speak of."""
    (tmp_path / "seven.png").write_bytes(inferry.load("inferry/digits").samples["image"])
    (tmp_path / "model.onnx").write_bytes(one_node("Neg"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_search_has_the_promised_keys() -> None:
    document = answer("search", "digit")
    assert document["total"] == len(document["results"]) == 1
    found = document["results"][0]
    assert found.keys() >= {"name", "version", "task", "precisions", "license", "size_bytes", "fits", "source"}
    assert (found["name"], found["fits"], found["source"]) == ("inferry/digits", None, "built-in")
    assert found["precisions"][0] == "fp32"


def test_run_has_the_promised_keys(tmp_path: Path) -> None:
    document = answer("run", "inferry/digits")
    logits = document["outputs"]["logits"]
    assert (logits["shape"], logits["dtype"], logits["labels"][0]["label"]) == ([1, 10], "float32", "7")
    assert len(logits["data"][0]) == 10
    assert document["samples"] == ["image"]
    ran = document["ran"]
    assert (ran["ep"], ran["device"], ran["nodes"], ran["fallback"]) == (
        "CPUExecutionProvider",
        "cpu",
        {"CPUExecutionProvider": 10},
        None,
    )
    timing = document["timing_ms"]
    assert timing.keys() == {"resolve", "fetch", "install", "open", "run"}
    assert timing["fetch"] == timing["install"] == 0 < timing["open"]
    file = str(tmp_path / "out.npz")
    logits = answer("run", "inferry/digits", "--output", file)["outputs"]["logits"]
    assert (logits["file"], "data" in logits) == (file, False)


def test_show_tells_all_of_a_release_and_of_a_file(here: Path) -> None:
    document = answer("show", "inferry/digits")
    assert document["command"] == "inferry run inferry/digits"
    model = document["model"]
    assert (model["name"], model["variants"][0]["name"], model["license"]) == ("inferry/digits", "fp32", "MIT")
    assert model["inputs"] == [
        {"name": "image", "dtype": "float32", "shape": ["batch", 1, 28, 28], "pipeline": "a picture"}
    ]
    model = answer("show", "./model.onnx")["model"]
    assert (model["name"], model["version"], model["variants"]) == ("./model.onnx", None, [])
    assert model["size_bytes"] == (here / "model.onnx").stat().st_size


def test_devices_has_the_promised_keys(tmp_path: Path) -> None:
    host = answer("devices")["host"]
    assert host.keys() >= {"platform", "devices", "onnxruntime", "ep_devices"}
    pair = host["ep_devices"][0]
    assert pair.keys() >= {"ep", "kind", "vendor_id", "device_id"}
    assert host["onnxruntime"]["version"] == library().__version__
    processor = host["devices"][0]
    assert processor.keys() >= {"kind", "vendor_id", "device_id", "name", "memory_bytes", "driver"}
    assert processor["kind"] == "cpu"
    assert answer("devices", "--save", str(tmp_path / "here.json"))["host"]["devices"] == host["devices"]
    error = answer("devices", "--save", str(tmp_path), code=10)["error"]
    assert error["type"] == "MachineError"


def test_devices_tells_origins_when_asked() -> None:
    told = run("devices", "-v")
    assert re.search(r"^platform +\w", told.stdout, re.MULTILINE)
    assert re.search(r"^cpu ", told.stdout, re.MULTILINE)
    assert "platform.os: from sys.platform\n" in told.stderr
    assert ": from " not in run("devices").stderr


FAILURES: dict[str, tuple[tuple[str, ...], int, str, tuple[str, ...]]] = {
    "unknown": (("show", "inferry/digist"), 3, "ModelNotFound", ("did you mean inferry/digits?",)),
    "version": (("run", "inferry/digits@2"), 3, "VersionNotFound", ("there is inferry/digits@=1.0.0",)),
    "a device": (("run", "inferry/digits", "--device", "luid:0:1"), 4, "NothingFits", ()),
    "usage": (("run", "inferry/digits", "--zzz"), 2, "UsageError", ("try inferry run --help",)),
    "an option mistyped": (
        ("run", "inferry/digits", "--outptu", "x"),
        2,
        "UsageError",
        ("did you mean --output?", "try inferry run --help"),
    ),
    "an option before the command": (("--bogus", "run"), 2, "UsageError", ("try inferry --help",)),
    "no argument": (("run",), 2, "UsageError", ("try inferry run --help",)),
    "no value": (("run", "x", "--input", "a=b", "--output"), 2, "UsageError", ("try inferry run --help",)),
    "an argument too many": (("show", "a", "b"), 2, "UsageError", ("try inferry show --help",)),
    "no command": (("nosuch",), 2, "UsageError", ("try inferry --help",)),
    "a command mistyped": (("serch",), 2, "UsageError", ("did you mean search?", "try inferry --help")),
    "no number": (("search", "--limit", "0"), 2, "UsageError", ("try inferry search --help",)),
    "no size": (
        ("search", "--max-size", "big"),
        2,
        "UsageError",
        ("write 2GB, 500 MB, 1GiB, or a number of bytes",),
    ),
    "no source": (("search", "--source", "nosuch"), 3, "NotFoundError", ("there is built-in",)),
    "a device that is not here": (("search", "--device", "luid:0:1"), 4, "NothingFits", ()),
    "a command of a group": (
        ("cache", "lst"),
        2,
        "UsageError",
        ("did you mean list?", "try inferry cache --help"),
    ),
    "input": (("run", "inferry/digits", "--input", "image=x"), 2, "InvalidInput", ("give the path of a file",)),
}


@pytest.mark.parametrize(("arguments", "code", "kind", "hints"), FAILURES.values(), ids=FAILURES)
def test_failures_are_told_in_words_and_as_documents(
    arguments: tuple[str, ...], code: int, kind: str, hints: tuple[str, ...]
) -> None:
    wants_a_value = len(arguments) if arguments[-1] != "--output" else -1
    error = answer(*arguments[:wants_a_value], "--json", *arguments[wants_a_value:], code=code)["error"]
    assert (error["type"], tuple(error["hints"])) == (kind, hints)
    told = run(*arguments)
    assert (told.exit_code, told.stdout) == (code, "")
    assert told.stderr == "".join(
        f"{line}\n" for line in (f"error: {error['message']}", *map("hint: {}".format, hints))
    )


def test_a_bug_says_that_it_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("inferry.runtime.client.Client.find", broken)
    told = run("run", "inferry/digits")
    assert (told.exit_code, told.stdout) == (1, "")
    assert told.stderr.startswith("error: ZeroDivisionError: oh; this is a bug of inferry\nhint: ")
    told = run("run", "inferry/digits", "-v")
    assert told.stderr.startswith("Traceback (most recent call last)")
    assert "error: ZeroDivisionError: oh" in told.stderr
    assert answer("show", "inferry/digits", code=1)["error"]["type"] == "Bug"


def test_a_full_disk_is_no_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inferry.runtime.client.Client.find", full)
    told = run("run", "inferry/digits")
    assert (told.exit_code, told.stderr) == (10, "error: [Errno 28] No space left on device\n")


def test_more_words_name_what_was_not_used() -> None:
    onnxruntime = library()
    unused = [ep for ep in onnxruntime.get_available_providers() if ep != "CPUExecutionProvider"]
    told = run("run", "inferry/digits", "-v")
    assert f"not used of its execution providers: {', '.join(unused) or 'none'}\n" in told.stderr
    assert "not used" not in run("run", "inferry/digits").stderr


def test_errors_show_their_traceback_when_asked() -> None:
    told = run("run", "inferry/nosuch", "--verbose")
    assert told.exit_code == 3
    assert told.stderr.startswith("Traceback (most recent call last)")
    assert "\nerror: no source knows the model `inferry/nosuch`\n" in told.stderr


def test_wrong_usage_has_no_traceback() -> None:
    told = run("search", "-v", "--limit", "0")
    assert (told.exit_code, told.stderr.count("\n")) == (2, 2)
    assert told.stderr.startswith("error: invalid value for '--limit': ")


@pytest.mark.parametrize("path", HELPS, ids=" ".join)
def test_every_example_in_the_help_runs(
    path: tuple[str, ...], here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sorted(each.name for each in here.iterdir()) == ["model.onnx", "seven.png"]
    told = run(*path, "--help")
    assert told.exit_code == 0
    if path not in {("check",), ("index", "add")}:  # there it is the release's
        assert run(*path, "--version").stdout == f"inferry {VERSION}\n"
    # What one example pulls is no business of other tests.
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path_factory.mktemp("home")))
    if path == ("cache", "remove"):
        run("pull", "inferry/digits")
    if path[:1] == ("index",):
        publish(here / "add")
    if path in {("source", "add"), ("source", "remove")} or (path[:1] == ("index",) and path != ("index", "init")):
        run("index", "init", "site")
    if path == ("source", "remove"):
        run("source", "add", "site", "--root", "site/metadata/1.root.json")
    if path[:1] == ("index",) and path[-1] not in {"init", "add"}:
        run("index", "add", "site", "add")
    examples = re.findall(r"^ *(?:For example: )?inferry (\S.*?)(?:   .*)?$", told.stdout, re.MULTILINE)
    assert len(examples) == (5 if not path else 0 if path in GROUPS else 1)
    for example in examples:
        ran = run(*shlex.split(example))
        assert ran.exit_code == 0, ran.stderr


def test_alone_it_prints_its_examples() -> None:
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("path", [path for path in HELPS if path not in GROUPS], ids=" ".join)
def test_every_command_takes_the_common_options_once(path: tuple[str, ...]) -> None:
    for _ in range(2):
        command: click.Command | None = group
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name)
        assert command
        options = [option for parameter in command.params for option in parameter.opts]
        assert {"--json", "-v", "--verbose", "--version"} <= set(options)
        assert len(options) == len(set(options))


SEARCHES: dict[str, tuple[tuple[str, ...], int]] = {
    "all": ((), 1),
    "the beginning of a word": (("dig",), 1),
    "any case": (("DIGIT", "Handwritten"), 1),
    "the task": (("classification",), 1),
    "a word that is not there": (("digit", "nosuch"), 0),
    "the middle of a word": (("git",), 0),
    "task": (("--task", "image-classification"), 1),
    "another task": (("--task", "translation"), 0),
    "precision": (("--precision", "fp32"), 1),
    "another precision": (("--precision", "bf16"), 0),
    "another licence": (("--license", "Apache-2.0"), 0),
    "a typo": (("hndwriten",), 1),
    "what means the same": (("image recognition",), 1),
    "small enough": (("--max-size", "1MB"), 1),
    "too large": (("--max-size", "1kB"), 0),
    "what runs here": (("--fits", "--precision", "int8"), 1),
    "on this execution provider": (("--ep", "cpu"), 1),
    "on another": (("--ep", "QNN"), 0),
    "on this device": (("--device", "cpu"), 1),
    "of a source": (("--source", "built-in"), 1),
}


@pytest.mark.parametrize(("arguments", "count"), SEARCHES.values(), ids=SEARCHES)
def test_words_find_models(arguments: tuple[str, ...], count: int) -> None:
    told = run("search", *arguments)
    assert told.exit_code == 0
    assert told.stdout.count("inferry/digits") == count
    assert told.stderr == ("" if count else "no model answers it\n")


def test_python_searches_too() -> None:
    assert [found.name for found in inferry.search("digit", precision="fp32")] == ["inferry/digits"]
    assert inferry.search("digit", license="GPL-3.0-only") == []


def test_whether_it_fits_is_told_where_somebody_looked() -> None:
    assert answer("search", "digit", "--fits")["results"][0]["fits"] is True
    assert inferry.search("digit", fits=True)[0].fits is True
    assert inferry.search("digit")[0].fits is None


def test_providers_have_the_promised_keys() -> None:
    told = answer("providers", "list")["providers"]
    assert all(
        each.keys() >= {"name", "ep", "version", "channel", "delivery", "state", "fits", "reasons"} for each in told
    )
    assert {each["name"] for each in told} == {each.name for each in packages()}
    here = next(each for each in told if each["name"] == "inferry/onnxruntime")
    assert (here["state"], here["fits"], here["version"]) == ("ready", True, library().__version__.partition("+")[0])
    assert [(each.name, each.version, each.state) for each in inferry.providers()] == [
        (each["name"], each["version"], each["state"]) for each in told
    ]
    words = run("providers", "list")
    assert words.stdout.startswith("ready ")
    assert max(map(len, words.stdout.splitlines()[::2])) <= 80


def test_show_tells_what_fits_and_what_is_here() -> None:
    model = answer("show", "inferry/digits")["model"]
    assert model["versions"] == {"pulled": [], "sources": {"built-in": ["1.0.0"]}}
    for each in model["variants"]:
        assert (each["fits"], each["ep"], each["device"], each["reason"], each["here"]) == (
            True,
            "CPUExecutionProvider",
            "cpu",
            None,
            True,
        )
    told = run("show", "inferry/digits").stdout
    assert re.search(r"^  int8 .* here  fits: CPUExecutionProvider, cpu$", told, re.MULTILINE)
    assert "\nversions  built-in 1.0.0\n" in told


def test_a_reader_that_goes_away_is_no_bug() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "inferry", "search"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
