"""Settings in files, variables and a registry, through the program: each does what its page says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from inferry.catalog.errors import InvalidSettings, MachineError, Refused
from inferry.catalog.settings import KEYS, Effective
from inferry.cli import inferry as group
from inferry.index.settings import REGISTRY, GroupPolicy, Machine, change, layers, states, this_machine, variables
from inferry.runtime.client import Client
from inferry.tests.answers import FOLDER
from inferry.tests.rights import read_only

CARD = str(FOLDER / "h200.json")
POLICY = {"policy": "policy.toml", "system": "config.toml"}


class World:
    """A machine's folder and a user's home, which the program takes for its own."""

    def __init__(self, root: Path) -> None:
        self.machine = Machine(root / "the machine's")
        self.machine.folder.mkdir()
        self.user = root / "home/config/config.toml"
        self.user.parent.mkdir(parents=True)

    def write(self, where: str, text: str) -> Path:
        file = self.user if where == "user" else self.machine.folder / POLICY[where]
        file.write_text(text, encoding="utf-8")
        return file


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(tmp_path)
    monkeypatch.setenv("INFERRY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("inferry.runtime.client.this_machine", lambda: made.machine)
    return made


def run(*arguments: str, code: int = 0) -> Result:
    told = CliRunner().invoke(group, arguments, prog_name="inferry")
    assert told.exit_code == code, told.output
    return told


def answer(*arguments: str, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*arguments, "--json", code=code).stdout)
    return document


def plan(*arguments: str) -> dict[str, Any]:
    return answer("plan", "inferry/digits", "--host", CARD, *arguments)


def reasons(document: dict[str, Any], ep: str, rule: str) -> set[tuple[str, str, str]]:
    return {
        (reason["outcome"], reason["required"], reason["origin"])
        for each in document["candidates"]
        if each["ep"] == ep
        for reason in each["reasons"]
        if reason["rule"] == rule
    }


def test_every_place_sets_the_device_policy(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan()["plan"]["device"]["kind"] == "gpu"
    world.write("system", 'policy = "prefer-cpu"')
    assert plan()["plan"]["device"]["kind"] == "cpu"
    world.write("user", 'policy = "prefer-gpu"')
    assert plan()["plan"]["device"]["kind"] == "gpu"
    monkeypatch.setenv("INFERRY_POLICY", "PREFER_CPU")
    assert plan()["plan"]["device"]["kind"] == "cpu"
    assert plan("--policy", "prefer-gpu")["plan"]["device"]["kind"] == "gpu"
    file = world.write("policy", 'policy = "min-power"')
    error = answer("plan", "inferry/digits", "--host", CARD, code=8)["error"]
    assert error["message"] == f"{file}: policy: `prefer-cpu` is not `min-power`"
    assert error["hints"] == ["INFERRY_POLICY asks for what the machine policy rules out"]
    monkeypatch.delenv("INFERRY_POLICY")
    assert plan()["plan"]["device"]["kind"] == "cpu"
    assert answer("plan", "inferry/digits", "--policy", "prefer-gpu", code=8)["error"]["type"] == "Refused"


def test_channels(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken() -> set[str]:
        return {outcome for outcome, *_ in reasons(plan(), "cpu_ep", "channel")}

    assert taken() == {"no"}
    world.write("user", 'channels = ["test"]')
    assert taken() == {"fits"}
    monkeypatch.setenv("INFERRY_CHANNELS", "stable, preview")
    assert taken() == {"no"}
    monkeypatch.delenv("INFERRY_CHANNELS")
    file = world.write("policy", 'channels = ["stable"]')
    assert taken() == {"no"}
    for arguments in (("plan", "inferry/digits", "--channel", "preview"), ("run", "inferry/digits@preview")):
        message = answer(*arguments, code=8)["error"]["message"]
        assert message.startswith(f"{file}: channels: `preview`")
        assert message.endswith("is not among stable")
    run("show", "inferry/digits@stable")


def test_eps_that_are_denied(world: World) -> None:
    file = world.write("user", '[eps]\ndeny = ["CUDA"]')
    document = plan()
    assert document["plan"]["ep"] != "CUDAExecutionProvider"
    assert reasons(document, "CUDAExecutionProvider", "setting") == {("no", "none of cuda", f"{file}: eps.deny")}
    assert plan("--ep", "cuda")["plan"]["ep"] == "CUDAExecutionProvider"
    file = world.write("policy", 'eps.deny = ["cudaexecutionprovider"]')
    assert reasons(plan(), "CUDAExecutionProvider", "machine-policy") == {
        ("no", "none of cudaexecutionprovider", f"{file}: eps.deny")
    }
    for ep in ("cuda", "onnxruntime-gpu", "CUDAExecutionProvider"):
        error = answer("plan", "inferry/digits", "--host", CARD, "--ep", ep, code=8)["error"]
        assert error["message"] == f"{file}: eps.deny: `{ep}` is among those denied: cudaexecutionprovider"
    run("plan", "inferry/digits", "--host", CARD, "--ep", "nosuch", code=4)


def test_eps_that_are_allowed(world: World) -> None:
    world.write("system", 'eps.allow = ["cuda"]')
    assert {each["ep"] for each in plan()["candidates"] if each["fits"]} == {"CUDAExecutionProvider"}
    told = run("run", "inferry/digits", code=4)
    assert (
        f"setting: CPUExecutionProvider, required: one of cuda ({world.machine.folder / 'config.toml'}" in told.stderr
    )
    assert "change the setting" in told.stderr
    run("run", "inferry/digits", "--ep", "cpu")
    file = world.write("policy", 'eps.allow = ["cuda"]')
    message = answer("run", "inferry/digits", "--ep", "CPU", code=8)["error"]["message"]
    assert message == f"{file}: eps.allow: `CPU` is not among those allowed: cuda"


def test_install_offline_and_limits_are_told_to_whoever_heeds_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("user", 'limits.model_size = "2GB"\nlimits.store_size = "9GB"\noffline = false')
    monkeypatch.setenv("INFERRY_INSTALL", "never")
    monkeypatch.setenv("INFERRY_OFFLINE", "1")
    held = Client(machine=world.machine).settings().settings
    assert (held.install, held.offline, held.limits.model_size, held.limits.store_size) == (
        "never",
        True,
        2 * 10**9,
        9 * 10**9,
    )


def test_show_tells_each_origin(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        where: str(world.write(where, text))
        for where, text in (
            ("policy", 'eps.deny = ["cuda"]'),
            ("user", 'eps.deny = []\nlimits.model_size = "2GB"'),
            ("system", 'limits.model_size = "1GB"\nchannels = ["stable", "test"]'),
        )
    }
    monkeypatch.setenv("INFERRY_INSTALL", "never")
    document = answer("config", "show")["settings"]
    assert tuple(document) == KEYS
    assert {key: (each["value"], each["origin"], each["where"]) for key, each in document.items()} == {
        "policy": ("default", "default", None),
        "channels": (["stable", "test"], "system", files["system"]),
        "install": ("never", "environment", "INFERRY_INSTALL"),
        "offline": (False, "default", None),
        "eps.allow": (None, "default", None),
        "eps.deny": (["cuda"], "machine policy", files["policy"]),
        "limits.model_size": ("2GB", "user", files["user"]),
        "limits.store_size": (None, "default", None),
        "sources.allow": (None, "default", None),
    }
    lines = run("config", "show", "--origin").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [*KEYS]
    assert lines[5].endswith(f"cuda         machine policy ({files['policy']})")
    assert run("config", "show").stdout.splitlines()[7].split() == ["limits.store_size", "-"]
    told = run("config", "get", "limits.model_size", "-v")
    assert (told.stdout, told.stderr) == ("2GB\n", f"user ({files['user']})\n")
    told = run("config", "get", "eps.allow")
    assert (told.stdout, told.stderr) == ("", "eps.allow is not set\n")


def test_set_and_unset(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.user.parent.rmdir()
    assert run("config", "set", "eps.deny", "CUDA, dml").stderr == f"wrote {world.user}\n"
    assert world.user.read_text(encoding="utf-8") == '[eps]\ndeny = ["cuda", "dml"]\n'
    world.write("user", "# mine\n[eps]\ndeny = ['cuda'] # slow\n")
    run("config", "set", "policy", "PREFER_CPU")
    run("config", "unset", "limits.model_size")
    assert world.user.read_text(encoding="utf-8").startswith("# mine\n")
    assert "deny = ['cuda'] # slow\n" in world.user.read_text(encoding="utf-8")
    assert plan()["plan"]["device"]["kind"] == "cpu"
    run("config", "unset", "policy")
    assert plan()["plan"]["device"]["kind"] == "gpu"
    file = world.write("policy", "offline = true")
    told = run("config", "set", "offline", "no")
    assert told.stderr.splitlines()[1] == f"machine policy ({file}) sets offline too, and holds: true"
    monkeypatch.setenv("INFERRY_INSTALL", "auto")
    assert "environment (INFERRY_INSTALL) sets install too" in run("config", "set", "install", "never").stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("set", "polcy", "x"), "did you mean policy?"),
        (("get", "eps.denied"), "did you mean eps.deny?"),
        (("unset", "nosuch"), f"there are {', '.join(KEYS)}"),
        (("set", "limits.model_size", "big"), None),
        (("set", "channels", "stable,beta"), None),
    ],
)
def test_what_is_wrong_is_not_written(world: World, arguments: tuple[str, ...], hint: str | None) -> None:
    before = world.write("user", "# mine\n").read_bytes()
    error = answer("config", *arguments, code=2)["error"]
    assert error["hints"] == ([hint] if hint else [])
    assert world.user.read_bytes() == before


def test_a_file_that_is_wrong_is_named_by_every_command(world: World) -> None:
    for where in ("policy", "user", "system"):
        file = world.write(where, '[limits]\nmodel_size = ["2GB"]\n')
        for arguments in (("plan", "inferry/digits"), ("run", "inferry/digits"), ("config", "show")):
            error = answer(*arguments, code=9)["error"]
            assert error["type"] == "InvalidSettings"
            assert error["message"].startswith(f"{file}: limits.model_size: ")
            assert error["message"].endswith("(line 2)")
        file.write_bytes(b"policy = '\xff'")
        assert f"{file}: it is no UTF-8" in answer("config", "show", code=9)["error"]["message"]
        file.unlink()
    before = world.write("user", "policy = 1\n").read_bytes()
    run("config", "set", "policy", "default", code=9)
    assert world.user.read_bytes() == before


def test_a_policy_that_cannot_be_read_is_not_taken_for_none(world: World) -> None:
    file = world.write("policy", "offline = true")
    with read_only(world.machine.folder):
        file.chmod(0)
        with pytest.raises(MachineError, match=r"policy\.toml cannot be read"):
            layers(world.machine)
    file.unlink()
    file.mkdir()
    assert "policy.toml cannot be read" in run("plan", "inferry/digits", code=10).stderr


def test_a_mark_at_the_beginning_is_no_error(world: World) -> None:
    world.user.write_bytes(b"\xef\xbb\xbfoffline = true\r\n")
    assert run("config", "get", "offline").stdout == "true\n"


def test_a_link_stays_one(world: World, tmp_path: Path) -> None:
    there = tmp_path / "dotfiles.toml"
    there.write_text("", encoding="utf-8")
    try:
        world.user.symlink_to(there)
    except OSError:
        pytest.skip("this user may make no links")
    change(world.user, "offline", value=True)
    assert world.user.is_symlink()
    assert there.read_text(encoding="utf-8") == "offline = true\n"


def test_group_policy_comes_before_the_file(world: World) -> None:
    values = {"channels": ["stable"], "eps.deny": "cuda, dml", "offline": 1, "limits.model_size": "2GB"}
    world.write("policy", 'offline = false\npolicy = "min-power"')
    machine = world.machine._replace(group_policy=lambda: GroupPolicy(values, 7))
    held = Effective(layers(machine))
    assert held["offline"] == (True, "machine policy", REGISTRY)
    assert held["policy"].where == str(machine.folder / "policy.toml")
    with pytest.raises(Refused) as caught:
        Client(machine=machine).plan("inferry/digits", ep="dml")
    assert caught.value.message.startswith(r"HKLM\Software\Policies\Inferry: eps.deny: `dml`")
    values["nosuch"] = 1
    with pytest.raises(InvalidSettings, match="nosuch"):
        layers(machine)


def test_states_change_with_what_is_there(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    first = states(world.machine)
    *files, registry = first
    assert [Path(name).stem for name, *_ in files] == ["policy", "config", "config", "sources", "sources"]
    assert {each[1:] for each in files} == {(None, None)}
    assert registry == (REGISTRY, 0, None)
    seen = [first]
    for where in ("policy", "user", "system"):
        file = world.write(where, "offline = true")
        seen.append(states(world.machine))
        assert (str(file), 14, file.stat().st_mtime_ns) in seen[-1]
    seen.append(states(world.machine._replace(group_policy=lambda: GroupPolicy({"offline": 1}, 7))))
    assert len({tuple(each) for each in seen}) == len(seen)
    monkeypatch.setenv("INFERRY_POLICY", "default")
    monkeypatch.setenv("INFERRY_INSTALL", "")
    assert variables() == {"INFERRY_POLICY": "default"}


def test_no_variable_moves_the_machine_policy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = this_machine().folder
    for name in ("ProgramData", "ALLUSERSPROFILE", "INFERRY_HOME", "HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert this_machine().folder == before


def test_without_files_nothing_is_parsed(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from inferry.index.settings import Machine, layers, states
machine = Machine(Path("nowhere").absolute())
assert layers(machine, home=machine.folder) == []
assert states(machine, home=machine.folder)
print(sorted({"tomllib", "tomlkit", "difflib", "filelock", "inferry.catalog.fields"} & sys.modules.keys()))
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout == "[]\n"
