"""Sources that are set up: whom names are told to, what is trusted, and what runs when they are gone."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from inferry.catalog.errors import (
    ModelNotFound,
    NetworkError,
    NotFoundError,
    NotInstalled,
    Refused,
    VerificationError,
    VersionNotFound,
)
from inferry.catalog.settings import Effective
from inferry.cli import inferry as group
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.settings import Machine
from inferry.tests.indexes import NOW, World, copied, empty_index
from inferry.tests.servers import serving
from inferry.tests.shelves import adds, publish
from inferry.tests.sites import NAME, Site, hand_out, run

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> World:
    """An index with one model."""
    world = empty_index(tmp_path_factory.mktemp("an index"))
    world.repository.add(world.model, NOW)
    return world


@pytest.fixture
def site(made: World, tmp_path: Path) -> Generator[Site]:
    """A copy of it behind a server; nobody has set it up."""
    world = copied(made, tmp_path)
    with serving(lambda request, _: hand_out(world.site, request)) as served:
        yield Site(world, served, tmp_path / "home")


def test_what_is_pulled_from_a_web_server_runs_when_it_is_gone(site: Site) -> None:
    site.add()
    (ready,) = site.client.prepare([NAME])
    assert (ready.model, ready.variant, ready.source) == (f"{NAME}@=1.0.0", "fp32", "site")
    assert ready.fetched_bytes == (site.world.model / "fp32.onnx").stat().st_size
    shutil.rmtree(site.world.site)
    assert site.asked
    assert adds(site.client)
    assert adds(site.client)
    assert not site.asked
    site.sources().remove("site")
    assert adds(site.client)
    with pytest.raises(ModelNotFound):
        site.client.prepare(["acme/other"])


def test_a_look_up_without_news_takes_two_requests(site: Site) -> None:
    site.add()
    site.client.find(NAME)
    assert len(site.asked) > 5
    assert site.client.find(NAME)
    assert site.asked == ["/metadata/2.root.json", "/metadata/timestamp.json"]


def test_one_client_asks_once_for_what_it_asks_at_once(site: Site) -> None:
    site.add()
    client = site.client
    client.find(NAME)
    assert site.asked
    client.find(NAME)
    client.describe(NAME)
    assert not site.asked
    client.prepare([NAME])
    assert site.asked[:2] == ["/metadata/2.root.json", "/metadata/timestamp.json"]


def test_news_is_seen_by_who_pulls_and_by_nobody_else(site: Site) -> None:
    site.add()
    site.client.prepare([NAME])
    site.publish("1.1.0")
    assert site.client.find(NAME).release.version == "1.0.0"  # type: ignore[union-attr]
    assert not site.client.prepare([NAME])[0].model.endswith("1.0.0")
    assert site.client.find(NAME).release.version == "1.1.0"  # type: ignore[union-attr]
    assert site.client.find(f"{NAME}@=1.0.0").release.version == "1.0.0"  # type: ignore[union-attr]
    with pytest.raises(VersionNotFound) as caught:
        site.client.find(f"{NAME}@3")
    assert caught.value.hints()[0] == "there is acme/add@=1.1.0"


def test_what_is_revoked_runs_no_more_once_that_is_known(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add()
    site.client.prepare([NAME])
    assert adds(site.client)
    site.mark("1.0.0", "revoked")
    assert adds(site.client)
    assert run(site, "source", "refresh").stdout == "site: 1 looked up, 1 revoked\n"
    site.sources().remove("site")
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    for version in ("", "@=1.0.0"):
        with pytest.raises(Refused, match=r"^acme/add@=1\.0\.0 was revoked by site: because$"):
            site.client.load(NAME + version)
        assert run(site, "run", NAME + version, "--input", "a=random").exit_code == 8


def test_what_is_revoked_is_not_pulled(site: Site, tmp_path: Path) -> None:
    site.add()
    site.publish("1.1.0")
    site.mark("1.1.0", "revoked")
    assert site.client.prepare([NAME])[0].model == f"{NAME}@=1.0.0"
    with pytest.raises(Refused, match=r"^acme/add@=1\.1\.0 was revoked: because$"):
        site.client.prepare([f"{NAME}@=1.1.0"])
    other = empty_index(tmp_path / "second")
    other.repository.add(tmp_path / "v1.1.0", NOW)
    root = other.site / "metadata/1.root.json"
    site.sources().add(Wish(str(other.site), name="second", root=root, priority=1), Transport())
    with pytest.raises(Refused, match=r"^acme/add@=1\.1\.0 was revoked by site: because$"):
        site.client.prepare([NAME])


def test_what_is_yanked_is_chosen_only_where_it_is_meant(site: Site) -> None:
    site.add()
    site.publish("1.1.0")
    site.client.prepare([f"{NAME}@1.1"])
    site.mark("1.1.0", "yanked")
    assert adds(site.client, f"{NAME}@1.1")
    assert site.client.prepare([NAME])[0].model == f"{NAME}@=1.0.0"
    assert site.client.prepare([f"{NAME}@=1.1.0"])[0].model == f"{NAME}@=1.1.0"
    site.mark("1.0.0", "yanked")
    assert site.client.prepare([NAME])[0].model == f"{NAME}@=1.1.0"
    shutil.rmtree(site.home / "data/models")
    with pytest.raises(VersionNotFound, match="no stable release") as caught:
        site.client.find(NAME)
    assert caught.value.hints()[0] == "there is acme/add@=1.1.0, yanked: because"


def test_a_folder_is_a_source_too(site: Site) -> None:
    told = site.sources().add(Wish(str(site.world.site), root=site.world.site / "metadata/1.root.json"), Transport())
    assert (told.spec.name, told.spec.url) == ("site", f"{site.world.site.as_uri()}/")
    assert told.spec.fingerprint == site.fingerprint
    site.client.prepare([NAME])
    assert adds(site.client)
    assert not site.asked


def test_without_the_network_what_was_looked_up_is_known(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add()
    site.client.find(NAME)
    assert site.asked
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    assert site.client.find(NAME)
    with pytest.raises(NotInstalled, match=r"^INFERRY_OFFLINE: .*`acme/other` was not looked up in .*site"):
        site.client.find("acme/other")
    with pytest.raises(Refused, match="INFERRY_OFFLINE") as caught:
        site.client.prepare([NAME])
    assert caught.value.hints()[0].startswith(f"it lies at {site.url}blobs/sha256/")
    with pytest.raises(Refused, match="INFERRY_OFFLINE"):
        SourceList(site.machine, lambda: site.client.settings(), site.home).add(  # noqa: PLW0108 - read when asked
            Wish(site.url, fingerprint=site.fingerprint), Transport()
        )
    assert not site.asked


def test_what_may_not_be_installed_is_not_looked_up(site: Site) -> None:
    site.add()
    assert site.asked
    with pytest.raises(NotInstalled, match="install is `never`"):
        site.client.load(NAME, install="never")
    assert not site.asked


def test_a_namespace_is_told_to_its_source_alone(site: Site, made: World, tmp_path: Path) -> None:
    other = copied(made, tmp_path / "other")
    with serving(lambda request, _: hand_out(other.site, request)) as served:
        fingerprint = other.repository.status(NOW).fingerprint
        site.add(url=f"{served.url}/", name="public", fingerprint=fingerprint, priority=1)
        site.add(namespaces=("acme",))
        served.asked.clear()
        site.client.prepare([NAME])
        with pytest.raises(ModelNotFound):
            site.client.find("acme/secret")
        told = "".join(f"{each.path}{each.headers}" for each in served.asked)
        assert "add" not in told
        assert "secret" not in told
        assert not served.asked
        assert site.asked
        with pytest.raises(ModelNotFound):
            site.client.find("beta/thing")
        assert served.asked
        assert not site.asked
    with pytest.raises(Refused, match="asked for at site alone"):
        site.client.find(NAME, source="public")
    with pytest.raises(Refused, match="its own namespaces alone"):
        site.client.find("beta/thing", source="site")
    with pytest.raises(NotFoundError, match="there is no source `nosuch`"):
        site.client.find("beta/thing", source="nosuch")


def test_they_are_asked_in_their_order_and_one_alone_if_it_is_named(site: Site, tmp_path: Path) -> None:
    other = empty_index(tmp_path / "second")
    other.repository.add(publish(tmp_path / "newer", version="2.0.0"), NOW)
    root = other.site / "metadata/1.root.json"
    site.sources().add(Wish(str(other.site), name="second", root=root, priority=5), Transport())
    site.add()
    assert [each.spec.name for each in site.sources().all()] == ["second", "site"]
    assert site.client.find(NAME).source == "second"
    assert not [each for each in site.asked if "acme" in each]
    for word in ("site", site.url, site.url[:-1]):
        assert site.client.find(NAME, source=word).source == "site"
    assert site.client.find(f"{NAME}@=1.0.0").source == "site"
    site.client.prepare([NAME], source="site")
    assert site.client.find(NAME).source == "site"
    with pytest.raises(NotInstalled):
        site.client.load(NAME, source="second", install="never")


def test_a_source_that_cannot_be_asked_lets_no_other_answer(site: Site, tmp_path: Path) -> None:
    site.add(priority=1)
    other = empty_index(tmp_path / "second")
    other.repository.add(publish(tmp_path / "newer", version="2.0.0"), NOW)
    site.sources().add(Wish(str(other.site), name="second", root=other.site / "metadata/1.root.json"), Transport())
    shutil.rmtree(site.world.site)
    with pytest.raises(NetworkError, match=r"site \(http:"):
        site.client.find(NAME)
    assert site.client.find(NAME, source="second").source == "second"


def test_one_version_is_one_release_whoever_has_it(site: Site, tmp_path: Path) -> None:
    site.add()
    site.client.prepare([NAME])
    other = empty_index(tmp_path / "second")
    other.repository.add(publish(tmp_path / "changed", precisions=("int8",)), NOW)
    root = other.site / "metadata/1.root.json"
    site.sources().add(Wish(str(other.site), name="second", root=root, priority=1), Transport())
    with pytest.raises(VerificationError, match=r"of second is sha256:\w+, and of site.* a release never changes"):
        site.client.prepare([NAME])
    assert adds(site.client)
    assert site.client.prepare([NAME], source="site")


def test_the_machine_says_which_may_be_asked(site: Site) -> None:
    site.add()
    elsewhere = 'sources.allow = ["https://models.example.org/"]'
    site.machine.folder.mkdir(exist_ok=True)
    (site.machine.folder / "policy.toml").write_text(elsewhere, encoding="utf-8")
    assert site.asked
    with pytest.raises(ModelNotFound):
        site.client.find(NAME)
    with pytest.raises(Refused, match=r"^policy.toml: sources.allow: the source new \(http://127.0.0.1:\d+/\) is not"):
        site.sources(elsewhere).add(Wish(site.url, name="new", fingerprint=site.fingerprint), Transport())
    assert not site.asked
    for allowed in (site.url, "site"):
        (site.machine.folder / "policy.toml").write_text(f'sources.allow = ["{allowed}"]', encoding="utf-8")
        assert site.client.find(NAME)
    (site.machine.folder / "policy.toml").write_text(f'sources.allow = ["{site.url[:-2]}"]', encoding="utf-8")
    with pytest.raises(ModelNotFound):
        site.client.find(NAME)


def test_the_machine_has_sources_for_everybody(site: Site) -> None:
    site.add()
    site.machine.folder.mkdir(exist_ok=True)
    file = site.home / "config/sources.toml"
    file.rename(site.machine.folder / "sources.toml")
    shutil.rmtree(site.home / "data")
    assert [each.origin for each in site.sources().all()] == ["system"]
    assert site.client.find(NAME)
    with pytest.raises(Refused, match="for everybody"):
        site.sources().remove("site")


def test_setting_one_up_twice_changes_nothing(site: Site) -> None:
    site.add()
    file = site.home / "config/sources.toml"
    before = file.read_bytes()
    site.add()
    assert file.read_bytes() == before
    with pytest.raises(Refused, match="there is another source `site`"):
        site.add(namespaces=("acme",))
    assert file.read_bytes() == before
    site.add(name="again", priority=0, namespaces=("acme", "beta"), freshness="warn")
    again, first = (each.spec for each in site.sources().all())
    assert (again.name, again.priority, again.namespaces, again.freshness) == ("again", 0, ("acme", "beta"), "warn")
    assert first.name == "site"
    site.sources().remove("again")
    assert file.read_bytes() == before


def test_commands_say_what_was_done(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    told = run(site, "source", "add", site.url, "--name", "site", "--fingerprint", site.fingerprint.upper())
    assert told.stdout == f"site  {site.url}\ntrusted by the root {site.fingerprint}\n"
    assert run(site, "source", "list").stdout == f"built-in  part of the program\nsite      {site.url}\n"
    assert run(site, "pull", NAME, "--json").exit_code == 0
    assert run(site, "source", "refresh").stdout == "site: 1 looked up, 0 revoked\n"
    assert json.loads(run(site, "source", "list", "--json").stdout)["sources"][0]["fingerprint"] == site.fingerprint
    assert run(site, "source", "remove", site.url).stdout == "site removed\n"
    assert run(site, "source", "remove", "site").exit_code == 3
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    assert run(site, "source", "refresh").exit_code == 8


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 8)])
def test_who_gives_no_fingerprint_is_shown_it_and_asked(
    site: Site, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("inferry.index.commands.options.at_a_terminal", lambda: True)
    told = run(site, "source", "add", str(site.world.site), input=answer)
    assert told.exit_code == code
    assert site.fingerprint in told.stderr
    assert bool(site.sources().all()) is not bool(code)
    assert run(site, "source", "add", site.url).exit_code == 2


def test_an_index_that_has_expired_is_refused_or_warned_of(made: World, tmp_path: Path) -> None:
    world = World(tmp_path / "site", tmp_path / "keys", made.model)
    world.repository.init(NOW.replace(year=NOW.year - 2), ask=lambda: "a long passphrase")
    listed = SourceList(Machine(tmp_path / "machine"), Effective, tmp_path / "home")
    root = world.site / "metadata/1.root.json"
    with pytest.raises(VerificationError, match="has expired") as caught:
        listed.add(Wish(str(world.site), root=root), Transport())
    assert caught.value.hints()[1].startswith("--freshness warn")
    listed.add(Wish(str(world.site), root=root, freshness="warn"), Transport())
    told = CliRunner(env={"INFERRY_HOME": str(tmp_path / "home")}).invoke(group, ["plan", NAME], prog_name="inferry")
    lines = told.stderr.splitlines()
    assert [line.split()[:3] for line in lines[:4]] == [
        ["warning:", "the", role] for role in ("root", "timestamp", "snapshot", "targets")
    ]
    assert lines[4] == f"error: no source knows the model `{NAME}`"
