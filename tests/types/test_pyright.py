"""What a user's type checker says of the code, of the tests, and of the installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.types
ROOT = Path(__file__).resolve().parents[2]


def pyright(*arguments: str, cwd: Path = ROOT, path: str = os.environ["PATH"]) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "PATH": path},
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, document


def told(document: dict[str, Any]) -> list[str]:
    return [
        f"{Path(each['file']).name}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in document["generalDiagnostics"]
    ]


def test_it_finds_nothing_in_code_and_tests() -> None:
    code, document = pyright("--pythonpath", sys.executable)
    assert told(document) == []
    assert code == 0
    files = [
        file
        for file in ROOT.rglob("*.py")
        if not file.relative_to(ROOT).as_posix().startswith((".", "build", "tests/make"))
    ]
    assert document["summary"]["filesAnalyzed"] == len(files)


def test_what_the_wheel_installs_is_wholly_typed(tmp_path: Path) -> None:
    # With --verifytypes, the environment is that of the first Python on the path.
    path = os.pathsep.join([str(Path(os.environ["INFERRY_USER"]).parent), os.environ["PATH"]])
    code, document = pyright("--verifytypes", "inferry", "--ignoreexternal", cwd=tmp_path, path=path)
    report = document["typeCompleteness"]
    wrong = [
        (each["name"], [said["message"] for said in each["diagnostics"]])
        for each in report["symbols"]
        if each["isExported"] and (not each["isTypeKnown"] or each["isTypeAmbiguous"])
    ]
    assert wrong == []
    assert report["completenessScore"] == 1
    assert report["exportedSymbolCounts"]["withKnownType"] > 300
    assert code == 0


USER = """
from typing import assert_type
import inferry
from inferry.runtime.outputs import Label, Outputs
with inferry.load("inferry/digits", precision="fp16") as model:
    assert_type(model, inferry.Model)
    out = model.run({"image": "seven.png"})
assert_type(out, Outputs)
assert_type(out.labels(), list[Label])
assert_type(inferry.run("a/b", {}), Outputs)
assert_type(inferry.search("digit")[0].fits, bool | None)
async def soon() -> None:
    assert_type(await model.run_async({}), Outputs)
"""


def test_a_user_sees_the_types(tmp_path: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    code, document = pyright("--pythonpath", os.environ["INFERRY_USER"], cwd=tmp_path)
    assert (code, told(document)) == (0, [])
    user.write_text(USER.replace('precision="fp16"', "precision=16"), encoding="utf-8")
    code, document = pyright("--pythonpath", os.environ["INFERRY_USER"], cwd=tmp_path)
    assert code == 1
    assert '"precision"' in told(document)[0]
