"""The rows' verdicts on named machines: outcome and words, each with the published sentence that it follows from."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import pytest

from inferry.catalog.compat import check
from inferry.catalog.selectors import select
from inferry.catalog.values.host import Host
from inferry.catalog.values.requirement import Workload
from inferry.catalog.values.verdict import Outcome
from inferry.ep_packages.table import packages

if TYPE_CHECKING:
    from inferry.catalog.values.package import Build

FOLDER = Path(__file__).parents[1] / "cases/compat"
SYSTEMS = Literal["windows", "windows x64", "windows arm64", "linux x64", "linux arm64", "macos arm64"]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A build of a package held against a device of a machine."""

    package: str
    """Its name on PyPI, perhaps ``@`` and its version."""
    build: SYSTEMS
    host: str
    device: str
    outcome: Outcome
    workload: Workload | None = None
    words: tuple[str, ...]
    """All reasons that are as bad as the outcome; where it fits, those that decide it."""
    quote: str
    """The published sentence, or file, that it follows from."""

    def __str__(self) -> str:
        return f"{self.package} {self.build}, {self.host} {self.device}"


def read() -> tuple[dict[str, Host], list[Case]]:
    files = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.toml"))}
    hosts = msgspec.convert(files.pop("hosts"), dict[str, Host])
    return hosts, [case for file in files.values() for case in msgspec.convert(file["cases"], list[Case])]


HOSTS, CASES = read()


def build_of(case: Case) -> Build:
    name, _, version = case.package.partition("@")
    system, _, architecture = case.build.partition(" ")
    (release,) = (
        release
        for row in packages()
        if row.name == f"inferry/{name}"
        for release in row.releases
        if version in {"", release.version}
    )
    (build,) = (
        build
        for build in release.builds
        if system in {rule.os for rule in build.requires.os}
        and (not architecture or architecture in build.requires.architectures)
    )
    return build


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_verdict_is_what_is_published(case: Case) -> None:
    host = HOSTS[case.host]
    device = host.devices[select(case.device, host)]
    verdict = check(build_of(case).requires, host, device, case.workload)
    told = [reason.words() for reason in verdict.reasons if reason.outcome == case.outcome]
    assert verdict.outcome == case.outcome
    if case.outcome == "fits":
        told = [words for words in told if words in case.words]
    assert sorted(told) == sorted(case.words)


def test_there_are_enough_and_each_says_why() -> None:
    assert len(CASES) >= 60
    assert len({str(case) + (case.workload or "") for case in CASES}) == len(CASES)
    assert all(case.words and len(case.quote) > 5 for case in CASES)
    assert {f"inferry/{case.package.partition('@')[0]}" for case in CASES} == {row.name for row in packages()}
    assert {case.host for case in CASES} == {*HOSTS}
