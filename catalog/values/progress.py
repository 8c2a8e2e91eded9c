"""Progress: what is told while something takes its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

Stage = Literal["fetch", "verify"]


class Progress(NamedTuple):
    """How far something has come; the last event of an item has as many bytes done as there are."""

    stage: Stage
    item: str
    """The model with its version, or what is verified."""
    done_bytes: int
    total_bytes: int


Listener: TypeAlias = "Callable[[Progress], object]"
"""Called from any thread, never by two at once."""


class Watch(NamedTuple):
    """How a caller follows what takes its time, and ends it."""

    progress: Listener | None = None
    cancel: Event | None = None
    """Once it is set, whatever goes on ends with ``Cancelled``."""
    limit_rate: int | None = None
    """How many bytes may come in a second, over all that is fetched at the same time."""


ALONE: Final = Watch()
"""Nobody follows."""
