"""Coverage-guided fuzzing of what reads untrusted bytes: ``python -m inferry.tests.fuzz [PARSER [CASES]]``.

Whatever comes, a parser returns a value or raises an error of the program. An input that reaches a line of ours that no
one before it did, or a kind of answer, is kept and bent further.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from inferry.catalog.errors import Error
from inferry.catalog.manifest import read_manifest, read_package
from inferry.catalog.settings import parse_settings
from inferry.catalog.values.document import EpDocument, EpEntry, ModelDocument, ModelEntry, PieceList
from inferry.catalog.values.listing import Listed, Listing
from inferry.catalog.values.location import HuggingFaceLocation, UrlLocation
from inferry.catalog.values.model import Release
from inferry.catalog.values.names import HuggingFaceName, ModelName
from inferry.catalog.values.package import EpRelease
from inferry.catalog.values.source import SourceUrl
from inferry.ep_packages.table import packages
from inferry.index import wire
from inferry.index.client.source import BUILT_IN, FolderSource
from inferry.index.client.sources import read_sources
from inferry.index.composing.compose import compose
from inferry.index.listing import decode_listing, encode_listing
from inferry.registry.inspect import inspect
from inferry.tests.graphs import BRANCHES, node, of, outside
from inferry.tests.hostile import EDITS
from inferry.tests.mine import BYTE, FLOAT, SIX
from inferry.tests.models import add, saved

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
Line: TypeAlias = "tuple[str, int]"
SLOW_S: Final = 2.0
"""Far more than any of these takes."""
NUMBERS: Final = (None, True, 0, -1, 1, 2**31, 2**53, 2**64, -(2**63), 1.5, 1e308)
TEXTS: Final = (
    "",
    "a",
    "é",
    "\x00",
    "../a",
    "a/b",
    "1.0",
    "sha256:" + "0" * 64,
    "https://a/b",
    "file:///a",
    "x" * 3000,
)
WORDS: Final[list[Json]] = [*NUMBERS, *TEXTS, [], {}, [[]], {"kind": "url"}, {"a": 1}]
KEYS: Final = ("a", "é", "kind", "requires", "x" * 200)


class Parser(NamedTuple):
    """What reads untrusted bytes."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    pack: Callable[[bytes], bytes] | None = None
    """Makes of JSON what it reads, where it reads JSON."""
    unpack: Callable[[bytes], bytes] = bytes


class Told(NamedTuple):
    """What fuzzing came to."""

    read: int
    refused: int
    lines: int
    """How many lines of ours were reached."""
    kept: int


def parsers() -> dict[str, Parser]:
    """Return every parser of bytes that others send, with good ones to begin with."""
    found = FolderSource().find(ModelName("inferry/digits"))
    assert found
    assert found.release
    release = found.release
    away = (
        UrlLocation(url="https://a/b"),
        HuggingFaceLocation(repo=HuggingFaceName("a/b"), revision="0" * 40, path="x"),
    )
    card = release.card and msgspec.structs.replace(release.card, locations=away)
    release = msgspec.structs.replace(release, card=card)
    link = wire.link(wire.encode(release))
    entry = ModelEntry(version="1.0.0", document=link, license="MIT", precisions=("fp32",), size_bytes=9)
    yanked = msgspec.structs.replace(entry, version="0.9", status="yanked", reason="old", channel="preview")
    model = ModelDocument(name=release.name, task="t", summary="s", releases=(entry, yanked))
    listed = Listed(
        name=release.name, version="1", task="t", summary="s", license="MIT", precisions=("int8",), size_bytes=1
    )
    pack = packages()[0]
    told = {name: getattr(pack, name) for name in EpDocument.__struct_fields__ if name != "releases"}
    ep = EpDocument(**told, releases=(EpEntry(version="1.0", document=link),))
    documents: dict[type[Any], bytes] = {
        ModelDocument: wire.encode(model),
        EpDocument: wire.encode(ep),
        Release: wire.encode(release),
        EpRelease: wire.encode(pack.releases[0]),
        PieceList: wire.encode(wire.pieces([b"x" * 20_000_000])),
    }
    tables = sorted((Path(BUILT_IN).parents[1] / "ep_packages").rglob("*.toml"))
    sources = b'[[sources]]\nname = "a"\nurl = "https://a/"\nfingerprint = "' + b"0" * 64 + b'"\npriority = 5\n'
    manifest = next(BUILT_IN.rglob("manifest.toml")).read_bytes()
    return {
        **{kind.__name__: Parser(partial(wire.decode, kind=kind), (data,), bytes) for kind, data in documents.items()},
        "Listing": Parser(
            decode_listing,
            (encode_listing(Listing(models=(listed,))),),
            partial(gzip.compress, mtime=0),
            gzip.decompress,
        ),
        "manifest": Parser(_of_text(partial(read_manifest, where="it")), (manifest,)),
        "EP package": Parser(
            _of_text(partial(read_package, where="it")), tuple(path.read_bytes() for path in tables[:3])
        ),
        "settings": Parser(
            _of_text(partial(parse_settings, where="it")), (b'policy = "prefer-gpu"\n[eps]\nallow = ["cpu"]\n',)
        ),
        "ONNX file": Parser(
            _of_file("it.onnx", inspect, {"weights.bin": bytes(8)}),
            (add(), FLOAT, BYTE, saved(of(BRANCHES)), saved(of(node("Abs"), weights=(outside("weights.bin"),)))),
        ),
        "short manifest": Parser(
            _of_file("manifest.toml", _composed, {"add.onnx": add(), "card.md": b"# Adds"}),
            (SIX.encode(), SIX.encode() + b'card = { path = "card.md" }\n'),
        ),
        "sources": Parser(_of_text(partial(read_sources, where="it")), (sources,)),
        "address": Parser(_of_text(SourceUrl.parse), (b"https://a.example:80/b/", b"file:///a%20b")),
    }


