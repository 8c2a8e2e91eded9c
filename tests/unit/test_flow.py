"""From a lone ONNX file to a run elsewhere, every step a process of its own, as its users would take them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, helper

from inferry.tests.models import model, saved

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SERVING = re.compile(r"port (\d+)")


@contextmanager
def web_server(folder: Path) -> Generator[str]:
    """Serve a folder as Python's own web server does, which knows nothing of indexes."""
    command = (sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as it:
        assert it.stdout
        try:
            told = SERVING.search(it.stdout.readline())
            assert told
            yield f"http://127.0.0.1:{told[1]}/"
        finally:
            it.kill()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, an input for it and what it makes of that; its publisher and its user have homes."""
    told = TensorProto.FLOAT, ("n", 3)
    one = helper.make_tensor("one", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    made = model(helper.make_node("Add", ["x", "one"], ["y"]), inputs={"x": told}, outputs={"y": told}, weights=[one])
    folder = tmp_path / "a place of ünusual name"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(saved(made))
    np.save(folder / "x.npy", np.zeros((2, 3), np.float32))
    monkeypatch.chdir(folder)
    return folder


def test_published_served_pulled_and_run(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def inferry(*arguments: str, home: str = "home") -> str:
        monkeypatch.setenv("INFERRY_HOME", str(here / home))
        ran = subprocess.run(
            (sys.executable, "-m", "inferry", *arguments), check=False, capture_output=True, text=True, timeout=60
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    told = inferry("index", "init", "./idx", home="publisher")
    fingerprint = told.split()[1]
    saying = ("--name", "acme/add", "--version", "1.0.0", "--license", "MIT")
    assert inferry("index", "add", "./idx", "model.onnx", *saying, home="publisher").startswith("acme/add@=1.0.0 added")
    with web_server(here / "idx") as url:
        inferry("source", "add", url, "--fingerprint", fingerprint)
        inferry("pull", "acme/add")
    ran = json.loads(inferry("run", "acme/add", "--input", "x=x.npy", "--json"))
    assert ran["outputs"]["y"]["data"] == [[1.0, 2.0, 3.0]] * 2
