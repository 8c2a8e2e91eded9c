"""What every command answers with ``--json`` is what its schema says, and a schema lets nothing else pass."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final, TypeAlias, get_args

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from inferry import Client
from inferry.catalog.policy import POLICIES
from inferry.catalog.settings import KEYS, Install, Origin
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.document import Status
from inferry.catalog.values.host import Access, Device, DeviceKind, Driver, DriverScheme, EpDevice, Excluded, Node, Os
from inferry.catalog.values.model import Precision
from inferry.catalog.values.package import Delivery
from inferry.catalog.values.requirement import Workload
from inferry.catalog.values.source import Freshness
from inferry.catalog.values.verdict import Outcome
from inferry.catalog.values.version import CHANNELS
from inferry.cli import inferry as group
from inferry.index.collect import Kind
from inferry.index.leases import lease
from inferry.index.settings import Machine
from inferry.index.signing.repository import RootKey
from inferry.runtime import plan as planning
from inferry.runtime.commands.completion import SHELLS
from inferry.runtime.providers import State
from inferry.tests.answers import ANSWERS, FOLDER, profile
from inferry.tests.catalogs import STOCK, host as machine, package
from inferry.tests.indexes import ANSWERS as INDEX_ANSWERS, FAILURES as INDEX_FAILURES
from inferry.tests.pages import REFERENCE, paths, schema
from inferry.tests.worlds import World, fill

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    file.stem: json.loads(file.read_text(encoding="utf-8")) for file in (REFERENCE / "schemas").iterdir()
}
RELEASE: Final = Resource[Any].from_contents(json.loads(schema("Release")))
REGISTRY: Final = (Resource[Any].from_contents(SCHEMAS["parts"]) @ Registry[Any]()).with_resource(
    "documents/Release.json", RELEASE
)
CHECKS: Final = {name: Draft202012Validator(each, registry=REGISTRY) for name, each in SCHEMAS.items()}
LEAVES: Final = [path for path in paths() if path not in {other[:-1] for other in paths() if other}]
MAPS: Final = {"apis", "namespaces", "nodes", "opsets", "origins", "outputs", "sources"}
"""What holds keys that a model, a source or a machine names."""
OPTIONAL: Final = {"labels", "card", "graph", "redistribution"}
FREE: Final = {"data"}
"""What may be of any type."""
WRONG: Final[Json] = [[[]]]
"""No leaf of any answer."""
ENUMS: Final[dict[str, tuple[object, ...]]] = {
    "parts channel": CHANNELS,
    "parts status": get_args(Status),
    "parts precision": get_args(Precision),
    "parts delivery": get_args(Delivery),
    "parts device_kind": get_args(DeviceKind),
    "parts outcome": get_args(Outcome),
    "parts state": get_args(State),
    "parts kept": get_args(Kind),
    "parts policy": tuple(POLICIES),
    "parts install": get_args(Install),
    "parts origin": get_args(Origin),
    "parts setting": KEYS,
    "completion shell": SHELLS,
    "devices os": get_args(Os),
    "devices scheme": get_args(DriverScheme),
    "devices access": (*get_args(Access), None),
    "plan workload": (*get_args(Workload), None),
    "index-status root_key": get_args(RootKey),
    "source-add freshness": get_args(Freshness),
    "source-add origin": ("user", "system"),
    "source-list freshness": get_args(Freshness),
    "source-list origin": ("user", "system"),
}
"""The closed sets of the schemas, and where the program has them."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A world whose home holds two models."""
    return fill(tmp_path_factory.mktemp("a world"))