def fuzz(parser: Parser, cases: int, seed: int = 0) -> Told:
    """Give a parser so many inputs; raise what it may not raise, with the input beside it."""
    random, corpus = Random(seed), [*parser.seeds]
    seen: set[Line] = set()
    answers: dict[type, int] = {}
    for place in range(cases):
        data = corpus[place] if place < len(parser.seeds) else _bent(random, parser, corpus)
        before, begun = len(seen), time.perf_counter()
        with _followed(seen):
            answer = _answer(parser, data)
        assert time.perf_counter() - begun < SLOW_S, data
        if len(seen) > before or answer not in answers:
            corpus.append(data)
        answers[answer] = answers.get(answer, 0) + 1
    refused = sum(count for kind, count in answers.items() if issubclass(kind, Error))
    return Told(cases - refused, refused, len(seen), len(corpus))


def _answer(parser: Parser, data: bytes) -> type:
    """Return the type of what a parser returns, or raises."""
    try:
        return type(parser.read(data))
    except Error as error:
        return type(error)
    except Exception as error:
        raise AssertionError(f"{data!r} made {type(error).__name__}") from error


@contextmanager
def _followed(seen: set[Line]) -> Generator[None]:
    """Add the lines of ours that are reached inside."""

    def follow(frame: FrameType, event: str, _: object) -> Any:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("inferry."):
            return None
        if event == "line":
            seen.add((module, frame.f_lineno))
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        yield
    finally:
        sys.settrace(before)


def _bent(random: Random, parser: Parser, corpus: list[bytes]) -> bytes:
    data = random.choice(corpus)
    if parser.pack and random.random() < 0.7:
        try:
            told: Json = json.loads(parser.unpack(data))
        except (ValueError, OSError, EOFError, zlib.error):
            told = {}
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            told = _changed(random, told)
        return parser.pack(msgspec.json.encode(told, order="sorted"))
    for _ in range(random.choice((1, 1, 2, 4))):
        if random.random() < 0.1:
            other = random.choice(corpus)
            data = data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]
        edit = random.choice(EDITS)
        data = edit(data, random.randrange(len(data) + 1), random.randbytes(random.choice((1, 1, 2, 4))))[:2_000_000]
    return data


def _changed(random: Random, value: Json) -> Json:
    """Return JSON with one thing in it changed."""
    if random.random() < 0.15 or not value:
        return random.choice(WORDS)
    if isinstance(value, list):
        place = random.randrange(len(value))
        one = [[], [value[place], value[place]], [_changed(random, value[place])]]
        return [*value[:place], *random.choices(one, (1, 1, 5))[0], *value[place + 1 :]]
    if isinstance(value, dict):
        key = random.choice([*value])
        rest = {each: held for each, held in value.items() if each != key}
        more: list[dict[str, Json]] = [{}, {key: value[key], random.choice(KEYS): random.choice(WORDS)}]
        return rest | random.choices([*more, {key: _changed(random, value[key])}], (1, 1, 5))[0]
    return random.choice(WORDS)


def _of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    def of_bytes(data: bytes) -> object:
        return read(data.decode("utf-8", "replace"))

    return of_bytes


def _of_file(name: str, read: Callable[[Path], object], beside: dict[str, bytes]) -> Callable[[bytes], object]:
    folder = TemporaryDirectory()
    for other, data in beside.items():
        (Path(folder.name) / other).write_bytes(data)

    def of_bytes(data: bytes) -> object:
        path = Path(folder.name) / name
        path.write_bytes(data)
        return read(path)

    return of_bytes


def _composed(path: Path) -> Release:
    return compose(path).checked()


def main(arguments: list[str]) -> None:
    """Fuzz one parser, or all."""
    known = parsers()
    cases = int(arguments[1]) if len(arguments) > 1 else 10_000
    for name in arguments[:1] or known:
        print(name, fuzz(known[name], cases)._asdict())  # noqa: T201 - it is a program


if __name__ == "__main__":
    main(sys.argv[1:])
