"""Fields: where a document is wrong, all of it at once, and on which line."""

from __future__ import annotations

import re
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard, Union, get_args, get_origin

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Decode = Callable[[type, Any], Any]

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*([A-Za-z0-9_.-]+|"[^"]*"|'[^']*')\s*=""")

_QUOTES = "\"'"


class Wrong(NamedTuple):
    """One field that is wrong."""

    field: str
    """Its path, such as ``variants[0].artifact.digest``; empty for the document itself."""
    message: str


def wrong(error: msgspec.ValidationError) -> Wrong:
    """Return the field that is wrong, and what is wrong with it, from what msgspec says."""
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    # A value's own check names its field first, as in "margin: twice …".
    if named := re.match(r"([a-z_]+): ", message):
        return Wrong(f"{field}.{named[1]}".lstrip("."), message[named.end() :])
    if named := re.search(r"(?:required|unknown) field `(\w+)`", message):
        field = f"{field}.{named[1]}".lstrip(".")
    return Wrong(field, message)


def all_wrong(data: Any, kind: Any, decode: Decode, path: str = "") -> Iterator[Wrong]:  # noqa: ANN401 - any document
    """Yield every field of ``data`` that cannot be one of ``kind``; msgspec itself stops at the first."""
    options = [each for each in _options(kind) if each is not NoneType]
    if len(options) > 1 and _is_table(data):  # of several tables one is meant by its tag
        options = [each for each in options if _is_struct(each) and _is_tagged(data, each)] or options
    if len(options) == 1 and _is_table(data) and _is_struct(options[0]):
        yield from _table(data, options[0], decode, path)
    elif _is_list(data) and len(args := get_args(options[0])) == 2 and args[1] is ...:  # noqa: PLR2004
        for place, item in enumerate(data):
            yield from all_wrong(item, args[0], decode, f"{path}[{place}]")
    else:
        yield from _itself(data, kind, decode, path)


class _Beyond(Exception):
    """What must be read whole says more than is known."""


def known(data: Any, kind: Any, *, whole: type, parts: tuple[type, ...]) -> Any:  # noqa: ANN401 - any document
    """Return ``data`` without what ``kind`` has no field for, and without tables of a union that no tag of it names.

    Below ``whole`` nothing may be left out: where something would have to be, the one of ``parts`` around it is; and
    where it is in none of these, it stays, so that whoever converts it refuses it.
    """
    try:
        return _known(data, kind, whole, parts, within=False)
    except _Beyond:
        return data


def _known(data: Any, kind: Any, whole: type, parts: tuple[type, ...], *, within: bool) -> Any:  # noqa: ANN401
    options = [each for each in _options(kind) if each is not NoneType]
    if len(options) > 1 and _is_table(data):
        options = [each for each in options if _is_struct(each) and _is_tagged(data, each)] or options
    it = options[0]
    if _is_table(data) and _is_struct(it):
        fields = {field.encode_name: field for field in msgspec.structs.fields(it)}
        within = within or issubclass(it, whole)
        if within and not {*data} <= {*fields}:
            raise _Beyond
        tag = it.__struct_config__.tag_field
        return {
            name: _known(held, fields[name].type, whole, parts, within=within) if name in fields else held
            for name, held in data.items()
            if name in fields or name == tag
        }
    if _is_list(data) and len(args := get_args(it)) == 2 and args[1] is ...:  # noqa: PLR2004
        return [*_items(data, args[0], whole, parts, within=within)]
    return data


def _items(data: list[Any], kind: Any, whole: type, parts: tuple[type, ...], *, within: bool) -> Iterator[Any]:  # noqa: ANN401
    options = _options(kind)
    tagged = all(_is_struct(each) and each.__struct_config__.tag_field for each in options)
    for item in data:
        if tagged and _is_table(item) and not any(_is_tagged(item, each) for each in options):
            if within:
                raise _Beyond
            continue
        try:
            yield _known(item, kind, whole, parts, within=within)
        except _Beyond:
            if kind not in parts:
                raise


def lines(text: str) -> dict[str, int]:
    """Return the line, from 1, on which each key and table of a TOML text begins, by its path."""
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table, within = "", ""
    for number, line in enumerate(text.splitlines(), 1):
        if not within and (header := _HEADER.match(line)):
            table = _path(header[2], counts)
            if header[1] == "[[":
                place = counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{place}]"
            found.setdefault(table, number)
        elif not within and (key := _KEY.match(line)):
            found.setdefault(f"{table}.{key[1].strip(_QUOTES)}".lstrip("."), number)
        for mark in ('"""', "'''"):
            if within in {"", mark} and line.count(mark) % 2:
                within = "" if within else mark
    return found


def line_of(field: str, found: dict[str, int]) -> int | None:
    """Return the line of a field, or of the nearest table around it."""
    while field and field not in found:
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return found.get(field)


def words(found: Sequence[Wrong], text: str, where: str) -> str:
    """Return all that is wrong in the TOML ``text`` of ``where`` as one message, with lines where the text has them."""
    at = lines(text)
    told: list[str] = []
    for field, message in found:
        line = line_of(field, at)
        told.append(f"{field}: {message}" + (f" (line {line})" if line else ""))
    more = f" and {len(told) - 1} more:\n  " if len(told) > 1 else ""
    return f"{where}: {told[0]}{more}" + "\n  ".join(told[1:])


def _table(data: dict[str, Any], kind: type[msgspec.Struct], decode: Decode, path: str) -> Iterator[Wrong]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    told = [
        Wrong(f"{path}.{name}".lstrip("."), f"Object contains unknown field `{name}`")
        for name in data
        if name not in fields and name != kind.__struct_config__.tag_field
    ]
    for name, field in fields.items():
        where = f"{path}.{name}".lstrip(".")
        if name in data:
            told += all_wrong(data[name], field.type, decode, where)
        elif field.required:
            told.append(Wrong(where, f"Object missing required field `{name}`"))
    # What a value checks across its fields can be asked only once each of them is right.
    yield from told or _itself(data, kind, decode, path)


def _itself(data: Any, kind: Any, decode: Decode, path: str) -> Iterator[Wrong]:  # noqa: ANN401 - as above
    try:
        msgspec.convert(data, kind, dec_hook=decode)
    except msgspec.ValidationError as error:
        field, message = wrong(error)
        names = [name for each in _options(kind) if get_origin(each) is Literal for name in get_args(each)]
        if names and isinstance(data, str):
            message = f"`{data[:100]}` is none of {', '.join(names)}"
        yield Wrong(f"{path}{field if field.startswith('[') else f'.{field}' * bool(field)}".lstrip("."), message)


def _path(header: str, counts: dict[str, int]) -> str:
    """Return the path that a table's header means: below an array of tables, its last one."""
    *above, last = (part.strip(_QUOTES) for part in re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', header))
    path = ""
    for part in above:
        path = f"{path}.{part}".lstrip(".")
        path = f"{path}[{counts[path]}]" if path in counts else path
    return f"{path}.{last}".lstrip(".")


def _options(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    return get_args(kind) if get_origin(kind) in {Union, UnionType} else (kind,)


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_table(data: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(data, dict)


def _is_tagged(data: dict[str, Any], kind: type[msgspec.Struct]) -> bool:
    config = kind.__struct_config__
    return config.tag_field is not None and data.get(config.tag_field) == config.tag


def _is_list(data: object) -> TypeGuard[list[Any]]:
    return isinstance(data, list)