@pytest.fixture
def world(filled: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A copy of it to work in."""
    made = World(*(tmp_path / each.name for each in filled))
    for old, new in zip(filled, made, strict=True):
        shutil.copytree(old, new)
    monkeypatch.chdir(made.folder)
    monkeypatch.setenv("INFERRY_HOME", str(made.home))
    for room in ("runtime.client", "index.commands.source"):
        monkeypatch.setattr(f"inferry.{room}.this_machine", lambda: Machine(made.machine))
    made.source("other")
    return made


def answer(*arguments: str, code: int = 0) -> Json:
    ran = CliRunner().invoke(group, [*arguments, "--json"], prog_name="inferry")
    assert ran.exit_code == code, ran.output
    document: Json = json.loads(ran.stdout)
    return document


def schema_of(arguments: tuple[str, ...]) -> str:
    return next("-".join(path) for path in LEAVES if arguments[: len(path)] == path)


def errors(name: str, document: Json) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in CHECKS[name].iter_errors(document)]


def shortened(value: Json) -> Json:
    """Return a document with one item of each list: the others are of the same kind."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    return [shortened(each) for each in value[-1:]] if isinstance(value, list) else value


def bent(value: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yield what is no answer any more: a fixed key is gone, or a value is of another type; once for each of them."""
    yield "of another type", {} if isinstance(value, list) else WRONG
    if isinstance(value, dict):
        for key, each in value.items():
            if name not in MAPS and key not in OPTIONAL:
                yield f"{key} is gone", {other: value[other] for other in value if other != key}
            if key not in FREE:
                yield from ((f"{key}: {what}", {**value, key: made}) for what, made in bent(each, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            for what, made in bent(each):
                yield what, [*value[:place], made, *value[place + 1 :]]


def holds(name: str, document: Json) -> None:
    """Assert that a document is what its schema says, and that nothing in it could be otherwise."""
    assert errors(name, document) == []
    one = shortened(document)
    assert errors(name, one) == []
    assert [what for what, other in bent(one) if CHECKS[name].is_valid(other)] == []


def test_every_command_has_a_schema_and_every_schema_a_command() -> None:
    assert sorted(SCHEMAS) == sorted([*("-".join(path) for path in LEAVES), "error", "parts"])


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    it = SCHEMAS[name]
    Draft202012Validator.check_schema(it)
    assert (it["$schema"], it["$id"]) == ("https://json-schema.org/draft/2020-12/schema", f"{name}.json")
    assert it["title"]
    assert it["description"]
    text = json.dumps(it)
    assert "unevaluated" not in text
    assert '"additionalProperties": false' not in text
    assert "schema_version" in it.get("required", ()) or name == "parts"


def enums(schema: Json, name: str = "") -> Iterator[tuple[str, Json]]:
    """Yield each closed set of a schema with the key that it stands under."""
    if isinstance(schema, dict):
        if "enum" in schema:
            yield name, schema["enum"]
        for key, each in schema.items():
            yield from enums(each, key)


def test_closed_sets_are_those_of_the_program() -> None:
    found = {f"{name} {key}": told for name, schema in SCHEMAS.items() for key, told in enums(schema)}
    assert {name: found[name] for name in ENUMS} == {name: [*told] for name, told in ENUMS.items()}
    assert found.keys() - ENUMS.keys() == {"parts why", "plan rule"}


EMPTY: Final = {
    "no hits": ("search", "nosuch"),
    "nothing pulled": ("cache", "list"),
    "nothing to verify": ("cache", "verify"),
    "nothing to collect": ("cache", "gc"),
    "pull": ("pull", "inferry/digits", "./adder"),
    "show of what was not pulled": ("show", "inferry/digits"),
}
"""Of a home without models."""
CHECK: Final = ("check", "model.onnx", "--name", "acme/log", "--version", "1.0.0", "--license", "MIT")
FILLED: Final[dict[str, tuple[str, ...]]] = {
    "check": CHECK,
    "check a folder": ("check", "adder"),
    "check and write": (*CHECK, "--write"),
    "search": ("search",),
    "search what fits": ("search", "adds", "--fits", "--limit", "1"),
    "show": ("show", "acme/add"),
    "show a folder": ("show", "./adder"),
    "show a file": ("show", "./model.onnx"),
    "pull again": ("pull", "inferry/digits", "acme/add", "--precision", "fp32"),
    "plan": ("plan", "inferry/digits", "--explain"),
    "plan with pins": ("plan", "acme/add", "--policy", "PREFER_CPU", "--device", "cpu", "--precision", "fp16"),
    "plan a file": ("plan", "./model.onnx", "--ep", "cpu", "--channel", "test"),
    "list": ("cache", "list"),
    "verify": ("cache", "verify"),
    "gc": ("cache", "gc", "--dry-run"),
    "gc over a limit": ("cache", "gc", "--max-size", "0"),
    "remove": ("cache", "remove", "inferry/digits", "acme/add"),
    "doctor": ("doctor",),
    "run": ("run", "inferry/digits"),
    "run into a file": ("run", "inferry/digits", "--output", "out.npz"),
    "run on numbers that JSON lacks": ("run", "./model.onnx", "--input", "x=below.json"),
    "run what returns maps": ("run", "./maps.onnx", "--input", "x=random"),
    "providers": ("providers", "list"),
    "devices": ("devices",),
    **INDEX_ANSWERS,
    "source add": ("source", "add", "site", "--root", "site/metadata/1.root.json", "--namespaces", "acme"),
    "source list": ("source", "list"),
    "source refresh": ("source", "refresh"),
    "source remove": ("source", "remove", "other"),
    "config": ("config", "show"),
    "config get": ("config", "get", "channels"),
    "config get what is not set": ("config", "get", "eps.allow"),
    "config set": ("config", "set", "eps.deny", "cuda, dml"),
    "config set a size": ("config", "set", "limits.model_size", "2GB"),
    "config set a switch": ("config", "set", "offline", "false"),
    "config unset": ("config", "unset", "install"),
    **{f"completion {shell}": ("completion", shell) for shell in SHELLS},
}


@pytest.mark.parametrize("arguments", FILLED.values(), ids=FILLED)
@pytest.mark.usefixtures("world")
def test_answers(arguments: tuple[str, ...]) -> None:
    holds(schema_of(arguments), answer(*arguments))


@pytest.mark.parametrize("arguments", EMPTY.values(), ids=EMPTY)
def test_answers_where_nothing_was_pulled(arguments: tuple[str, ...], world: World) -> None:
    shutil.rmtree(world.home / "data")
    holds(schema_of(arguments), answer(*arguments))


def test_every_command_was_asked() -> None:
    assert {schema_of(each) for each in FILLED.values()} == SCHEMAS.keys() - {"error", "parts"}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.usefixtures("world")
def test_answers_for_other_machines(name: str) -> None:
    there = str(FOLDER / f"{name}.json")
    assert errors("plan", answer("plan", "inferry/digits", "--host", there)) == []
    assert errors("doctor", answer("doctor", "--host", there)) == []
    host: Json = msgspec.json.decode(msgspec.json.encode(profile(name).host))
    assert errors("devices", {"schema_version": 1, "host": host}) == []


def test_every_fact_of_a_device_is_held() -> None:
    card = Device(
        kind="gpu",
        vendor_id="10de",
        device_id="2684",
        subsystem="1043:8694",
        driver=Driver(scheme="linux", name="nvidia", version="580.65"),
        nodes=(Node(path="/dev/nvidia0", access="denied"),),
        apis={"cuda-compute": "8.9"},
    )
    not_one = Excluded(vendor_id="1a03", device_id=None, reason="a management controller")
    pair = EpDevice(ep="CUDAExecutionProvider", kind="gpu", vendor_id="10de", device_id="2684")
    host: Json = msgspec.json.decode(msgspec.json.encode(machine(card, excluded=(not_one,), ep_devices=(pair,))))
    holds("devices", {"schema_version": 1, "host": host})


@pytest.mark.usefixtures("world")
def test_a_plan_of_nothing() -> None:
    document = answer("plan", "inferry/digits", "--precision", "int4", code=4)
    assert isinstance(document, dict)
    assert (document["plan"], document["here"]) == (None, None)
    holds("plan", document)


def test_answers_under_settings(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    (world.machine / "policy.toml").write_text('eps.deny = ["dml"]\nlimits.store_size = "2GB"', encoding="utf-8")
    (world.machine / "config.toml").write_text('eps.allow = ["cpu"]\nchannels = ["preview"]', encoding="utf-8")
    monkeypatch.setenv("INFERRY_POLICY", "min-power")
    for arguments in (("config", "show"), ("cache", "gc"), ("plan", "inferry/digits")):
        holds(schema_of(arguments), answer(*arguments))


def test_answers_while_models_are_used(world: World) -> None:
    store = Client(home=world.home)._library.pulled.store  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    with lease(store, [each.digest for each in store.blobs()], "run"):
        holds("cache-list", answer("cache", "list"))
        holds("cache-remove", answer("cache", "remove", "acme/add"))
        holds("cache-gc", answer("cache", "gc"))


@pytest.mark.usefixtures("world")
def test_what_is_wrong_with_a_release_is_an_answer() -> None:
    for path in ("noise.onnx", "bent"):
        holds("check", answer("check", path, code=9))


def test_damage_is_an_answer(world: World) -> None:
    digest = Digest.of((world.folder / "adder/fp32.onnx").read_bytes())[7:]
    (world.home / "data/store/blobs/sha256" / digest[:2] / digest[2:]).write_bytes(b"other")
    holds("cache-verify", answer("cache", "verify", code=5))
    holds("cache-list", answer("cache", "list"))
    holds("cache-gc", answer("cache", "gc", "--dry-run"))


def test_scores_that_are_no_numbers(world: World) -> None:
    np.save(world.folder / "dark.npy", np.full((1, 1, 28, 28), np.nan, np.float32))
    document: Any = answer("run", "inferry/digits", "--input", "image=dark.npy")
    assert document["outputs"]["logits"]["labels"][0] == {"label": "0", "score": "NaN"}
    assert errors("run", document) == []


@pytest.mark.usefixtures("world")
def test_what_did_not_come_to_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    azure = package("azure", "AzureExecutionProvider", ["cpu"], reach="vendor", delivery="engine", distribution="azure")
    monkeypatch.setattr(planning, "packages", lambda: (azure, STOCK))
    document: Any = answer("run", "inferry/digits")
    assert document["ran"]["fallback"]
    holds("run", document)


FAILURES: Final = {
    "no such command": (2, ("serch",)),
    "no such option": (2, ("plan", "inferry/digits", "--nosuch")),
    "no argument": (2, ("pull",)),
    "an input": (2, ("run", "inferry/digits", "--input", "image=nosuch.png")),
    "no such setting": (2, ("config", "get", "nosuch")),
    "unknown": (3, ("show", "inferry/digist")),
    "no such version": (3, ("pull", "inferry/digits@2")),
    **INDEX_FAILURES,
    "a key of another index": (
        8,
        ("index", "sign", "site", "--keys", "../home/keys", "--key", "../home/keys/online.pem"),
    ),
    "not pulled": (3, ("cache", "remove", "acme/nosuch")),
    "nothing fits": (4, ("run", "inferry/digits", "--precision", "int4")),
    "other bytes": (5, ("run", "./bent")),
    "it fails when it runs": (7, ("run", "./late.onnx", "--input", "x=random")),
    "the machine policy": (8, ("plan", "inferry/digits", "--ep", "dml")),
    "an invalid model": (9, ("run", "./noise.onnx")),
    "no host profile": (9, ("plan", "inferry/digits", "--host", "noise.onnx")),
    "a folder in the way": (10, ("devices", "--save", "adder")),
    "this folder": (10, ("devices", "--save", ".")),
}


@pytest.mark.parametrize(("code", "arguments"), FAILURES.values(), ids=FAILURES)
def test_failures(code: int, arguments: tuple[str, ...], world: World) -> None:
    (world.machine / "policy.toml").write_text('eps.deny = ["dml"]', encoding="utf-8")
    holds("error", answer(*arguments, code=code))


def test_settings_that_are_wrong_fail_every_command_alike(world: World) -> None:
    (world.machine / "config.toml").write_text("install = 1", encoding="utf-8")
    for arguments in (("config", "show"), ("plan", "inferry/digits"), ("cache", "gc")):
        holds("error", answer(*arguments, code=9))


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt, 130), (ZeroDivisionError, 1), (OSError, 10)])
def test_whatever_is_raised(raised: type[BaseException], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(*_: object, **__: object) -> None:
        raise raised("oh")

    monkeypatch.setattr("inferry.runtime.client.Client.find", find)
    holds("error", answer("run", "inferry/digits", code=code))


def test_what_a_reader_does_not_know_passes() -> None:
    """A later version may add keys anywhere."""
    more: Json = {"schema_version": 1, "error": {"type": "Refused", "message": "no", "hints": [], "more": 1}, "more": 1}
    assert errors("error", more) == []
