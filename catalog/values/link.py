"""Links: how one document names another."""

from __future__ import annotations

import msgspec

from .digest import Digest


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document that another one names: whatever comes for it must have this digest and size."""

    digest: Digest
    size_bytes: int

    def __post_init__(self) -> None:
        """Refuse a size that no document has; raise ``ValueError`` naming the field."""
        if self.size_bytes < 1:
            raise ValueError(f"size_bytes: {self.size_bytes} is the size of no document")
