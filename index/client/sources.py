"""Sources of a user and of a machine: which there are, and how one is added and removed."""

from __future__ import annotations

import os
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from ...catalog.errors import InvalidSettings, NotFoundError, Refused, UsageError
from ...catalog.settings import forbids_network, rules_out
from ...catalog.values import canonical
from ...catalog.values.source import BUILT_IN, Sources, SourceSpec, SourceUrl
from ..blobs import write_whole
from ..files import explained
from ..home import config_folder, data_folder
from ..settings import SOURCES, held, read_text
from .indexed import folder_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...catalog.settings import Effective
    from ...catalog.values.source import Freshness
    from ..settings import Machine
    from .transport import Transport

_ROOT_BYTES: Final = 512_000
_MOST: Final = 1 << 20


class Told(NamedTuple):
    """A source, and who set it up."""

    spec: SourceSpec
    origin: str
    """``user`` or ``system``."""


class Wish(NamedTuple):
    """What a user says of a source that is to be added."""

    url: str
    """Or the path of a folder."""
    name: str | None = None
    fingerprint: str | None = None
    root: Path | None = None
    priority: int = 100
    namespaces: tuple[str, ...] = ()
    freshness: Freshness = "strict"


class SourceList:
    """The sources that are set up, the user's and the machine's."""

    def __init__(self, machine: Machine, settings: Callable[[], Effective], home: Path | None = None) -> None:
        """Read what is set up below ``home`` and in the folder of ``machine``; ``settings`` say which may be used."""
        self._system = machine.folder / SOURCES
        self._home = home
        self._settings = settings

    @property
    def _user(self) -> Path:
        return config_folder(self._home) / SOURCES

    def all(self) -> list[Told]:
        """Return all, in the order in which they are asked; of one name the machine's.

        Raises:
            InvalidSettings: a file is wrong.
            MachineError: it cannot be read.
        """
        found: dict[str, Told] = {}
        for origin, file in (("system", self._system), ("user", self._user)):
            for spec in _read(file).sources:
                found.setdefault(spec.name, Told(spec, origin))
        return sorted(found.values(), key=lambda each: each.spec.priority)

    def allowed(self) -> list[SourceSpec]:
        """Return those that settings do not rule out; raise as ``all``."""
        return [each.spec for each in self.all() if not rules_out(self._settings(), each.spec.name, each.spec.url)]

    def named(self, word: str) -> Told:
        """Return the source of that name or address; raise ``NotFoundError`` where there is none."""
        there = self.all()
        for each in there:
            if word in {each.spec.name, each.spec.url} or f"{word}/" == each.spec.url:
                return each
        raise NotFoundError(f"there is no source `{word}`", hints=[f"there is {each.spec.name}" for each in there])

    def add(self, wish: Wish, transport: Transport, trusts: Callable[[SourceUrl, str], bool] | None = None) -> Told:
        """Set up a source, once all that it signs was verified from the root on; one that is there so already stays.

        Args:
            wish: what is said of it; without a fingerprint or a root, ``trusts`` is asked.
            transport: how it is reached.
            trusts: whether somebody trusts an address with the fingerprint of its newest root; ``None``: nobody does.

        Raises:
            UsageError: what is said of it is malformed, or nobody says whom to trust.
            Refused: another source has the name, settings rule it out, nobody trusts it, or the network is forbidden.
            Error: what ``Trust.refresh`` raises.
        """
        from .trust import Trust

        url = _address(wish.url)
        name = wish.name or _called(url)
        if told := rules_out(self._settings(), name, url):
            raise Refused(told)
        if (offline := forbids_network(self._settings())) and url.is_remote:
            raise Refused(f"{offline}: {url} lies on the network, which may not be used")
        root = _root_file(wish.root) if wish.root else None
        fingerprint = sha256(root).hexdigest() if root else self._fingerprint(wish, url, transport, trusts)
        spec = _spec(wish, name, url, fingerprint)
        for each in self.all():
            if each.spec.name == name and each.spec != spec:
                raise Refused(
                    f"there is another source `{each.spec.name}`, at {each.spec.url}",
                    hints=(f"inferry source remove {name} takes it out", "--name gives the new one another name"),
                )
        trust = Trust(spec, folder_of(spec, data_folder(self._home)), transport)
        if root:
            trust.pin(root)
        trust.refresh()
        self._write(lambda there: (*(each for each in there if each.name != name), spec))
        return Told(spec, "user")

    def remove(self, word: str) -> SourceSpec:
        """Take a source out, and forget what it said; what was pulled from it stays.

        Raises:
            NotFoundError: there is no such source.
            Refused: the machine has it, not the user.
            MachineError: a file cannot be written.
        """
        spec, origin = self.named(word)
        if origin != "user":
            raise Refused(f"{spec} is set up for everybody, in {self._system}")
        self._write(lambda there: tuple(each for each in there if each.name != spec.name))
        folder = folder_of(spec, data_folder(self._home))
        with explained(folder, done="removed"):
            shutil.rmtree(folder, ignore_errors=True)
        return spec

    @staticmethod
    def _fingerprint(
        wish: Wish, url: SourceUrl, transport: Transport, trusts: Callable[[SourceUrl, str], bool] | None
    ) -> str:
        """Return whom to trust, as the user says it, or says yes to."""
        from .trust import Fetcher, roots

        if wish.fingerprint:
            return wish.fingerprint.lower()
        if trusts is None or url.startswith("http:"):
            raise UsageError(
                f"nobody says by which root {url} is to be trusted",
                hints=("--fingerprint takes what `inferry index status` tells its owner; --root takes a file",),
            )
        *_, newest = roots(Fetcher(transport), url)
        fingerprint = sha256(newest).hexdigest()
        if not trusts(url, fingerprint):
            raise Refused(f"{url} is not trusted: nothing was added")
        return fingerprint

    def _write(self, changed: Callable[[tuple[SourceSpec, ...]], tuple[SourceSpec, ...]]) -> None:
        file = self._user
        with explained(file.parent, done="made"):
            file.parent.mkdir(parents=True, exist_ok=True)
        with held(file):
            made = changed(_read(file).sources)
            write_whole(file, _toml(made), durably=True)


