"""The docs agree with the program."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import inferry
from inferry.catalog.policy import POLICIES
from inferry.catalog.resolver.order import PRECISIONS, Key
from inferry.catalog.settings import KEYS, ORDER, VARIABLES
from inferry.cli import inferry as group
from inferry.runtime.profile import HostProfile
from inferry.tests.catalogs import host
from inferry.tests.models import add
from inferry.tests.pages import PAGES, REFERENCE
from inferry.tests.shelves import publish

ROOT = Path(__file__).resolve().parents[2]
CHOICE = ROOT / "docs/concepts/how-the-choice-is-made.md"
TOLD = [ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md")), CHOICE]
NAMES = [file.name for file in TOLD]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the docs speak of."""
    (tmp_path / "model.onnx").write_bytes(add())
    (tmp_path / "array.json").write_text("[[1, 2]]", encoding="utf-8")
    HostProfile(host()).save(tmp_path / "bare.json")
    (tmp_path / "seven.png").write_bytes(inferry.load("inferry/digits").samples["image"])
    publish(tmp_path / "adder", precisions=("fp32", "fp16"), files={"CARD.md": b"# Adds\n"})
    publish(tmp_path / "models/acme/large", "acme/large")
    publish(tmp_path / "models/acme/add")
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))  # what one page pulls is no business of the others
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", TOLD, ids=NAMES)
def test_what_a_page_shows_is_what_the_program_prints(file: Path, here: Path) -> None:
    shown = re.findall(r"^\$ inferry (.+)\n((?:(?!\$|```).*\n)*)", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    for arguments, answer in shown:
        told = CliRunner().invoke(group, arguments.split(), prog_name="inferry")
        assert told.exit_code == 0
        if "--json" in arguments:
            assert json.loads(told.stdout)["schema_version"] == 1
        else:
            assert doctest.OutputChecker().check_output(answer, told.output, doctest.ELLIPSIS), told.output
    assert here.exists()


@pytest.mark.parametrize("file", TOLD[:-1], ids=NAMES[:-1])
def test_what_a_page_computes_is_what_python_answers(file: Path, here: Path) -> None:
    failed, tried = doctest.testfile(str(file), module_relative=False, encoding="utf-8")
    assert tried
    assert not failed
    assert here.exists()


@pytest.mark.parametrize("name", PAGES)
def test_reference_pages_are_those_that_the_program_makes(name: str) -> None:
    """If not: python -m inferry.tests.pages."""
    assert (REFERENCE / name).read_text(encoding="utf-8") == PAGES[name]()


def test_the_order_is_told_as_it_is() -> None:
    text = CHOICE.read_text(encoding="utf-8")
    for name, classes in POLICIES.items():
        assert f"| `{name}` | {', '.join(classes)} |" in text
    for kind, precisions in PRECISIONS.items():
        assert f"| {kind} | {', '.join(precisions)} |" in text
    keys = re.findall(r"^\d\. \*\*(\w+)\*\*", text, re.MULTILINE)
    assert keys == [name for name in Key._fields if name not in {"unfit", "offer", "variant"}]


def test_every_setting_has_a_heading_and_every_heading_a_setting() -> None:
    text = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### `(.+)`\n((?:(?!#).*\n)*)", text, re.MULTILINE))
    assert tuple(sections) == KEYS
    for key, section in sections.items():
        assert (VARIABLES.get(key) or "no variable") in section
    order = re.findall(r"^\d\. \*\*(.+?)\*\*", text, re.MULTILINE)
    assert (*order, "default") == ORDER


def test_every_link_leads_somewhere() -> None:
    for file in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", file.read_text(encoding="utf-8")):
            assert link.startswith("https://") or (file.parent / link).exists(), f"{file}: {link}"


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    left = [ROOT / "README.md"]
    while left:
        file = left.pop()
        seen.add(file)
        links = re.findall(r"\]\(([^)#:]+\.md)", file.read_text(encoding="utf-8"))
        left += {(file.parent / link).resolve() for link in links} - seen
    assert set((ROOT / "docs").rglob("*.md")) <= seen
