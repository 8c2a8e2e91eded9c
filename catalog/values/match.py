"""Matches: what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .model import Release


class Match(NamedTuple):
    """One model that answers a query, by its newest release."""

    name: str
    version: str
    task: str
    precisions: tuple[str, ...]
    license: str
    """An SPDX licence expression."""
    size_bytes: int
    """Of its first variant."""
    fits: bool | None
    """Whether it fits this machine; ``None`` where nobody looked."""
    source: str
    summary: str

    @classmethod
    def of(cls, release: Release, source: str, *, fits: bool | None = None) -> Match:
        """Return a release of ``source`` as a match."""
        return cls(
            name=release.name,
            version=release.version,
            task=release.task,
            precisions=tuple(dict.fromkeys(variant.precision for variant in release.variants)),
            license=release.license,
            size_bytes=release.variants[0].size_bytes,
            fits=fits,
            source=source,
            summary=release.summary,
        )
