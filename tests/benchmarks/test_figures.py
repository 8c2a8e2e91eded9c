"""Figures: ratios against a named peer or limit in the same run, on the installed wheel."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.resolver.explain import document
from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.values.graph import Graph, Operator
from inferry.catalog.values.plan import Request
from inferry.tests.catalogs import DISCRETE, host, model, package, variant
from inferry.tests.models import one_node

if TYPE_CHECKING:
    from collections.abc import Callable

    from inferry.catalog.values.host import Host
    from inferry.catalog.values.package import EpPackage
    from inferry.catalog.values.plan import Subject

pytestmark = pytest.mark.figures
HERE = Path(__file__).parent
ROUNDS = 5
Figures = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def bare() -> str:
    return os.environ["INFERRY_BARE"]


@pytest.fixture(scope="module")
def cpu() -> str:
    return os.environ["INFERRY_CPU"]


def seconds(*command: str | Path, cwd: Path | None = None) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=cwd)
    return time.perf_counter() - begun


def best(*candidates: Callable[[], float]) -> list[float]:
    """Return the best of five rounds of each, taken in turns, so that a busy moment meets all of them."""
    for candidate in candidates:
        candidate()
    rounds = [[candidate() for candidate in candidates] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def test_it_starts_faster_than_pip(figures: Figures, bare: str) -> None:
    scripts = Path(bare).parent
    ours, pips = best(
        lambda: seconds(scripts / "inferry", "--version"),
        lambda: seconds(scripts / "pip", "--version"),
    )
    figures["inferry --version / pip --version"] = {
        "ratio": round(ours / pips, 3),
        "limit": 0.6,
        "inferry_ms": round(1000 * ours, 1),
        "pip_ms": round(1000 * pips, 1),
    }
    assert ours <= 0.6 * pips


def test_importing_it_costs_next_to_nothing(figures: Figures, cpu: str) -> None:
    ours, interpreter = best(lambda: seconds(cpu, "-c", "import inferry"), lambda: seconds(cpu, "-c", "pass"))
    figures["import inferry over the bare interpreter"] = {"ms": round(1000 * (ours - interpreter), 2), "limit_ms": 20}
    assert ours - interpreter < 0.02
    loaded = subprocess.run(
        [cpu, "-c", "import inferry, sys; print('numpy' in sys.modules, 'onnxruntime' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == ["False", "False"]


SIZES = """
import json, pathlib
from importlib.metadata import distributions
told = {}
for each in distributions():
    files = [pathlib.Path(each.locate_file(file)) for file in each.files or ()]
    told[each.name.lower()] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps(told))
"""


def test_a_base_install_is_small(figures: Figures, bare: str) -> None:
    done = subprocess.run([bare, "-c", SIZES], capture_output=True, text=True, check=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    assert not {"onnxruntime"} & sizes.keys()
    # What every new environment holds is not ours.
    ours = {name: size for name, size in sizes.items() if name not in {"pip", "setuptools", "numpy"}}
    assert {"inferry", "click", "msgspec"} <= ours.keys()
    figures["base install besides ONNX Runtime and numpy"] = {
        "distributions": len(ours),
        "limit_distributions": 24,
        "megabytes": round(sum(ours.values()) / 1e6, 2),
        "limit_megabytes": 32,
        "which": sorted(ours),
    }
    assert len(ours) <= 24
    assert sum(ours.values()) <= 32e6


BY_HAND = """
import sys
from onnxruntime import InferenceSession
import numpy as np
session = InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
logits = session.run(None, {"image": np.load(sys.argv[2])})[0][0]
scores = np.exp(logits - logits.max())
scores /= scores.sum()
print(f"{scores.argmax()}  {scores.max():.1%}")
"""


def test_a_run_costs_little_over_a_script_by_hand(figures: Figures, cpu: str, tmp_path: Path) -> None:
    """The script opens the same file, on a tensor that is cropped already, and prints the same line.

    The model was pulled, and ran before.
    """
    import inferry
    from inferry.index.client.source import BUILT_IN
    from inferry.runtime.inputs import to_tensor

    release = BUILT_IN / "inferry/digits"
    with inferry.load(release) as model:
        assert model.release
        import numpy as np

        np.save(tmp_path / "image.npy", to_tensor(model.samples["image"], model.inputs[0], model.release.inputs[0]))
    script = tmp_path / "by_hand.py"
    script.write_text(BY_HAND, encoding="utf-8")
    ours: list[str | Path] = [
        Path(cpu).with_name("inferry"),
        "run",
        "inferry/digits",
        "--input",
        f"image={tmp_path / 'image.npy'}",
    ]
    picture: list[str | Path] = [Path(cpu).with_name("inferry"), "run", "inferry/digits"]
    by_hand: list[str | Path] = [cpu, script, release / "digits-fp32.onnx", tmp_path / "image.npy"]
    subprocess.run([Path(cpu).with_name("inferry"), "pull", "inferry/digits"], check=True, capture_output=True)
    told = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for command in (ours, by_hand)]
    assert told[0] == told[1]
    tensor, sample, hand = best(lambda: seconds(*ours), lambda: seconds(*picture), lambda: seconds(*by_hand))
    figures["warm inferry run inferry/digits / a script by hand"] = {
        "ratio": round(tensor / hand, 3),
        "limit": 1.4,
        "inferry_ms": round(1000 * tensor, 1),
        "by_hand_ms": round(1000 * hand, 1),
        "ratio_with_the_sample_picture": round(sample / hand, 3),
        "profile_ms": imports(Path(cpu).with_name("inferry"), f"image={tmp_path / 'image.npy'}"),
    }
    assert tensor / hand <= 1.4


def imports(program: Path, given: str) -> dict[str, float]:
    """Return how long a warm run spends importing, by who wrote it, in ms; what would be left to save."""
    command: list[str | Path] = [
        program.with_name("python"),
        "-X",
        "importtime",
        program,
        "run",
        "inferry/digits",
        "--input",
        given,
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    spent: dict[str, float] = {}
    for own, module in re.findall(r"import time: +(\d+) \| +\d+ \| +(\w+)", told):
        whose = module if module in {"inferry", "numpy", "onnxruntime", "click", "msgspec"} else "the standard library"
        spent[whose] = spent.get(whose, 0) + int(own) / 1000
    return {whose: round(time_ms, 1) for whose, time_ms in spent.items()}


OVERHEAD = """
import os, sys, time
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
import numpy as np
from inferry.runtime.session import Session
data = open(sys.argv[1], "rb").read()
session = Session(data, name="it")
ort = session._ort._session
inputs, names = {"x": np.ones((1, 3), np.float32)}, ["y"]
def once(call, count=5000):
    begun = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - begun) / count
