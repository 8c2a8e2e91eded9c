"""What settings say of loading and fetching holds when something is loaded and fetched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from inferry import Client
from inferry.catalog.errors import NothingFits, NotInstalled, Refused, UsageError
from inferry.cli import inferry as group
from inferry.index.settings import Machine
from inferry.tests.shelves import ONES, publish

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def client(tmp_path: Path) -> Client:
    publish(tmp_path / "shelf/acme/add", precisions=("fp32", "fp16"))
    (tmp_path / "machine").mkdir()
    return Client(home=tmp_path / "home", sources=[tmp_path / "shelf"], machine=Machine(tmp_path / "machine"))


def policy(tmp_path: Path, text: str, file: str = "policy.toml") -> None:
    (tmp_path / "machine" / file).write_text(text, encoding="utf-8")


def test_install_is_what_the_settings_say_unless_the_caller_says_it(client: Client, tmp_path: Path) -> None:
    policy(tmp_path, 'install = "never"', "config.toml")
    with pytest.raises(NotInstalled):
        client.load("acme/add")
    with client.load("acme/add", install="auto") as model:
        assert model.opening.fetched_bytes
    assert client.run("acme/add", ONES)["sum"].tolist() == [[4, 6]]


def test_what_the_machine_policy_says_of_install_holds(client: Client, tmp_path: Path) -> None:
    policy(tmp_path, 'install = "never"')
    with pytest.raises(NotInstalled):
        client.load("acme/add")
    with pytest.raises(Refused, match=r"policy\.toml: install: `auto` is not `never`"):
        client.load("acme/add", install="auto")
    with pytest.raises(UsageError, match="auto or never"):
        client.load("acme/add", install="soon")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_a_model_that_is_too_large_is_not_fetched(client: Client, tmp_path: Path) -> None:
    policy(tmp_path, "[limits]\nmodel_size = 10")
    for call in (lambda: client.load("acme/add"), lambda: client.prepare(["acme/add"])):
        with pytest.raises(Refused, match=r"policy\.toml: limits\.model_size: fp32 of acme/add@=1\.0\.0 has 124 bytes"):
            call()
    assert not list((tmp_path / "home").rglob("blobs/*"))
    policy(tmp_path, "[limits]\nmodel_size = 124")
    client.prepare(["acme/add"])
    policy(tmp_path, "[limits]\nmodel_size = 10")
    client.load("acme/add").close()  # what is here runs


def test_a_setting_that_changed_makes_a_new_plan_and_it_is_said(client: Client, tmp_path: Path) -> None:
    client.prepare(["acme/add"])
    for _ in range(2):
        with client.load("acme/add") as model:
            assert model.opening.changed == ()
    policy(tmp_path, 'policy = "prefer-gpu"', "config.toml")
    with client.load("acme/add") as model:
        assert model.opening.changed == ("a setting",)
    policy(tmp_path, '[eps]\ndeny = ["cpu"]')
    with pytest.raises(NothingFits) as caught:
        client.load("acme/add", install="never")
    assert any("machine-policy" in hint for hint in caught.value.hints())
    with pytest.raises(Refused, match=r"policy\.toml: eps\.deny: `cpu` is among those denied"):
        client.load("acme/add", ep="cpu")


def test_a_collection_takes_its_limit_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    run = CliRunner().invoke
    assert run(group, ["pull", "inferry/digits"]).exit_code == 0
    assert json.loads(run(group, ["cache", "gc", "--dry-run", "--json"]).stdout)["limit_bytes"] is None
    assert run(group, ["config", "set", "limits.store_size", "2kB"]).exit_code == 0
    told = run(group, ["cache", "gc", "--dry-run"])
    assert "stay, more than 2 kB: they are leased, or were used just now" in told.stderr
    told = run(group, ["cache", "gc", "--dry-run", "--max-size", "1GB", "--json"])
    assert json.loads(told.stdout)["limit_bytes"] == 10**9
    (tmp_path / "machine").mkdir()
    policy(tmp_path, "[limits]\nstore_size = 3000")
    monkeypatch.setattr("inferry.runtime.client.this_machine", lambda: Machine(tmp_path / "machine"))
    told = run(group, ["cache", "gc", "--max-size", "1GB"])
    assert told.exit_code == 8
    assert "policy.toml: limits.store_size: 1GB is more than 3kB" in told.stderr
    told = run(group, ["cache", "gc", "--dry-run", "--max-size", "1kB", "--json"])
    assert json.loads(told.stdout)["limit_bytes"] == 1000
