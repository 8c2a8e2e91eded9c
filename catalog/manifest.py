"""Manifests: TOML text becomes a release; what is wrong is told with the path of its field."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec

from .errors import InvalidManifest, InvalidName
from .fields import wrong
from .values.digest import Digest
from .values.model import Release
from .values.names import ModelName


def read_manifest(text: str, *, where: str) -> Release:
    """Return the release that the TOML in ``text`` describes; ``where`` is what errors call the manifest.

    Raises:
        InvalidManifest: the text is no TOML, or a field is missing, unknown or wrong; ``field`` names it.
    """
    try:
        return msgspec.convert(tomllib.loads(text), Release, dec_hook=_decode)
    except tomllib.TOMLDecodeError as error:
        raise InvalidManifest(f"{where}: {error}") from error
    except msgspec.ValidationError as error:
        field, message = wrong(error)
        raise InvalidManifest(f"{where}: {field}: {message}", field=field) from error


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature
    if kind not in {Digest, ModelName} or not isinstance(value, str):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    try:
        return Digest.parse(value) if kind is Digest else ModelName.parse(value)
    except InvalidName as error:
        raise ValueError(error.message) from error
