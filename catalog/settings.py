"""Settings: the one schema of all keys, how they are spelled, and which of several layers holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, TypeAlias, cast, get_args

import msgspec

from .errors import InvalidSettings, Refused, UsageError
from .policy import policy as policy_named
from .values.plan import EpLimit
from .values.size import Size
from .values.version import CHANNELS, Channel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .fields import Wrong

Origin = Literal["machine policy", "command line", "environment", "user", "system", "default"]
ORDER: Final[tuple[Origin, ...]] = get_args(Origin)
"""Who may set a key; who comes first holds."""
Install = Literal["auto", "never"]
_EP: Final = re.compile(r"[a-z0-9][a-z0-9._/-]{0,199}")


class DevicePolicy(str):
    """A device policy's normalised name."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the policy that ``text`` names; raise ``UsageError`` where there is none."""
        return cls(policy_named(text))


class EpWord(str):
    """What means an EP: its name, an alias or a package's name, in lower case."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what ``text`` spells in lower case; raise ``UsageError`` where it can be no such name."""
        if not _EP.fullmatch(text.lower()):
            raise UsageError(f"`{text[:100]}` is not the name of an execution provider")
        return cls(text.lower())


class Eps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which EPs may run models."""

    allow: tuple[EpWord, ...] | None = None
    """These alone; ``None`` for all."""
    deny: tuple[EpWord, ...] | None = None
    """Not these, whatever ``allow`` says."""


class SourceWord(str):
    """A source: its name, or an address at which it lies or below which it does."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the source that ``text`` names; raise ``UsageError`` where it can name none."""
        from .values.source import SourceUrl

        if "://" in text:
            return cls(SourceUrl.parse(text))
        if not _EP.fullmatch(text):
            raise UsageError(f"`{text[:100]}` is neither the name of a source nor an address, as https://host/folder/")
        return cls(text)


class SourceLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sources may be asked."""

    allow: tuple[SourceWord, ...] | None = None
    """These alone, and the built-in one; ``None`` for all."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How large things may be, in bytes; ``None`` where there is no limit."""

    model_size: Size | None = None
    """A variant with all its files."""
    store_size: Size | None = None
    """All that was fetched."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one layer sets; ``None`` is what it does not set."""

    policy: DevicePolicy | None = None
    channels: tuple[Channel, ...] | None = None
    """Whose releases are taken; ``stable`` always."""
    install: Install | None = None
    """Whether what a model needs is fetched when it is loaded."""
    offline: bool | None = None
    eps: Eps = Eps()
    limits: Limits = Limits()
    sources: SourceLimits = SourceLimits()


DEFAULTS: Final = Settings(policy=DevicePolicy("default"), channels=("stable",), install="auto", offline=False)
KEYS: Final = (
    "policy",
    "channels",
    "install",
    "offline",
    "eps.allow",
    "eps.deny",
    "limits.model_size",
    "limits.store_size",
    "sources.allow",
)
VARIABLES: Final = {
    "policy": "INFERRY_POLICY",
    "channels": "INFERRY_CHANNELS",
    "install": "INFERRY_INSTALL",
    "offline": "INFERRY_OFFLINE",
}
"""The variables of the environment that set a key."""
_LISTS: Final = frozenset({"channels", "eps.allow", "eps.deny", "sources.allow"})
_OPTIONS: Final = {"channels": CHANNELS, "install": get_args(Install)}
_WORDS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Layer(NamedTuple):
    """What one place sets."""

    origin: Origin
    settings: Settings
    where: str = ""
    """The file or the registry's path; empty where a key itself says it."""


class Value(NamedTuple):
    """What holds of one key."""

    value: Any
    origin: Origin
    where: str
    """The file, the registry's path, or the variable; empty for the command line and a default."""


