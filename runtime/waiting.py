"""Waiting: calls that block, in a thread of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

_T = TypeVar("_T")


async def cancelled(cancel: Event | None, call: Callable[[Event], _T]) -> _T:
    """Return what ``call`` returns in a thread; set its event where whoever waits for it is cancelled."""
    import asyncio
    from threading import Event

    cancel = cancel or Event()
    try:
        return await asyncio.to_thread(call, cancel)
    except asyncio.CancelledError:
        cancel.set()
        raise
