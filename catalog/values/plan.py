"""Plans: what is to be fetched and run, one candidate of many; and what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .package import Channel, Delivery
    from .requirement import Workload

ALL_DELIVERIES: tuple[Delivery, ...] = ("built-in", "plugin", "engine", "system", "local")


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
