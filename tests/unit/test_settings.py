"""Settings as values: what is read, what is refused, and what holds."""

from __future__ import annotations

from typing import Any

import pytest

from inferry.catalog.errors import InvalidSettings, Refused, UsageError
from inferry.catalog.settings import (
    DEFAULTS,
    KEYS,
    ORDER,
    VARIABLES,
    Effective,
    Layer,
    Settings,
    from_environment,
    from_registry,
    from_text,
    get,
    parse_settings,
    refuse_channel,
    refuse_larger,
    words,
)
from inferry.catalog.values.size import Size

ALL = """
policy = "PREFER_GPU"
channels = ["stable", "preview"]
install = "never"
offline = true

[eps]
allow = ["CPUExecutionProvider", "inferry/onnxruntime-ep-webgpu"]
deny = ["CUDA"]

[limits]
model_size = "2GB"
store_size = 1024

[sources]
allow = ["acme", "https://models.example.org"]
"""
WRONG = {
    "no TOML": ("policy = ", ()),
    "unknown": ('polcy = "default"', ("polcy",)),
    "unknown below": ("[eps]\nforbid = []", ("eps.forbid",)),
    "policy": ('policy = "fastest"', ("policy",)),
    "policy's type": ("policy = 1", ("policy",)),
    "a channel": ('channels = ["beta"]', ("channels[0]",)),
    "one channel as a text": ('channels = "preview"', ("channels",)),
    "install": ("install = true", ("install",)),
    "offline": ("offline = 1", ("offline",)),
    "no table": ("eps = 3", ("eps",)),
    "an EP": ('[eps]\ndeny = ["cuda", "a b"]', ("eps.deny[1]",)),
    "a size": ('[limits]\nmodel_size = "2 bits"', ("limits.model_size",)),
    "less than nothing": ("[limits]\nstore_size = -1", ("limits.store_size",)),
    "yes is no size": ("[limits]\nstore_size = true", ("limits.store_size",)),
    "a fraction of a byte": ("[limits]\nstore_size = 1.5", ("limits.store_size",)),
    "several": ('install = "x"\npolcy = 1\n[limits]\nmodel_size = []', ("polcy", "install", "limits.model_size")),
}


def at(origin: Any, text: str, where: str = "") -> Layer:
    return Layer(origin, parse_settings(text, where=where), where)


def test_every_key_is_read() -> None:
    told = parse_settings(ALL, where="here")
    assert {key: words(get(told, key)) for key in KEYS} == {
        "policy": "prefer-gpu",
        "channels": "stable,preview",
        "install": "never",
        "offline": "true",
        "eps.allow": "cpuexecutionprovider,inferry/onnxruntime-ep-webgpu",
        "eps.deny": "cuda",
        "limits.model_size": "2GB",
        "limits.store_size": "1KiB",
        "sources.allow": "acme,https://models.example.org/",
    }


@pytest.mark.parametrize("key", KEYS)
def test_a_value_is_spelled_as_it_is_told(key: str) -> None:
    value = get(parse_settings(ALL, where="here"), key)
    assert get(from_text(key, words(value)), key) == value