class Effective:
    """What holds: of each key what the first of ``ORDER`` says that sets it."""

    def __init__(self, layers: Iterable[Layer] = ()) -> None:
        """Put the layers into their order; of two of one origin the first holds.

        Raises:
            Refused: the command line or the environment contradicts the machine policy.
        """
        ranked = sorted(layers, key=lambda layer: ORDER.index(layer.origin))
        self._values: dict[str, Value] = {}
        for layer in (*ranked, Layer("default", DEFAULTS)):
            for key in KEYS:
                value = _get(layer.settings, key)
                where = VARIABLES.get(key, "") if layer.origin == "environment" else layer.where
                if value is None:
                    continue
                first = self._values.setdefault(key, Value(value, layer.origin, where))
                if first.origin == "machine policy" and layer.origin in {"command line", "environment"}:
                    _hold(key, first, Value(value, layer.origin, where))
        told = _nested({key: held.value for key, held in self._values.items()})
        tables = {"eps": Eps, "limits": Limits, "sources": SourceLimits}
        made: dict[str, Any] = {name: table(**told.pop(name, {})) for name, table in tables.items()}
        self.settings: Settings = Settings(**made, **told)
        """All of it as one value; what nobody sets has its default."""

    def __getitem__(self, key: str) -> Value:
        """Return what holds of one of ``KEYS``."""
        return self._values.get(key, Value(None, "default", ""))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels whose releases are taken, in the order of ``CHANNELS``: always the stable ones."""
        return tuple(each for each in CHANNELS if each == "stable" or each in (self.settings.channels or ()))

    def ep_limits(self, *, asked: bool = False) -> tuple[EpLimit, ...]:
        """Return what ``eps.allow`` and ``eps.deny`` say; where an EP was ``asked`` for, the machine policy alone."""
        found: list[EpLimit] = []
        for key, allowed in (("eps.allow", True), ("eps.deny", False)):
            value, origin, where = self[key]
            if value is None or (asked and origin != "machine policy"):
                continue
            rule: Literal["machine-policy", "setting"] = "machine-policy" if origin == "machine policy" else "setting"
            found.append(EpLimit(eps=tuple(map(str, value)), allowed=allowed, rule=rule, origin=_at(where, key)))
        return tuple(found)


def refuse_larger(settings: Effective, what: str, size_bytes: int) -> None:
    """Raise ``Refused`` where ``what``, which has so many bytes, is larger than ``limits.model_size``."""
    key = "limits.model_size"
    limit, origin, where = settings[key]
    if limit is not None and size_bytes > limit:
        hints = () if origin == "machine policy" else (f"inferry config set {key} {Size(size_bytes)}",)
        raise Refused(f"{_at(where, key)}: {what} has {size_bytes:,} bytes, more than {limit}", hints=hints)


def refuse_channel(settings: Effective, what: str, channel: Channel) -> None:
    """Raise ``Refused`` where the machine policy sets channels, and that of ``what`` is not among them."""
    if settings["channels"].origin == "machine policy" and channel not in settings.channels:
        at, among = _at(settings["channels"].where, "channels"), ", ".join(settings.channels)
        raise Refused(f"{at}: `{channel}`, the channel of {what}, is not among {among}")


def rules_out(settings: Effective, name: str, url: str) -> str:
    """Return what says that a source may not be asked; empty where nothing does."""
    allowed, _, where = settings["sources.allow"]
    if allowed is None or name in allowed or any("://" in each and url.startswith(each) for each in allowed):
        return ""
    return f"{_at(where, 'sources.allow')}: the source {name} ({url}) is not among {', '.join(allowed)}"


def forbids_network(settings: Effective) -> str:
    """Return what says that the network may not be used; empty where nothing does."""
    value, _, where = settings["offline"]
    return _at(where, "offline") if value else ""


def parse_settings(text: str, *, where: str) -> Settings:
    """Return what the TOML in ``text`` sets; ``where`` is what errors call it.

    Raises:
        InvalidSettings: the text is no TOML, or keys are unknown or wrong; ``fields`` names all of them.
    """
    from .toml import parse_toml

    return _convert(parse_toml(text, where=where, failure=InvalidSettings), text, where)


def from_registry(values: Mapping[str, object], *, where: str) -> Settings:
    """Return what a registry's values set, each named by its dotted key; raises what ``parse_settings`` raises.

    A text is spelled as ``from_text`` has it, a list of texts is a list, and a number says yes, no or a size.
    """
    data: dict[str, object] = {}
    for key, value in values.items():
        data[key] = spelled(key, str(value)) if isinstance(value, str) or key == "offline" else value
    return _convert(_nested(data), "", where)


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Return what variables set; an empty one sets nothing. Raises what ``parse_settings`` raises."""
    told = {key: environment.get(name, "").strip() for key, name in VARIABLES.items()}
    data = {key: spelled(key, text) for key, text in told.items() if text}
    return _convert(data, "", "the environment", VARIABLES) if data else Settings()


def from_text(key: str, text: str) -> Settings:
    """Return the settings with one key, as a command line spells its value: of a list, with commas.

    Raises:
        UsageError: there is no such key, or the value is wrong.
    """
    known(key)
    try:
        return _convert(_nested({key: spelled(key, text)}), "", "")
    except InvalidSettings as error:
        raise UsageError(error.message.removeprefix(": ")) from error


