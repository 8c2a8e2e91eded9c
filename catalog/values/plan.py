"""Requests: what is asked for when a model is to be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .model import Release, Variant
    from .package import Channel, Delivery
    from .requirement import Workload

ALL_DELIVERIES: Final[tuple[Delivery, ...]] = ("built-in", "plugin", "engine", "system", "local")


class Subject(NamedTuple):
    """The model that is asked for: a release, or a file that no manifest names."""

    name: str
    version: str | None
    """``None`` for a file."""
    variants: tuple[Variant, ...]
    accuracy_limit: float | None = None

    @classmethod
    def of(cls, release: Release) -> Subject:
        """Return what the choice needs of a release."""
        return cls(release.name, release.version, release.variants, release.accuracy_limit)

    def __str__(self) -> str:
        return " ".join(filter(None, (self.name, self.version)))


class Request(NamedTuple):
    """What is asked for. ``None`` asks for nothing."""

    policy: str | None = None
    """A device policy: a preference."""
    ep: str | None = None
    """An EP by its name or an alias, or an EP package with or without ``@version``: a demand, as are those below."""
    device: str | None = None
    """A selector: a kind, a vendor, ids, an index."""
    precision: str | None = None
    channels: tuple[Channel, ...] = ("stable",)
    deliveries: tuple[Delivery, ...] = ALL_DELIVERIES
    """What whoever asks can carry out."""
    workload: Workload | None = None
