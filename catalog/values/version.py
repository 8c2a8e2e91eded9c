"""Versions: which of a model's releases are asked for."""

from __future__ import annotations

import re
from typing import Final, Literal, Self, get_args

from ..errors import InvalidName

Channel = Literal["stable", "preview", "test"]
"""Whom a release is for: ``preview`` and ``test`` are chosen only where they are asked for."""
CHANNELS: Final[tuple[Channel, ...]] = get_args(Channel)
CANONICAL: Final = re.compile(
    r"(?:[1-9]\d*!)?NUMBER(?:\.NUMBER)*(?:(?:a|b|rc)NUMBER)?(?:\.postNUMBER)?(?:\.devNUMBER)?".replace(
        "NUMBER", r"(?:0|[1-9]\d*)"
    )
)
"""A version in its one normal form, by appendix B of PEP 440."""
_EXACT: Final = re.compile(r"={2,3}[^,*]+")


class VersionSpec(str):
    """Which versions are asked for, as PEP 440 writes specifiers.

    It is written ``1.2`` for the newest 1.2.x, ``=1.2.0`` for exactly that one, or as specifiers: ``>=1,<2``.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the specifier that ``text`` spells; raise ``InvalidName`` where it spells none."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        spelled = text
        if re.fullmatch(r"\d+(?:\.\d+)*", text):
            spelled = f"=={text}.*"
        elif re.match(r"=[^=]", text):
            spelled = f"={text}"
        elif re.match(r"\d", text):
            spelled = f"=={text}"
        try:
            if not text.strip():
                raise InvalidSpecifier  # noqa: TRY301 - an empty set would take any version
            return cls(SpecifierSet(spelled))
        except InvalidSpecifier as error:
            raise InvalidName(
                f"`@{text[:100]}` does not say which version",
                hints=("write @1.2, @=1.2.0, @>=1,<2, @sha256:… or @preview",),
            ) from error

    @property
    def exact(self) -> bool:
        """Whether no version but one is asked for."""
        return _EXACT.fullmatch(self) is not None

    def takes(self, version: str) -> bool:
        """Return whether ``version`` is one of those asked for; a pre-release is so only where one is spelled."""
        from packaging.specifiers import SpecifierSet

        asked = SpecifierSet(self)
        return asked.contains(version, prereleases=bool(asked.prereleases))
