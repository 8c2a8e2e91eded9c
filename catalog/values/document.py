"""Documents: what an index hands out of its packages, each naming the next by digest and size.

A package document tells of every release what search and a choice among versions need, and names its release document;
that names the artifacts, and of each large one a piece list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from .link import Link
from .model import Precision
from .names import ModelName, PackageName
from .package import Delivery, Fact, Reach, Support
from .version import CANONICAL, Channel

if TYPE_CHECKING:
    from .digest import Digest

Status = Literal["current", "deprecated", "yanked", "revoked"]
"""``deprecated``: chosen, with a word of warning. ``yanked``: not chosen anew, unless it is asked for exactly.
``revoked``: refused everywhere, also offline once that is known."""

PIECE_BYTES: Final = 16 * 1024 * 1024
"""How large each piece of an artifact is, but for the last."""
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a package document tells of one release, of a model or of an EP package."""

    version: str
    """In the normal form of PEP 440."""
    document: Link
    """Its release document."""
    channel: Channel = "stable"
    status: Status = "current"
    reason: str = ""
    """Why it is not current: one line, for people."""

    def __post_init__(self) -> None:
        """Refuse what is no version, and a release that is not current for no reason; raise ``ValueError``."""
        if not CANONICAL.fullmatch(self.version):
            raise ValueError(f"version: `{self.version[:100]}` is no version in the normal form of PEP 440, as 1.2.0")
        if self.status != "current" and not self.reason:
            raise ValueError(f"reason: nobody says why {self.version} is {self.status}")

    @property
    def digest(self) -> Digest:
        """The digest of its release document: what ``name@sha256:…`` asks for."""
        return self.document.digest


class ModelEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model's document tells of one release, beside what each ``Entry`` has."""

    license: str
    """An SPDX licence expression."""
    precisions: tuple[Precision, ...]
    """Of its variants, in their order."""
    size_bytes: int
    """Of its first variant, with all files."""


class ModelDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The package document of a model."""

    name: ModelName
    task: str
    """Of the newest release, such as ``image-classification``."""
    summary: str
    """Of the newest release, one line."""
    releases: tuple[ModelEntry, ...]
    """Newest first."""

    def __post_init__(self) -> None:
        """Refuse one without releases, and one version told twice; raise ``ValueError`` naming the field."""
        _check([each.version for each in self.releases])


class EpEntry(Entry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an EP package's document tells of one release: what each ``Entry`` has. It names an ``EpRelease``."""


class EpDocument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The package document of an EP package; its fields are those of ``EpPackage``."""

    name: PackageName
    ep: str
    summary: str
    vendor: str
    reach: Reach
    delivery: Delivery
    license: str
    releases: tuple[EpEntry, ...]
    """Newest first."""
    facts: tuple[Fact, ...] = ()
    aliases: tuple[str, ...] = ()
    support: Support = "supported"
    options: dict[str, dict[str, str]] = {}
    distribution: str | None = None
    environment: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse one without releases, and one version told twice; raise ``ValueError`` naming the field."""
        _check([each.version for each in self.releases])


class PieceList(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pieces of one artifact, so that each is verified as it comes, in any order."""

    artifact: Link
    """The artifact itself."""
    sha256: tuple[str, ...]
    """Of each piece of ``PIECE_BYTES`` in turn, 64 hexadecimal digits."""

    def __post_init__(self) -> None:
        """Refuse digests that are none, and more or fewer than the artifact has pieces; raise ``ValueError``."""
        pieces = -(-self.artifact.size_bytes // PIECE_BYTES)
        if len(self.sha256) != pieces:
            raise ValueError(f"sha256: {len(self.sha256)} digests for an artifact of {pieces} pieces")
        for place, each in enumerate(self.sha256):
            if not _HEX.fullmatch(each):
                raise ValueError(f"sha256: the one at place {place} is not 64 lower-case hexadecimal digits")


def _check(versions: list[str]) -> None:
    if not versions:
        raise ValueError("releases: a package has at least one")
    if twice := {each for each in versions if versions.count(each) > 1}:
        raise ValueError(f"releases: {', '.join(sorted(twice))} is told twice")
