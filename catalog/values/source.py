"""Sources: indexes that a user, or a machine's administrator, has names looked up in."""

from __future__ import annotations

import re
from typing import Final, Literal, Self

import msgspec

from ..errors import UsageError

Freshness = Literal["strict", "warn"]
"""What becomes of an index that has expired when it is asked: it is refused, or used with a warning."""

BUILT_IN: Final = "built-in"
"""The name of the source that is part of the program."""
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,94}[a-z0-9])?")
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{64}")
_SCHEMES: Final = frozenset({"http", "https", "file"})


class SourceUrl(str):
    """The address of an index: http, https or file, with a slash at its end, without a password, query or fragment."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that ``text`` spells; raise ``UsageError`` where it is none."""
        from urllib.parse import urlsplit, urlunsplit

        try:
            told = urlsplit(text)
            user = told.username or told.password
            _ = told.port
        except ValueError as error:
            raise UsageError(f"`{text[:200]}` is not the address of an index: {error}") from error
        scheme = told.scheme.lower()
        if scheme not in _SCHEMES or (scheme != "file" and not told.hostname) or told.query or told.fragment:
            raise UsageError(
                f"`{text[:200]}` is not the address of an index",
                hints=("write https://host/folder/, or the path of a folder",),
            )
        if user:
            raise UsageError(f"the address at {told.hostname} holds a user or a password, which everybody would read")
        if any(letter <= " " or letter == "\\" for letter in text):
            raise UsageError(f"{text[:200]!r} is not the address of an index: it holds a letter that no address has")
        return cls(urlunsplit((scheme, told.netloc.lower(), f"{told.path.rstrip('/')}/", "", "")))

    @property
    def is_remote(self) -> bool:
        """Whether the network is used to reach it."""
        return not self.startswith("file:")


class SourceSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A source as ``sources.toml`` has it."""

    name: str
    """1 to 96 of ``a-z 0-9 . _ -``."""
    url: SourceUrl
    fingerprint: str
    """The sha256 of the root that is trusted, 64 hexadecimal digits: what comes after it is signed by it."""
    priority: int = 100
    """Those with a smaller one are asked first."""
    namespaces: tuple[str, ...] = ()
    """Those that it is asked for, it alone and nothing else; empty for all that no other source has."""
    freshness: Freshness = "strict"

    def __post_init__(self) -> None:
        """Refuse what is no name, fingerprint or namespace; raise ``ValueError`` naming the field."""
        if not _NAME.fullmatch(self.name) or self.name == BUILT_IN:
            raise ValueError(f"name: `{self.name[:100]}` is no name for a source: write letters, digits, `.`, `_`, `-`")
        if not _FINGERPRINT.fullmatch(self.fingerprint):
            raise ValueError("fingerprint: it is not 64 lower-case hexadecimal digits")
        for place, each in enumerate(self.namespaces):
            if not _NAME.fullmatch(each):
                raise ValueError(f"namespaces[{place}]: `{each[:100]}` is no namespace")

    def __str__(self) -> str:
        return f"{self.name} ({self.url})"


class Sources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file ``sources.toml``."""

    sources: tuple[SourceSpec, ...] = ()

    def __post_init__(self) -> None:
        """Refuse two of one name; raise ``ValueError`` naming the field."""
        seen: set[str] = set()
        for place, each in enumerate(self.sources):
            if each.name in seen:
                raise ValueError(f"sources[{place}].name: `{each.name}` is the name of another, too")
            seen.add(each.name)