def read_sources(text: str, *, where: str) -> Sources:
    """Return the sources that the TOML in ``text`` sets up; raise ``InvalidSettings`` where it is wrong."""
    from ...catalog.toml import parse_toml

    try:
        return msgspec.convert(parse_toml(text, where=where, failure=InvalidSettings), Sources, dec_hook=_from_text)
    except msgspec.ValidationError as error:
        raise InvalidSettings(f"{where}: {error}") from error


def _read(file: Path) -> Sources:
    text = read_text(file)
    return Sources() if text is None else read_sources(text, where=str(file))


def _from_text(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature of a dec_hook
    if kind is not SourceUrl or not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}"[:200])
    try:
        return SourceUrl.parse(value)
    except UsageError as error:
        raise ValueError(error.message) from error


def _toml(sources: Sequence[SourceSpec]) -> bytes:
    import tomlkit

    return tomlkit.dumps({"sources": canonical.plain(sources)}).encode()


def _spec(wish: Wish, name: str, url: SourceUrl, fingerprint: str) -> SourceSpec:
    try:
        return SourceSpec(
            name=name,
            url=url,
            fingerprint=fingerprint,
            priority=wish.priority,
            namespaces=wish.namespaces,
            freshness=wish.freshness,
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def _address(text: str) -> SourceUrl:
    """Return the address of a folder or of a server."""
    if "://" in text:
        return SourceUrl.parse(text)
    return SourceUrl.parse(f"{Path(os.path.abspath(text)).as_uri()}/")  # noqa: PTH100 - `Path.absolute` keeps `..`


def _called(url: SourceUrl) -> str:
    """Return what a source is called where nobody gives it a name: its host, or its folder."""
    from urllib.parse import unquote, urlsplit

    told = urlsplit(url)
    word = told.hostname or unquote(told.path.rstrip("/").rpartition("/")[2])
    name = re.sub("[^a-z0-9.]+", "-", word.lower()).strip(".-")
    return name if name != BUILT_IN else f"{name}-2"


def _root_file(path: Path) -> bytes:
    with explained(path, done="read"), path.open("rb") as file:
        return file.read(_ROOT_BYTES)
