"""Names: what a model is called, which version of it, and what is no name but a path."""

from __future__ import annotations

import re
from typing import Final, Self

from ..errors import InvalidName
from .version import VersionSpec

_PART: Final = r"[a-z0-9](?:[a-z0-9._-]{0,94}[a-z0-9])?"
_QUALIFIED: Final = re.compile(rf"{_PART}/{_PART}")
_PATH: Final = re.compile(r"[./\\~]|[A-Za-z]:|.*\.onnx\Z", re.IGNORECASE | re.DOTALL)


def is_path(text: str) -> bool:
    """Return whether ``text`` is a path, not a name: by its form alone, so that no folder lying about shadows a name.

    A path starts with ``.``, a slash, a backslash, ``~`` or a drive letter, or ends in ``.onnx``.
    """
    return _PATH.match(text) is not None


class ModelName(str):
    """A model's normalised name, ``namespace/name``.

    Each part is 1 to 96 of ``a-z 0-9 . _ -`` and starts and ends with a letter or digit. Upper case is folded.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the normalised name that ``text`` spells; raise ``InvalidName`` where it spells none."""
        name = text.lower()
        if not _QUALIFIED.fullmatch(name):
            raise InvalidName(
                f"`{text[:200]}` is not a model's name",
                hints=("write namespace/name, with letters, digits, `.`, `_` and `-`",),
            )
        return cls(name)


def parse_request(text: str) -> tuple[ModelName, VersionSpec | None]:
    """Return the model and the versions that ``text``, ``namespace/name[@version]``, asks for.

    Raises:
        InvalidName: the name or the version is malformed.
    """
    name, at, version = text.partition("@")
    return ModelName.parse(name), VersionSpec.parse(version) if at else None
