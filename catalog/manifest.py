"""Manifests: TOML text becomes a release; what is wrong is told with the path of its field."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import msgspec

from .errors import InvalidManifest, InvalidName
from .values.digest import Digest
from .values.graph import Operator
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
        message, _, path = str(error).partition(" - at `$")
        field = path.rstrip("`").lstrip(".")
        # A value's own check names its field first, as in "margin: twice …".
        if named := re.match(r"([a-z_]+): ", message):
            field, message = f"{field}.{named[1]}".lstrip("."), message[named.end() :]
        elif named := re.search(r"(?:required|unknown) field `(\w+)`", message):
            field = f"{field}.{named[1]}".lstrip(".")
        raise InvalidManifest(f"{where}: {field}: {message}", field=field) from error


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - msgspec's signature
    if not issubclass(kind, Digest | ModelName | Operator) or not isinstance(value, str):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    try:
        return kind.parse(value)
    except InvalidName as error:
        raise ValueError(error.message) from error
