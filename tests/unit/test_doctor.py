"""What is wrong on a machine, in a sentence each, and what to do about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from inferry.catalog.resolver.resolution import resolve
from inferry.catalog.settings import Effective, Layer, parse_settings
from inferry.catalog.values.graph import Graph, Operator
from inferry.catalog.values.host import Distribution, Host, OrtFacts
from inferry.catalog.values.plan import Request
from inferry.cli import inferry as group
from inferry.runtime import doctor
from inferry.runtime.doctor import examine
from inferry.runtime.plan import Plan
from inferry.runtime.profile import HostProfile
from inferry.tests.catalogs import ANY_GPU, CARDS, DISCRETE, NPU, SHARED, STOCK, host, model, variant

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.package import EpPackage
    from inferry.catalog.values.plan import Subject

FP32 = model(variant("fp32"))
NEW = model(variant("new", graph=Graph(ir_version=13, opsets={"": 25}, operators=(Operator("Relu@25"),))))
TWO = OrtFacts(
    module=True,
    distributions=(
        Distribution(name="onnxruntime", version="1.31.1"),
        Distribution(name="onnxruntime-gpu", version="1.30.0"),
    ),
)


def plan(what: Subject, there: Host, packages: tuple[EpPackage, ...]) -> Plan:
    here = resolve(what, packages, there, Request(deliveries=("built-in",)))
    return Plan(resolve(what, packages, there, Request()), here)


BOXES = (STOCK, CARDS, ANY_GPU)
CASES: dict[str, tuple[Host, Subject, list[tuple[str, bool, str, str]]]] = {
    "nothing but a processor": (
        host(),
        FP32,
        [("why-cpu", False, "acme/thing 1.0.0 runs on the CPU, because this machine has no GPU and no NPU.", "")],
    ),
    "nobody looked": (
        replace(host(), searched=("cpu",)),
        FP32,
        [("why-cpu", False, "acme/thing 1.0.0 runs on the CPU, because nobody has looked for a gpu or npu.", "")],
    ),
    "a card whose provider would have to be installed": (
        host(DISCRETE),
        FP32,
        [
            (
                "why-cpu",
                False,
                (
                    "acme/thing 1.0.0 runs on the CPU, because CardsExecutionProvider on A card is not used: "
                    "it comes by plugin, which this version of inferry does not install."
                ),
                "",
            )
        ],
    ),
    "none installed": (
        replace(host(NPU), onnxruntime=OrtFacts(module=False, distributions=())),
        FP32,
        [
            (
                "onnxruntime-missing",
                True,
                "No ONNX Runtime is installed in this environment.",
                'pip install "inferry[cpu]"',
            )
        ],
    ),
    "two in one folder": (
        replace(host(), onnxruntime=TWO),
        FP32,
        [
            (
                "onnxruntime-overwritten",
                True,
                (
                    "onnxruntime 1.31.1 and onnxruntime-gpu 1.30.0 brought the same module into one folder, "
                    "and wrote over each other's files."
                ),
                'make a new environment and install one of them there: pip install "inferry[cpu]"',
            ),
            ("why-cpu", False, "acme/thing 1.0.0 runs on the CPU, because this machine has no GPU and no NPU.", ""),
        ],
    ),
    "too old": (
        host(ort="1.20.0"),
        NEW,
        [
            (
                "onnxruntime-old",
                True,
                "ONNX Runtime 1.20.0 is too old for acme/thing 1.0.0, which needs >=1.24.",
                'pip install "onnxruntime>=1.24"',
            )
        ],
    ),
}


@pytest.mark.parametrize(("there", "what", "expected"), CASES.values(), ids=CASES)
def test_each_machine_is_told_in_a_sentence(
    there: Host, what: Subject, expected: list[tuple[str, bool, str, str]]
) -> None:
    assert examine(there, [plan(what, there, BOXES)]) == expected


def test_a_rejected_device_is_told_with_what_would_help() -> None:
    there = host(SHARED)
    (finding,) = examine(there, [plan(FP32, there, (STOCK, CARDS))])
    assert finding.message.endswith(
        "because CardsExecutionProvider on Its own graphics is not used: vendor: 8086, required: 10de."
    )


def test_where_nothing_can_be_written_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a home"
    monkeypatch.setenv("INFERRY_HOME", str(home))
    assert [each.rule for each in examine(host(), [], here=True)] == ["telemetry"]
    assert not home.exists()
    assert examine(host(), []) == []
    home.write_text("a file")
    (first, _) = examine(host(), [], here=True)
    assert (first.rule, first.wrong) == ("store-unwritable", True)
    assert first.message.startswith(f"Nothing can be written to {home / 'cache'}: ")
    assert first.fix == "set INFERRY_HOME to a folder elsewhere"
    monkeypatch.delenv("INFERRY_HOME")
    monkeypatch.setattr("platformdirs.user_cache_path", Mock(side_effect=RuntimeError("nobody's home")))
    assert examine(host(), [], here=True)[0][:4] == ("store-unwritable", True, "nobody's home.", "set INFERRY_HOME")


def test_a_word_that_forbids_nothing_is_told() -> None:
    given = parse_settings('eps.allow = ["cpu", "acme"]\neps.deny = ["openvio"]', where="")
    policy = Effective([Layer("machine policy", given, "policy.toml")])
    told = "is no execution provider and no package that is known."
    assert [each[2:] for each in examine(host(), [], policy, here=True) if each.rule == "setting-unknown-ep"] == [
        (f"policy.toml: eps.allow: `acme` {told}", "see `inferry providers list`"),
        (f"policy.toml: eps.deny: `openvio` {told}", "write openvino"),
    ]


def test_a_disk_that_is_nearly_full_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "LOW_BYTES", 2**62)
    (first, _) = examine(host(), [], here=True)
    assert (first.rule, first.wrong) == ("disk-low", True)
    assert first.message.startswith(f"The disk of {tmp_path / 'cache'} has ")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    ("ort", "hub", "message", "fix"),
    [
        (None, None, "The telemetry of ONNX Runtime and huggingface-hub is off in this program's processes.", ""),
        ("1", "true", "The telemetry of ONNX Runtime and huggingface-hub is off in this program's processes.", ""),
        (
            "0",
            "1",
            "You turned on telemetry in this program's processes: ONNX Runtime's (ORT_DISABLE_TELEMETRY is `0`).",
            "unset ORT_DISABLE_TELEMETRY",
        ),
        (
            "",
            "no",
            (
                "You turned on telemetry in this program's processes: ONNX Runtime's (ORT_DISABLE_TELEMETRY is ``) "
                "and huggingface-hub's (HF_HUB_DISABLE_TELEMETRY is `no`)."
            ),
            "unset ORT_DISABLE_TELEMETRY HF_HUB_DISABLE_TELEMETRY",
        ),
    ],
)
def test_whether_telemetry_is_off_is_told(
    ort: str | None, hub: str | None, message: str, fix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"ORT_DISABLE_TELEMETRY": ort, "HF_HUB_DISABLE_TELEMETRY": hub}.items():
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert examine(host(), [], here=True)[-1] == ("telemetry", False, message, fix)


def test_the_command_says_it(tmp_path: Path) -> None:
    told = CliRunner().invoke(group, ["doctor"])
    assert told.exit_code == 0
    assert told.stdout.startswith("inferry/digits 1.0.0 runs on the CPU, because ")
    assert "telemetry" in told.stdout.splitlines()[-1]
    file = tmp_path / "two.json"
    HostProfile(replace(host(), onnxruntime=TWO)).save(file)
    told = CliRunner().invoke(group, ["doctor", "inferry/digits", "--host", str(file), "--json"])
    assert told.exit_code == 7
    assert [each["rule"] for each in json.loads(told.stdout)["findings"]] == ["onnxruntime-overwritten"]