@pytest.mark.parametrize(("text", "fields"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named(text: str, fields: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSettings) as caught:
        parse_settings(text, where="here.toml")
    assert caught.value.fields == fields
    assert caught.value.message.startswith("here.toml: ")
    assert caught.value.exit_code == 9
    lines = text.splitlines()
    for field in fields:
        name = field.partition("[")[0].rpartition(".")[2]
        line = next(place for place, each in enumerate(lines, 1) if each.startswith((f"{name} ", f"[{name}]")))
        assert f"(line {line})" in next(each for each in caught.value.message.splitlines() if f"{field}: " in each)


def test_a_mistyped_key_is_put_right() -> None:
    with pytest.raises(InvalidSettings, match=r"did you mean eps\.deny\?"):
        parse_settings("[eps]\ndeni = []", where="here")
    with pytest.raises(UsageError) as caught:
        from_text("limits.model", "2GB")
    assert caught.value.hints()[0] == "did you mean limits.model_size?"


@pytest.mark.parametrize(
    ("key", "text"), [("policy", "x"), ("offline", "perhaps"), ("limits.model_size", "big"), ("channels", "beta")]
)
def test_a_wrong_value_on_the_command_line_is_wrong_usage(key: str, text: str) -> None:
    with pytest.raises(UsageError, match=key):
        from_text(key, text)


def test_the_environment() -> None:
    told = from_environment(
        {
            "INFERRY_POLICY": "Prefer-NPU",
            "INFERRY_CHANNELS": "preview, test",
            "INFERRY_INSTALL": "never",
            "INFERRY_OFFLINE": "1",
            "INFERRY_HOME": "/x",
        }
    )
    assert told == Settings(policy=told.policy, channels=("preview", "test"), install="never", offline=True)
    assert told.policy == "prefer-npu"
    assert from_environment(dict.fromkeys(VARIABLES.values(), "")) == Settings()
    with pytest.raises(InvalidSettings) as caught:
        from_environment({"INFERRY_OFFLINE": "perhaps", "INFERRY_INSTALL": "x"})
    assert set(caught.value.fields) == {"INFERRY_OFFLINE", "INFERRY_INSTALL"}


def test_the_registry() -> None:
    told = from_registry(
        {"channels": ["stable"], "eps.deny": "cuda, dml", "offline": 1, "limits.model_size": "2GB"}, where="HKLM"
    )
    assert told == parse_settings(
        'channels = ["stable"]\noffline = true\neps.deny = ["cuda", "dml"]\nlimits.model_size = "2GB"', where=""
    )
    with pytest.raises(InvalidSettings) as caught:
        from_registry({"offline": 7, "eps.deny": 1, "nosuch": b"x", "limits.store_size": 5}, where=r"HKLM\Inferry")
    assert caught.value.message.startswith(r"HKLM\Inferry: ")
    assert caught.value.fields == ("nosuch", "offline", "eps.deny")


def test_what_nobody_sets_has_its_default() -> None:
    held = Effective()
    assert held.settings == DEFAULTS
    assert {held[key].origin for key in KEYS} == {"default"}
    assert held.channels == ("stable",)
    assert held.ep_limits() == ()
    refuse_larger(held, "a model", 2**60)
    refuse_channel(held, "a model", "test")


CONTRADICTIONS = {
    "a channel": ('channels = ["stable"]', "command line", 'channels = ["preview"]', "`preview` is not among stable"),
    "one of two": (
        'channels = ["stable", "preview"]',
        "environment",
        'channels = ["preview", "test"]',
        "`test` is not among stable, preview",
    ),
    "stable is always there": ('channels = ["preview"]', "command line", 'channels = ["stable"]', None),
    "within": ('channels = ["stable", "preview"]', "environment", 'channels = ["preview"]', None),
    "policy": ('policy = "min-power"', "command line", 'policy = "prefer-gpu"', "`prefer-gpu` is not `min-power`"),
    "the same policy": ('policy = "min-power"', "command line", 'policy = "MIN_POWER"', None),
    "a user's policy": ('policy = "min-power"', "user", 'policy = "prefer-gpu"', None),
    "a system's channel": ('channels = ["stable"]', "system", 'channels = ["test"]', None),
    "install": ('install = "never"', "environment", 'install = "auto"', "`auto` is not `never`"),
    "offline": ("offline = true", "environment", "offline = false", "`false` is not `true`"),
    "an EP of the user's": ('eps.deny = ["cuda"]', "user", "eps.deny = []", None),
    "a larger store": (
        'limits.store_size = "1GB"',
        "command line",
        'limits.store_size = "2GB"',
        "2GB is more than 1GB",
    ),
    "a smaller store": ('limits.store_size = "2GB"', "command line", 'limits.store_size = "1GB"', None),
}


@pytest.mark.parametrize(("policy", "origin", "other", "told"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_the_machine_policy_is_not_contradicted(policy: str, origin: str, other: str, told: str | None) -> None:
    key = policy.partition(" ")[0]
    layers = [at(origin, other), at("machine policy", policy, "/etc/inferry/policy.toml")]
    if told is None:
        held = Effective(layers)
        assert held[key].origin == "machine policy"
        assert held[key].value == get(layers[1].settings, key)
        return
    with pytest.raises(Refused) as caught:
        Effective(layers)
    assert caught.value.message == f"/etc/inferry/policy.toml: {key}: {told}"
    assert caught.value.exit_code == 8
    by = VARIABLES.get(key) if origin == "environment" else "the command line"
    assert caught.value.hints()[0].startswith(f"{by} asks for ")


def test_larger_than_the_limit_is_refused() -> None:
    for origin in ("machine policy", "user"):
        held = Effective([at(origin, 'limits.model_size = "2kB"', "a.toml")])
        refuse_larger(held, "acme/thing fp32", 2000)
        with pytest.raises(Refused) as caught:
            refuse_larger(held, "acme/thing fp32", 2001)
        assert caught.value.message == "a.toml: limits.model_size: acme/thing fp32 has 2,001 bytes, more than 2kB"
        hints = () if origin == "machine policy" else ("inferry config set limits.model_size 2001",)
        assert caught.value.hints() == hints


def test_a_release_of_another_channel_is_refused_by_the_machine_policy_alone() -> None:
    refuse_channel(Effective([at("user", 'channels = ["stable"]')]), "acme/thing", "preview")
    held = Effective([at("machine policy", 'channels = ["preview"]', "p.toml")])
    refuse_channel(held, "acme/thing", "stable")
    with pytest.raises(Refused, match=r"p\.toml: channels: `test`, the channel of acme/thing, is not among"):
        refuse_channel(held, "acme/thing", "test")


def test_an_ep_that_is_asked_for_comes_before_the_users_setting() -> None:
    held = Effective([at("machine policy", 'eps.allow = ["cpu"]', "p"), at("user", 'eps.deny = ["cuda"]', "u")])
    assert [(each.rule, each.origin, each.allowed) for each in held.ep_limits()] == [
        ("machine-policy", "p: eps.allow", True),
        ("setting", "u: eps.deny", False),
    ]
    assert [each.rule for each in held.ep_limits(asked=True)] == ["machine-policy"]


SIZES = {"2GB": 2 * 10**9, "500 MB": 5 * 10**8, "1GiB": 2**30, "1.5kib": 1536, "7": 7, "7 B": 7, " 0 ": 0, "1.5 B": 1}


@pytest.mark.parametrize(("text", "count"), SIZES.items(), ids=map(repr, SIZES))
def test_sizes(text: str, count: int) -> None:
    assert Size.parse(text) == count


@pytest.mark.parametrize(
    "text", ["", "GB", "-1", "1e9", "2 G B", "2 GBs", "1,5 GB", "nan", "\u0661", "9" * 31, "9999999 TB"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match=r"size|more than"):
        Size.parse(text)


def test_the_order_is_the_one_that_is_promised() -> None:
    assert ORDER[:5] == ("machine policy", "command line", "environment", "user", "system")
