"""Matches: what a search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .listing import Listed

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
    def of(cls, release: Release | Listed, source: str, *, fits: bool | None = None) -> Match:
        """Return a release of ``source`` as a match."""
        if isinstance(release, Listed):
            precisions, size = release.precisions, release.size_bytes
        else:
            precisions, size = tuple(each.precision for each in release.variants), release.variants[0].size_bytes
        return cls(
            name=release.name,
            version=release.version,
            task=release.task,
            precisions=tuple(dict.fromkeys(precisions)),
            license=release.license,
            size_bytes=size,
            fits=fits,
            source=source,
            summary=release.summary,
        )
