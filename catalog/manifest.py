"""Manifests: TOML text becomes a release or an EP package; what is wrong is told with the path of its field."""

from __future__ import annotations

import tomllib
from typing import Any, TypeVar

import msgspec

from .errors import InvalidManifest, InvalidName
from .fields import wrong
from .values.digest import Digest
from .values.graph import Operator
from .values.model import Release
from .values.names import ModelName
from .values.package import EpPackage, PackageName

_Document = TypeVar("_Document", Release, EpPackage)


def read_manifest(text: str, *, where: str) -> Release:
    """Return the release that the TOML in ``text`` describes; ``where`` is what errors call the manifest.

    Raises:
        InvalidManifest: the text is no TOML, or a field is missing, unknown or wrong; ``field`` names it.
    """
    return _read(text, Release, where)


def read_package(text: str, *, where: str) -> EpPackage:
    """Return the EP package that the TOML in ``text`` describes; raise what ``read_manifest`` raises."""
    return _read(text, EpPackage, where)


def _read(text: str, kind: type[_Document], where: str) -> _Document:
    try:
        return msgspec.convert(tomllib.loads(text), kind, dec_hook=_decode)
    except tomllib.TOMLDecodeError as error:
        raise InvalidManifest(f"{where}: {error}") from error
    except msgspec.ValidationError as error:
        field, message = wrong(error)
        raise InvalidManifest(f"{where}: {field}: {message}", field=field) from error


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature
    if not issubclass(kind, Digest | ModelName | PackageName | Operator) or not isinstance(value, str):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    try:
        return kind.parse(value)
    except InvalidName as error:
        raise ValueError(error.message) from error
