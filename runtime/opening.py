"""Opening what was planned: the first of the plan's candidates that ONNX Runtime takes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from ..catalog.errors import SessionError
from ..catalog.resolver.explain import named
from .session import Fallback, Place, Session, open_release

if TYPE_CHECKING:
    from ..catalog.resolver.candidates import Candidate
    from ..index.client.found import Found
    from .loading import Loading
    from .plan import Plan


class Opened(NamedTuple):
    """A model that was opened, and what of its plan was tried before: each the plan's next candidate."""

    session: Session
    found: Found
    """Where its files are."""
    candidate: Candidate
    fallback: tuple[Fallback, ...]
    held: ExitStack
    """Keeps the files from being collected."""


def open_planned(loading: Loading, plan: Plan) -> Opened:
    """Open a model by its plan. Where an EP or a device is demanded, there is no next candidate.

    Raises:
        NothingFits: the plan has no candidate that this version can carry out.
        SessionError: ONNX Runtime refused, the last that was tried.
        Error: what ``Loading.bring``, ``Found.read`` and ``Session`` raise else; no candidate would mend it.
    """
    first = plan.demand()
    request = plan.here.request
    demanded = request.ep is not None or request.device is not None
    left = [first] if demanded else [candidate for candidate in plan.here.ranked if candidate.fits]
    tried: list[Fallback] = []
    while True:
        candidate = left.pop(0)
        found = loading.bring(candidate.fitted.variant)
        try:
            session, held = _open(found, candidate, loading.data)
            return Opened(session, found, candidate, tuple(tried), held)
        except SessionError as error:
            if not left:
                raise
            tried.append(Fallback(named(candidate), error.message))


def _open(found: Found, candidate: Candidate, data: bytes | None) -> tuple[Session, ExitStack]:
    offer = candidate.offer
    kind = offer.device.kind
    place = Place(offer.package.ep, kind, offer.package.options.get(kind))
    if found.release is None:
        session = Session(data or b"", name=str(found.file), folder=str(found.folder), place=place)
        return session, ExitStack()
    return open_release(found, candidate.fitted.variant, place)