def known(key: str) -> str:
    """Return ``key``; raise ``UsageError`` where there is no such setting."""
    if key not in KEYS:
        hints = [f"did you mean {near}?" for near in _near(key)] or [f"there are {', '.join(KEYS)}"]
        raise UsageError(f"there is no setting `{key[:100]}`", hints=hints)
    return key


def spelled(key: str, text: str) -> Any:  # noqa: ANN401 - what TOML would hold
    """Return what TOML would hold where one text spells the value of ``key``, right or wrong."""
    if key in _LISTS:
        return [part.strip() for part in text.split(",") if part.strip()]
    return _WORDS.get(text.lower(), text) if key == "offline" else text


def plain(value: Any) -> Any:  # noqa: ANN401 - any setting's
    """Return a value as TOML and JSON hold it."""
    if isinstance(value, Size):
        return str(value)
    if isinstance(value, tuple):
        return [str(each) for each in cast("tuple[object, ...]", value)]
    return str(value) if isinstance(value, str) else value


def words(value: Any) -> str:  # noqa: ANN401 - any setting's
    """Return a value as ``from_text`` takes it; empty where nothing is set."""
    if isinstance(value, tuple):
        return ",".join(map(str, cast("tuple[object, ...]", value)))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def get(settings: Settings, key: str) -> Any:  # noqa: ANN401 - any setting's
    """Return what one layer sets for a key, or ``None``."""
    return _get(settings, known(key))


_Differs: TypeAlias = "Callable[[Any, Any], str]"


def _among(bound: tuple[str, ...], asked: tuple[str, ...]) -> str:
    beyond = [each for each in asked if each not in {"stable", *bound}]
    return f"`{', '.join(beyond)}` is not among {', '.join(bound)}" if beyond else ""


def _within(bound: Size, asked: Size) -> str:
    return f"{asked} is more than {bound}" if asked > bound else ""


def _same(bound: object, asked: object) -> str:
    return "" if bound == asked else f"`{words(asked)}` is not `{words(bound)}`"


_CONTRADICTS: Final[dict[str, _Differs]] = {
    "channels": _among,
    "limits.model_size": _within,
    "limits.store_size": _within,
}


def _hold(key: str, policy: Value, asked: Value) -> None:
    if told := _CONTRADICTS.get(key, _same)(policy.value, asked.value):
        by = asked.where or f"the {asked.origin}"
        raise Refused(f"{_at(policy.where, key)}: {told}", hints=(f"{by} asks for what the machine policy rules out",))


def _at(where: str, key: str) -> str:
    return f"{where}: {key}" if where else key


def _get(settings: Settings, key: str) -> Any:  # noqa: ANN401 - any setting's
    table, _, name = key.rpartition(".")
    return getattr(getattr(settings, table) if table else settings, name)


def _nested(values: Mapping[str, object]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        (data.setdefault(table, {}) if table else data)[name] = value
    return data


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature of a dec_hook
    if kind is Size and type(value) is int and 0 <= value < 2**63:
        return Size(value)
    if not issubclass(kind, Size | DevicePolicy | EpWord | SourceWord) or not isinstance(value, str):
        raise TypeError(f"expected a {'size' if kind is Size else 'text'}, got {value!r}"[:200])
    try:
        return kind.parse(value)
    except UsageError as error:
        raise ValueError("; ".join((error.message, *error.hints()))) from error


def _convert(data: dict[str, Any], text: str, where: str, names: Mapping[str, str] | None = None) -> Settings:
    """Return the settings in ``data``; ``names`` is what errors call keys that have another name there."""
    try:
        return msgspec.convert(data, Settings, dec_hook=_decode)
    except msgspec.ValidationError as error:
        from .fields import Wrong, all_wrong, words as in_words, wrong

        found = list(all_wrong(data, Settings, _decode)) or [wrong(error)]
        told = [Wrong((names or {}).get(each.field, each.field), _explained(each)) for each in found]
        fields = [each.field for each in told]
        raise InvalidSettings(in_words(told, text, where), field=fields[0], fields=fields) from error


def _explained(it: Wrong) -> str:
    """Return what is wrong with a key, and what would be right where that is one of a few."""
    if it.message.startswith("Object contains unknown field"):
        near = _near(it.field)
        return f"there is no such setting{f'; did you mean {near[0]}?' if near else ''}"
    options = _OPTIONS.get(it.field.partition("[")[0])
    return f"{it.message}; write {' or '.join(options)}" if options else it.message


def _near(key: str) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(key, KEYS, n=2)
