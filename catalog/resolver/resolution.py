"""The one answer: which candidate is chosen, and where all others stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .candidates import candidates
from .order import Order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..values.host import Host
    from ..values.package import EpPackage
    from ..values.plan import Request, Subject
    from .candidates import Candidate


class Resolution(NamedTuple):
    """Every candidate for a model on a host, the best first."""

    model: Subject
    host: Host
    request: Request
    order: Order
    ranked: list[Candidate]

    @property
    def best(self) -> Candidate | None:
        """The one that is chosen; ``None`` where nothing fits."""
        return self.ranked[0] if self.ranked and self.ranked[0].fits else None

    @property
    def runner_up(self) -> Candidate | None:
        """The one that would be chosen without the best."""
        return self.ranked[1] if len(self.ranked) > 1 and self.ranked[1].fits else None

    @property
    def rejected(self) -> list[Candidate]:
        """Those that do not fit."""
        return [candidate for candidate in self.ranked if not candidate.fits]


def resolve(model: Subject, packages: Iterable[EpPackage], host: Host, request: Request) -> Resolution:
    """Judge every candidate and put them into the documented order; raises what ``candidates`` raises."""
    order = Order(request.policy or "default", model)
    found = candidates(model, packages, host, request)
    return Resolution(model, host, request, order, sorted(found, key=order.key))
