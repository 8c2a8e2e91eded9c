"""Manifests: TOML text becomes a release or an EP package; what is wrong is told with the path of its field."""

from __future__ import annotations

from typing import TypeVar

import msgspec

from .errors import InvalidManifest
from .fields import Wrong, all_wrong, words, wrong
from .toml import parse_toml
from .values.canonical import from_text
from .values.model import Release
from .values.package import EpPackage

_Document = TypeVar("_Document", Release, EpPackage)


def read_manifest(text: str, *, where: str) -> Release:
    """Return the release that the TOML in ``text`` describes; ``where`` is what errors call the manifest.

    Raises:
        InvalidManifest: the text is no TOML, or fields are missing, unknown or wrong; ``fields`` names all of them.
    """
    return _read(text, Release, where)


def read_package(text: str, *, where: str) -> EpPackage:
    """Return the EP package that the TOML in ``text`` describes; raise what ``read_manifest`` raises."""
    return _read(text, EpPackage, where)


def _read(text: str, kind: type[_Document], where: str) -> _Document:
    data = parse_toml(text, where=where, failure=InvalidManifest)
    try:
        return msgspec.convert(data, kind, dec_hook=from_text)
    except msgspec.ValidationError as error:
        raise _invalid(list(all_wrong(data, kind, from_text)) or [wrong(error)], text, where) from error


def _invalid(found: list[Wrong], text: str, where: str) -> InvalidManifest:
    """Return one error that tells all fields that are wrong, each with its line where the text has one."""
    return InvalidManifest(words(found, text, where), field=found[0].field, fields=[each.field for each in found])
