"""Loading: from a model that was found to one that is open, and what must be fetched for it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypedDict

from msgspec.structs import replace

from ..catalog.errors import NothingFits, NotInstalled
from ..catalog.values.plan import Subject
from ..catalog.values.progress import ALONE
from .plan import make_plan, of_file

if TYPE_CHECKING:
    from threading import Event

    from ..catalog.values.host import Host
    from ..catalog.values.model import Variant
    from ..catalog.values.progress import Listener, Watch
    from ..index.client.library import Library
    from ..index.client.source import Found
    from .plan import Pins, Plan

Install = Literal["auto", "never"]
INSTALLS: Final = ("auto", "never")


class Prepared(NamedTuple):
    """A model that was made ready to be loaded."""

    model: str
    """Its name and exact version."""
    variant: str
    source: str
    fetched_bytes: int
    plan: Plan


class Fetched:
    """What a load fetched, as it goes from one candidate to the next."""

    def __init__(self, library: Library, found: Found, install: Install, watch: Watch) -> None:
        """Bring variants of ``found`` from ``library``, unless ``install`` is ``never``."""
        self._library = library
        self._found = found
        self._install = install
        self._watch = watch
        self.bytes = 0
        self.seconds = 0.0

    def __call__(self, variant: Variant) -> Found:
        """Return the release with every file of ``variant`` at hand; raise ``NotInstalled`` where that was ruled out.

        Raises what ``Library.bring`` raises.
        """
        found = self._found
        if found.release is None or (found.store is None and self._library.is_at_hand(found)):
            return found
        if self._install == "never":
            if variant not in here(self._library, found):
                raise not_installed(found, f"variant {variant.name} of {found}")
            return found
        begun = perf_counter()
        brought, count = self._library.bring(found, variant, self._watch)
        self.bytes += count
        self.seconds += perf_counter() - begun
        return brought


def subject(found: Found) -> tuple[Subject, bytes | None]:
    """Return what is to be planned, and the bytes of a file that no manifest names."""
    if found.release:
        return Subject.of(found.release), None
    data = found.read_file()
    return of_file(str(found.file), data), data


def here(library: Library, found: Found) -> tuple[Variant, ...]:
    """Return the variants of a release that need not be fetched."""
    if found.release is None or (found.store is None and not library.is_at_hand(found)):
        return ()
    return found.release.variants if found.store is None else library.pulled.variants(found)


def plan_here(library: Library, found: Found, model: Subject, host: Host, pins: Pins, install: Install) -> Plan:
    """Plan with what is here; with what would have to be fetched only where that leaves nothing.

    Raises:
        NotInstalled: nothing is here that fits, and ``install`` is ``never``.
        NothingFits: nothing fits at all.
    """
    if found.release is None:
        return make_plan(model, host, pins, elsewhere=False)
    near = here(library, found)
    if near and len(near) < len(model.variants):
        plan = make_plan(model._replace(variants=near), host, pins, elsewhere=False)
        if plan.here.best or install == "never":
            return plan
    if not near and install == "never":
        raise not_installed(found, str(found))
    return make_plan(model, host, pins, elsewhere=False)


def prepare(library: Library, found: Found, host: Host, pins: Pins, watch: Watch = ALONE) -> Prepared:
    """Plan a release anew, and fetch what the plan needs.

    Where nothing that is installed can run it, what runs it best on this machine is fetched.

    Raises:
        NothingFits: nothing fits this machine, whatever would be installed.
        Error: what ``Library.bring`` raises.
    """
    model, _ = subject(found)
    plan = make_plan(model, host, pins, elsewhere=True)
    best = plan.here.best or plan.resolution.best
    if best is None:
        plan.demand()
        raise NothingFits(f"nothing of {model} fits this machine")
    variant = best.fitted.variant
    brought, count = library.bring(found, variant, watch)
    return Prepared(str(found), variant.name, brought.source, count, plan)


def not_installed(found: Found, what: str) -> NotInstalled:
    """Return what to raise where something would have to be fetched and may not be."""
    return NotInstalled(
        f"{what} is not on this machine", hints=(f"inferry pull {found}", f'inferry.prepare(["{found}"])')
    )
