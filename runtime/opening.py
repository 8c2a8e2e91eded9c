"""Opening what was planned: the first of the plan's candidates that ONNX Runtime takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.errors import SessionError
from ..catalog.resolver.explain import named
from .session import Fallback, Place, Session

if TYPE_CHECKING:
    from ..catalog.resolver.candidates import Candidate
    from ..index.client.source import Found
    from .plan import Plan


def open_planned(found: Found, plan: Plan, data: bytes | None = None) -> tuple[Session, tuple[Fallback, ...]]:
    """Open a model by its plan, and return what was tried before: each the plan's next candidate.

    Where an EP or a device is demanded, there is no next one.

    Args:
        found: where the bytes of the variants are.
        plan: what was planned for it.
        data: the bytes of a file that no manifest names.

    Raises:
        NothingFits: the plan has no candidate that this version can carry out.
        SessionError: ONNX Runtime refused, the last that was tried.
        Error: what ``Found.read`` and ``Session`` raise else; another candidate would not mend it.
    """
    first = plan.demand()
    request = plan.here.request
    demanded = request.ep is not None or request.device is not None
    left = [first] if demanded else [candidate for candidate in plan.here.ranked if candidate.fits]
    tried: list[Fallback] = []
    while True:
        candidate = left.pop(0)
        try:
            return _open(found, candidate, data), tuple(tried)
        except SessionError as error:
            if not left:
                raise
            tried.append(Fallback(named(candidate), error.message))


def _open(found: Found, candidate: Candidate, data: bytes | None) -> Session:
    variant, offer = candidate.fitted.variant, candidate.offer
    kind = offer.device.kind
    place = Place(offer.package.ep, kind, offer.package.options.get(kind))
    if found.release is None:
        return Session(data or found.read_file(), name=str(found.file), folder=str(found.folder), place=place)
    name = f"{found.release.name} {found.release.version} {variant.name}"
    return Session(found.read(variant.artifact), name=name, place=place)
