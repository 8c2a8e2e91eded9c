"""``inferry index``: what is said, and where keys and passphrases come from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from inferry.catalog.errors import Refused
from inferry.cli import inferry as group
from inferry.index.signing.keys import KeyFolder, make_keys
from inferry.tests.clients import fetched, updater
from inferry.tests.shelves import publish


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and a passphrase."""
    publish(tmp_path / "add")
    (tmp_path / "phrase").write_text("a long passphrase\n", encoding="utf-8")
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, code: int = 0, typed: str | None = None) -> Result:
    told = CliRunner().invoke(group, ["index", *arguments], prog_name="inferry", input=typed)
    assert told.exit_code == code, told.output
    return told


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return document


def test_an_index_is_made_added_to_and_shown(here: Path) -> None:
    made = run("init", "site")
    match = re.fullmatch(r"fingerprint ([0-9a-f]{64})\nkeys        (.+)\n", made.stdout)
    assert match
    assert Path(match[2]) == here / "home/config/keys" / match[1]
    assert "passphrase" in made.stderr
    assert run("add", "site", "add").stdout == "acme/add@=1.0.0 added: serial 2\n"
    assert run("add", "site", "add").stdout == "acme/add@=1.0.0 is there already: serial 2\n"
    lines = dict(re.split("  +", line) for line in run("status", "site").stdout.splitlines())
    assert (lines["fingerprint"], lines["serial"], lines["models"]) == (match[1], "2", "1")
    assert lines["root key"] == "online"
    assert fetched(updater(here / "site", here / "client"), "acme/add")


def test_documents(here: Path) -> None:
    made = answer("init", "site", "--keys", "keys", "--passphrase-file", "phrase")
    assert made["passphrase"] is None
    assert {each.name for each in (here / "keys").iterdir()} == {"root.pem", "targets.pem", "online.pem", "lock"}
    added = answer("add", "site", "add", "--keys", "keys")
    assert (added["name"], added["version"], added["serial"], added["new"]) == ("acme/add", "1.0.0", 2, True)
    status = answer("status", "site")
    assert (status["fingerprint"], status["root_key"]) == (made["fingerprint"], "offline")
    assert status["expires"].keys() == {"root", "targets", "models", "bins", "snapshot", "timestamp", "namespaces"}


def test_keys_that_are_there_are_taken(here: Path) -> None:
    run("init", "site", "--keys", "keys", "--passphrase-file", "phrase")
    run("init", "second", "--keys", "keys", "--passphrase-file", "phrase")
    (here / "phrase").write_text("a wrong one", encoding="utf-8")
    error = answer("init", "third", "--keys", "keys", "--passphrase-file", "phrase", code=8)["error"]
    assert error["message"].endswith("this is not the passphrase of the root key")
    assert not (here / "third").exists()


@pytest.mark.usefixtures("here")
def test_somebody_at_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inferry.index.commands.options.at_a_terminal", lambda: True)
    told = run("init", "site", "--keys", "keys", typed="hers\nher\nhers\nhers\n")
    assert "hers" not in told.output
    assert not Path("keys/passphrase").exists()
    assert KeyFolder(Path("keys")).fill(make_keys(), lambda: "hers")
    with pytest.raises(Refused):
        KeyFolder(Path("keys")).fill(make_keys(), lambda: "her")


FAILURES = {
    "no index": (3, ("status", "add"), "holds no index"),
    "no index to add to": (3, ("add", "nosuch", "add"), "holds no index"),
    "keys in it": (8, ("init", "site", "--keys", "site/keys"), "handed out"),
    "a full folder": (8, ("init", "add"), "what lies in the folder of an index is handed out"),
    "no passphrase": (10, ("init", "site", "--passphrase-file", "nosuch"), "cannot be read"),
    "an empty one": (2, ("init", "site", "--passphrase-file", "empty"), "empty"),
    "no text": (2, ("init", "site", "--passphrase-file", "noise"), "not UTF-8"),
    "a file in the way": (10, ("init", "phrase"), "phrase"),
}


@pytest.mark.parametrize(("code", "arguments", "words"), FAILURES.values(), ids=FAILURES)
def test_failures(code: int, arguments: tuple[str, ...], words: str, here: Path) -> None:
    (here / "empty").write_bytes(b"")
    (here / "noise").write_bytes(b"\xff")
    before = {each.name for each in here.iterdir()} | {"home"}
    assert words in run(*arguments, code=code).stderr
    assert {each.name for each in here.iterdir()} <= before


@pytest.mark.usefixtures("here")
def test_what_has_expired_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    run("init", "site")
    monkeypatch.setattr("inferry.index.signing.roles._DAYS", dict.fromkeys(("timestamp", "snapshot", "bins"), -1))
    run("add", "site", "add")
    told = run("status", "site").stderr
    assert [line.partition(" ")[0] for line in told.splitlines()] == ["bins", "snapshot", "timestamp"]


def test_commands_that_sign_nothing_do_not_import_tuf(tmp_path: Path) -> None:
    script = (
        "import sys; from inferry.cli import inferry; inferry(['run', 'inferry/digits'], standalone_mode=False);"
        "inferry(['index', '--help'], standalone_mode=False);"
        "print(*sorted({'tuf', 'securesystemslib', 'cryptography'} & set(sys.modules)), 'end')"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"INFERRY_HOME": str(tmp_path)},
    )
    assert told.stdout.splitlines()[-1].split() == ["end"]