ours, orts = lambda: session.run(inputs), lambda: ort.run(names, inputs)
once(ours); once(orts)
rounds = [(once(ours), once(orts)) for _ in range(5)]
print(min(a for a, _ in rounds) * 1e6, min(b for _, b in rounds) * 1e6)
"""


def test_a_session_adds_little_to_onnx_runtimes_own(figures: Figures, cpu: str, tmp_path: Path) -> None:
    (tmp_path / "neg.onnx").write_bytes(one_node("Neg"))
    done = subprocess.run([cpu, "-c", OVERHEAD, tmp_path / "neg.onnx"], capture_output=True, text=True, check=True)
    ours, orts = map(float, done.stdout.split())
    figures["Session.run over ONNX Runtime's own, one node"] = {
        "microseconds": round(ours - orts, 2),
        "aim_microseconds": 3,
        "ratio": round(ours / orts, 3),
        "onnxruntime_microseconds": round(orts, 2),
    }


def catalog(variants: int, packages: int) -> tuple[Subject, list[EpPackage], Host, Request]:
    graph = Graph(ir_version=8, opsets={"": 17}, operators=(Operator("Relu@17"),))
    precisions: tuple[Any, ...] = ("fp32", "fp16", "int8", "bf16", "int4", "mixed")
    what = model(*(variant(f"v{place}", precisions[place % 6], 1000 + place, graph=graph) for place in range(variants)))
    boxes = [
        package(
            f"p{place}",
            f"E{place}ExecutionProvider",
            ["gpu"],
            vendors=["10de"] if place % 2 else (),
            reach="vendor" if place % 2 else "generic",
            size=place,
        )
        for place in range(packages)
    ]
    return what, boxes, host(DISCRETE), Request()


def timed(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def test_choosing_takes_little_time(figures: Figures) -> None:
    """One model of 200 variants, 30 EP packages, one device; all verdicts in words; and 100,000 candidates."""
    few, many = catalog(200, 30), catalog(1000, 100)
    resolution = resolve(*few)
    assert len(resolution.ranked) == 6000
    assert resolution.best
    choice, words = best(lambda: timed(lambda: resolve(*few)), lambda: timed(lambda: document(resolution)))
    large = timed(lambda: resolve(*many))
    figures["choosing among 6,000 candidates"] = {
        "ms": round(1000 * choice, 1),
        "limit_ms": 20,
        "all_verdicts_in_words_ms": round(1000 * words, 1),
        "among_100000_ms": round(1000 * large, 1),
        "growth_of_time_over_growth_of_candidates": round(large / choice / (100_000 / 6_000), 2),
    }
    assert choice <= 0.02


def test_planning_is_as_quick_as_a_small_command(figures: Figures, cpu: str) -> None:
    scripts = Path(cpu).parent
    ours, pips = best(
        lambda: seconds(scripts / "inferry", "plan", "inferry/digits"), lambda: seconds(scripts / "pip", "--version")
    )
    figures["inferry plan inferry/digits / pip --version"] = {
        "ratio": round(ours / pips, 3),
        "inferry_ms": round(1000 * ours, 1),
        "pip_ms": round(1000 * pips, 1),
    }


DETECTION = """
import time
from inferry.runtime.detect.detector import detect
detect()
times = []
for _ in range(5):
    begun = time.perf_counter()
    detect()
    times.append(time.perf_counter() - begun)
print(min(times))
"""


def test_a_machine_is_seen_quickly(figures: Figures, cpu: str) -> None:
    done = subprocess.run([cpu, "-c", DETECTION], capture_output=True, text=True, check=True)
    warm = float(done.stdout)
    figures["detection, warm"] = {"ms": round(1000 * warm, 2), "limit_ms": 150}
    assert warm <= 0.15
