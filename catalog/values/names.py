"""Names: what is asked for by name, in which version, and what is no name but a path."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Self

from ..errors import InvalidName
from .digest import Digest
from .version import CHANNELS, Channel, VersionSpec

_PART: Final = r"[a-z0-9](?:[a-z0-9._-]{0,94}[a-z0-9])?"
_QUALIFIED: Final = re.compile(rf"{_PART}/{_PART}")
_WORD: Final = r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"
_REPOSITORY: Final = re.compile(rf"(?!.*(?:--|\.\.|\.git\Z)){_WORD}/{_WORD}")
_PATH: Final = re.compile(r"[./\\~]|[A-Za-z]:|.*\.onnx\Z", re.IGNORECASE | re.DOTALL)
_HUGGING_FACE: Final = "hf:"
_GRAMMAR: Final = "write namespace/name, with letters, digits, `.`, `_` and `-`"


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
        return cls(_qualified(text, "a model's name"))


class PackageName(str):
    """An EP package's normalised name: in the built-in index ``inferry/`` and its name on PyPI. As ``ModelName``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the normalised name that ``text`` spells; raise ``InvalidName`` where it spells none."""
        return cls(_qualified(text, "an EP package's name"))


class HuggingFaceName(str):
    """A repository of Hugging Face, ``org/repo``, spelled as it was given: that is its address.

    Each part is 1 to 96 of ``A-Z a-z 0-9 . _ -``, starts and ends with a letter, digit or ``_``, and holds neither
    ``--`` nor ``..``; the last does not end in ``.git``.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the name that ``text`` spells; raise ``InvalidName`` where it spells none."""
        if not _REPOSITORY.fullmatch(text):
            raise InvalidName(
                f"`{text[:200]}` is not the name of a repository of Hugging Face",
                hints=("write org/repo, as in its address: letters, digits, `.`, `_` and `-`",),
            )
        return cls(text)

    @property
    def folded(self) -> str:
        """What all spellings of one repository have in common: no two differ in case alone."""
        return self.lower()


class Wanted(NamedTuple):
    """What is asked for by name: of ``versions``, ``digest`` and ``channel`` one at most."""

    name: ModelName | HuggingFaceName
    versions: VersionSpec | None = None
    digest: Digest | None = None
    """Of the one release document that is meant."""
    channel: Channel | None = None
    """The newest release of this channel."""
    spelled: str = ""
    """What followed the ``@``."""


def parse_request(text: str) -> Wanted:
    """Return what ``text``, ``namespace/name[@version]`` or ``hf:org/repo[@version]``, asks for.

    The version is one of ``1.2``, ``=1.2.0`` and ``>=1,<2``, as ``VersionSpec`` has them; the digest of a release
    document, ``sha256:`` and 64 digits; or a channel, ``preview``.

    Raises:
        InvalidName: the name or the version is malformed.
    """
    called, at, spelled = text.partition("@")
    name: ModelName | HuggingFaceName
    if called[: len(_HUGGING_FACE)].lower() == _HUGGING_FACE:
        name = HuggingFaceName.parse(called[len(_HUGGING_FACE) :])
    else:
        name = ModelName.parse(called)
    if not at:
        return Wanted(name)
    if spelled in CHANNELS:
        return Wanted(name, channel=spelled, spelled=spelled)
    if spelled.startswith("sha256:"):
        return Wanted(name, digest=Digest.parse(spelled), spelled=spelled)
    return Wanted(name, VersionSpec.parse(spelled), spelled=spelled)


def _qualified(text: str, what: str) -> str:
    name = text.lower()
    if not _QUALIFIED.fullmatch(name):
        raise InvalidName(f"`{text[:200]}` is not {what}", hints=(_GRAMMAR,))
    return name
