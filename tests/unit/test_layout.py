"""The laws of the house: what is shipped, how large a file may be, what each dependency is for."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

from inferry.index.client.source import FolderSource

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("catalog", "registry", "ep_packages", "runtime", "index")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def sources() -> list[Path]:
    return [*ROOT.glob("*.py"), *(file for room in (*ROOMS, "tests") for file in (ROOT / room).rglob("*.py"))]


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    """An editable install hides a forgotten one; the wheel does not."""
    folders = {file.parent.relative_to(ROOT) for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    packages = ["inferry", *(".".join(("inferry", *folder.parts)) for folder in folders)]
    assert sorted(packages) == sorted(PROJECT["tool"]["setuptools"]["packages"])


def test_the_root_holds_three_python_files() -> None:
    """Whatever else lay there would be shipped."""
    assert sorted(file.name for file in ROOT.glob("*.py")) == ["__init__.py", "__main__.py", "cli.py"]


def test_files_and_functions_stay_small() -> None:
    too_large: list[str] = []
    for file in sources():
        text = file.read_text(encoding="utf-8")
        limit = 40 if file.name == "__init__.py" else 400
        if (lines := len(text.splitlines())) > limit:
            too_large.append(f"{file.relative_to(ROOT)}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno
                if (lines := node.end_lineno - node.lineno + 1) > 60:
                    too_large.append(f"{file.relative_to(ROOT)}: {node.name}: {lines} lines")
    assert not too_large


def test_the_base_install_brings_no_onnx_runtime() -> None:
    """An environment may have another distribution of that module, which must not be overwritten."""
    declared = [Requirement(line) for line in requires("inferry") or ()]
    base = {wanted.name for wanted in declared if not wanted.marker or wanted.marker.evaluate({"extra": ""})}
    assert "click" in base
    assert not [name for name in base if name.startswith("onnxruntime")]


def test_each_dependency_has_its_reason() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    declared = {("", line) for line in PROJECT["project"]["dependencies"]}
    declared |= {(extra, line) for extra, lines in extras.items() for line in lines}
    page = (ROOT / "docs/decisions/dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w.-]+) \| ?(\w*) \| \S", page, re.MULTILINE)
    told = {(extra, name) for name, extra in rows} - {("extra", "distribution")}
    named = {(extra, Requirement(line).name) for extra, line in declared}
    assert {(extra, name) for extra, name in named if name != "inferry"} == told


STARTERS = {"subprocess", "multiprocessing", "concurrent.futures", "pty", "_posixsubprocess"}
STARTS = re.compile(r"fork\w*|spawn\w*|exec[lv]\w*|posix_spawn\w*|system|popen|startfile|create_subprocess_\w+")


def starts(tree: ast.AST) -> list[str]:
    """Return what in a file could start a process."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names if each.name in STARTERS]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module] if node.module in STARTERS and not node.level else []
            found += [each.name for each in node.names if node.module == "os" and STARTS.fullmatch(each.name)]
        elif (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in {"os", "asyncio"}
        ):
            found += [node.attr] if STARTS.fullmatch(node.attr) else []
    return found


def test_one_module_starts_processes() -> None:
    found = {
        file.relative_to(ROOT).as_posix(): told
        for file in sources()
        if ROOT / "tests" not in file.parents and (told := starts(ast.parse(file.read_text(encoding="utf-8"))))
    }
    assert found == {"runtime/child.py": ["subprocess"]}
    bad = "import os, subprocess\nfrom os import fork\nos.execv\nasyncio.create_subprocess_exec\nos.path.exists"
    assert starts(ast.parse(bad)) == ["subprocess", "fork", "execv", "create_subprocess_exec"]


def test_no_code_knows_the_built_in_models() -> None:
    """They are data: their names stand in docstrings and help texts only."""
    models = FolderSource().names()
    assert models
    found: list[str] = []
    for file in sources():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        documented = [
            node.body[0].value
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented:
                found += [f"{file}:{node.lineno}" for name in models if name in node.value]
    assert [where for where in found if "/tests/" not in Path(where).as_posix()] == []
    assert found, "the tests name them"
