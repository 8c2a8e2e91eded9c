"""Finding: models by words, by what they are, and by what runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ..catalog.settings import forbids_network
from ..catalog.values.match import Match
from ..catalog.values.names import parse_request
from ..catalog.values.plan import Subject
from ..index.client.source import Asked
from .plan import Pins, make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..catalog.settings import Effective
    from ..catalog.values.host import Host
    from ..catalog.values.model import Release
    from ..index.client.library import Hit, Library


class Filters(TypedDict, total=False):
    """What a search is narrowed to; ``None`` narrows nothing."""

    task: str | None
    """Only models for this task."""
    precision: str | None
    """Only models with a variant in this precision."""
    license: str | None
    """Only models under this SPDX licence expression."""
    max_bytes: int | None
    """Only models whose first variant is no larger."""
    source: str | None
    """Only models of the source of this name."""
    fits: bool
    """Only models that run here, with what is installed: of the precision, where one is named."""
    ep: str | None
    """Only models that run here on this execution provider, by name, alias or package."""
    device: str | None
    """Only models that run here on this device."""


def find(library: Library, query: str, host: Callable[[], Host], settings: Effective, wanted: Filters) -> list[Match]:
    """Return the models that answer a query, best first; ``host`` is asked only where it matters what runs here.

    Raises:
        NotFoundError: there is no such source.
        UsageError: the device is malformed.
        NothingFits: this machine has no such device.
        InvalidManifest: a source's manifest is wrong.
        MachineError: a file cannot be read.
    """
    task, precision, licence = wanted.get("task"), wanted.get("precision"), wanted.get("license")
    limit, forbidden = wanted.get("max_bytes"), forbids_network(settings)
    found = [
        (each, match)
        for each in library.search(query, source=wanted.get("source"), offline=forbidden)
        for match in (Match.of(each.release, each.source),)
        if task in {None, match.task} and licence in {None, match.license}
        if (precision is None or precision in match.precisions) and (limit is None or match.size_bytes <= limit)
    ]
    ep, device = wanted.get("ep"), wanted.get("device")
    if not (wanted.get("fits") or ep or device):
        return [match for _, match in found]
    machine, pins = host(), Pins(ep=ep, device=device, precision=precision)
    return [
        match._replace(fits=True)
        for each, match in found
        if (release := _looked_up(library, each, settings, forbidden))
        and make_plan(Subject.of(release), machine, pins, elsewhere=False, settings=settings).here.best
    ]


def _looked_up(library: Library, hit: Hit, settings: Effective, forbidden: str) -> Release | None:
    """Return the release that answers a query, asked for at its index if it is only listed."""
    if hit.found:
        return hit.found.release
    asked = Asked(parse_request(hit.release.name), settings.channels, offline=forbidden)
    return library.find(asked, source=hit.source).release
