"""What ``inferry`` itself offers: each verb of a client, on a new client with what the machine says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from .client import Client

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from threading import Event

    from ..catalog.values.host import Host
    from ..catalog.values.match import Match
    from ..catalog.values.progress import Listener
    from .finding import Filters
    from .loading import Loads, Prepared
    from .model import Model
    from .outputs import Outputs
    from .plan import Pins, Plan
    from .profile import HostProfile
    from .providers import Provider


def search(query: str = "", **filters: Unpack[Filters]) -> list[Match]:
    """``Client().search``."""
    return Client().search(query, **filters)


def providers(*, host: Host | HostProfile | None = None) -> list[Provider]:
    """``Client().providers``."""
    return Client().providers(host=host)


def devices() -> Host:
    """``Client().devices``."""
    return Client().devices()


def plan(name: str | os.PathLike[str], *, host: Host | HostProfile | None = None, **pins: Unpack[Pins]) -> Plan:
    """``Client().plan``."""
    return Client().plan(name, host=host, **pins)


def prepare(
    names: Iterable[str | os.PathLike[str]],
    *,
    progress: Listener | None = None,
    cancel: Event | None = None,
    **pins: Unpack[Pins],
) -> list[Prepared]:
    """``Client().prepare``."""
    return Client().prepare(names, progress=progress, cancel=cancel, **pins)


async def prepare_async(
    names: Iterable[str | os.PathLike[str]],
    *,
    progress: Listener | None = None,
    cancel: Event | None = None,
    **pins: Unpack[Pins],
) -> list[Prepared]:
    """``Client().prepare_async``."""
    return await Client().prepare_async(names, progress=progress, cancel=cancel, **pins)


async def load_async(name: str | os.PathLike[str], **options: Unpack[Loads]) -> Model:
    """``Client().load_async``."""
    return await Client().load_async(name, **options)


def load(name: str | os.PathLike[str], **options: Unpack[Loads]) -> Model:
    """``Client().load``."""
    return Client().load(name, **options)


def run(name: str | os.PathLike[str], inputs: Mapping[str, Any], **options: Unpack[Loads]) -> Outputs:
    """``Client().run``."""
    return Client().run(name, inputs, **options)
