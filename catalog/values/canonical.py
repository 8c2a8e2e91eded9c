"""The canonical form: one sequence of bytes for each value, so that a digest of it names the value.

It is JSON in UTF-8 without white space. The keys of every object are sorted by their code points; a field that has its
default is left out, so that a field which is added later changes no digest. Texts are escaped only where JSON demands
it. A whole number within 2**53 is written without a point, also where its field holds fractions; any other in the
fewest digits that read as the same number.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from ..errors import InvalidDocument, InvalidName
from .digest import Digest
from .graph import Operator
from .host import MAX_COUNT
from .names import HuggingFaceName, ModelName, PackageName

_Value = TypeVar("_Value")


def encode(value: object) -> bytes:
    """Return the canonical form of a value, or of lists, tables and texts around values."""
    return msgspec.json.encode(plain(value), order="sorted")


def decode(data: bytes, kind: type[_Value]) -> _Value:
    """Return the value of ``kind`` that ``data`` is the canonical form of; raise ``InvalidDocument`` if of none."""
    try:
        return msgspec.json.decode(data, type=kind, dec_hook=from_text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidDocument(f"this is no {kind.__name__} in canonical form: {error}") from error


def digest(value: object) -> Digest:
    """Return the digest of a value's canonical form."""
    return Digest.of(encode(value))


def from_text(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature of a dec_hook
    """Return what a text in a document spells, where ``kind`` is one of the values that are texts."""
    if not issubclass(kind, Digest | ModelName | PackageName | HuggingFaceName | Operator) or not isinstance(
        value, str
    ):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    try:
        return kind.parse(value)
    except InvalidName as error:
        raise ValueError(error.message) from error


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    """Return a value as lists, tables, texts and numbers; fields that have their default are left out."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        told: dict[str, Any] = {config.tag_field: config.tag} if config.tag_field else {}
        for name, encoded, default in _fields(type(value)):
            held = getattr(value, name)
            if held != default:
                told[encoded] = plain(held)
        return told
    if isinstance(value, dict):
        return {str(key): plain(held) for key, held in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(held) for held in cast("list[Any]", value)]
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_COUNT:
        return int(value)
    return str(value) if isinstance(value, str) else value


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    """Return each field's name, how it is written, and its default; without one, what no value equals."""
    return [
        (
            field.name,
            field.encode_name,
            field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(kind)
    ]
