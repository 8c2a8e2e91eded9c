"""The listing: all models of an index at a glance, for who searches without asking for each."""

from __future__ import annotations

import msgspec

from .model import Precision
from .names import ModelName
from .version import CANONICAL, Channel


class Listed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a listing tells of one model, by the release that search shows of it."""

    name: ModelName
    version: str
    """The newest that is current, in channel ``stable``; without one, the newest that is neither yanked nor revoked."""
    task: str
    """Such as ``image-classification``."""
    summary: str
    """One line."""
    license: str
    """An SPDX licence expression."""
    precisions: tuple[Precision, ...]
    """Of its variants, in their order."""
    size_bytes: int
    """Of its first variant, with all files."""
    channel: Channel = "stable"

    def __post_init__(self) -> None:
        """Refuse what is no version; raise ``ValueError`` naming the field."""
        if not CANONICAL.fullmatch(self.version):
            raise ValueError(f"version: `{self.version[:100]}` is no version in the normal form of PEP 440, as 1.2.0")


class Listing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """All models of an index but those of which every release is yanked or revoked."""

    models: tuple[Listed, ...]
    """By name."""

    def __post_init__(self) -> None:
        """Refuse one in another order, and a model told twice; raise ``ValueError`` naming the field."""
        for before, after in zip(self.models, self.models[1:], strict=False):
            if before.name >= after.name:
                raise ValueError(f"models: {after.name} stands after {before.name}")
