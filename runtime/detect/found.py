"""What a look at a bus brings: devices with their origins, and what was passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...catalog.values.host import Device, DeviceKind, Excluded


class Seen(NamedTuple):
    """One device, and where each of its facts was read; the empty name stands for all of them."""

    device: Device
    origins: Mapping[str, str]


class Found(NamedTuple):
    """All that was found where somebody looked."""

    seen: tuple[Seen, ...] = ()
    searched: tuple[DeviceKind, ...] = ()
    """The kinds that were looked for."""
    excluded: tuple[Excluded, ...] = ()
