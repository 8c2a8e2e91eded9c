"""Loading: from a model that was found to one that is open, and what must be fetched for it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from ..catalog.errors import NotInstalled, Refused, UsageError
from ..catalog.settings import Install, forbids_network, refuse_larger
from ..catalog.values.plan import Subject
from ..catalog.values.progress import ALONE
from .plan import Pins, make_plan, of_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from threading import Event

    from ..catalog.settings import Effective
    from ..catalog.values.host import Host
    from ..catalog.values.model import Variant
    from ..catalog.values.progress import Listener, Watch
    from ..index.client.found import Found
    from ..index.client.library import Library
    from .plan import Plan

_INSTALLS: Final = ("auto", "never")


class Loads(Pins, total=False):
    """What a caller may ask for when a model is loaded: the pins, and how it comes here."""

    install: Install
    """``auto`` fetches what is missing; ``never`` takes what is here."""
    progress: Listener | None
    """Is told of each chunk that comes."""
    cancel: Event | None
    """Once it is set, the load ends with ``Cancelled``; what was whole by then stays."""


class Prepared(NamedTuple):
    """A model that was made ready to be loaded."""

    model: str
    """Its name and exact version."""
    variant: str
    source: str
    fetched_bytes: int
    plan: Plan


class Loading:
    """One load of a model that was found: what of it is here, the plan, and what is fetched for it."""

    def __init__(
        self,
        library: Library,
        found: Found,
        settings: Effective,
        install: Install | None = None,
        watch: Watch = ALONE,
    ) -> None:
        """Load ``found``, a model of ``library``, as ``settings`` have it where ``install`` says nothing.

        Raises:
            UsageError: ``install`` is no word for it.
            Refused: the machine policy says another.
        """
        if install not in {None, *_INSTALLS}:
            raise UsageError(f"install is {' or '.join(_INSTALLS)}, not {install!r}")
        held = settings["install"]
        if install == "auto" and held.origin == "machine policy" and held.value != install:
            raise Refused(f"{held.where}: install: `auto` is not `{held.value}`")
        install = install or settings.settings.install
        self._settings = settings
        self._library = library
        self._found = found
        self._never = install == "never"
        self._watch = watch
        self.fetched_bytes: int = 0
        self.fetch_s: float = 0.0
        self.data: bytes | None = None if found.release else found.read_file()
        """The bytes of a file that no manifest names."""

    @property
    def subject(self) -> Subject:
        """What is to be planned."""
        release = self._found.release
        return Subject.of(release) if release else of_file(str(self._found.file), self.data or b"")

    def plan(self, host: Host, pins: Pins) -> Plan:
        """Plan with the variants that are here; with all of them only where those leave nothing.

        Raises:
            NotInstalled: nothing is here, and nothing may be fetched.
            UsageError: a pin is malformed.
            NothingFits: no device of the host is the one that is demanded.
        """
        model = self.subject
        if self._found.release:
            near = self._here()
            if not near and self._never:
                raise _not_installed(self._found, str(self._found))
            if near and len(near) < len(model.variants):
                plan = make_plan(model._replace(variants=near), host, pins, elsewhere=False, settings=self._settings)
                if plan.here.best or self._never:
                    return plan
        return make_plan(model, host, pins, elsewhere=False, settings=self._settings)

    def bring(self, variant: Variant) -> Found:
        """Return the model with every file of ``variant`` at hand.

        Raises:
            NotInstalled: it is not, and may not be fetched.
            Error: what ``Library.bring`` raises.
        """
        found = self._found
        if found.release is None or (found.store is None and self._library.is_at_hand(found)):
            return found
        if self._never:
            if variant not in self._here():
                raise _not_installed(found, f"{variant.name} of {found}")
            return found
        if variant not in self._here():
            refuse_larger(self._settings, f"{variant.name} of {found}", variant.size_bytes)
        begun = perf_counter()
        brought, count = self._library.bring(found, variant, self._watch, offline=forbids_network(self._settings))
        self.fetched_bytes += count
        self.fetch_s += perf_counter() - begun
        return brought

    def _here(self) -> tuple[Variant, ...]:
        """Return the variants that need not be fetched."""
        found = self._found
        if found.store is not None:
            return self._library.pulled.variants(found)
        return found.release.variants if found.release and self._library.is_at_hand(found) else ()


def prepare(  # noqa: PLR0913, PLR0917 - all that a client has
    library: Library,
    wanted: Iterable[Found],
    host: Host,
    pins: Pins,
    settings: Effective,
    watch: Watch = ALONE,
    *,
    offline: str = "",
) -> list[Prepared]:
    """Plan releases anew, and then fetch what the plans need.

    Where nothing that is installed can run one, what runs it best on this machine is fetched; ``offline`` is what says
    that the network may not be used, empty where it may.

    Raises:
        UsageError: one is a file that no manifest names, or a pin is malformed.
        NothingFits: nothing fits this machine, whatever would be installed.
        Refused: one is larger than the settings allow.
        Error: what ``Library.bring`` raises.
    """
    plans: list[tuple[Found, Plan, Variant]] = []
    for found in wanted:
        if found.release is None:
            raise UsageError(
                f"{found} is a file: it runs where it lies, and needs no pulling",
                hints=("to have it under a name, put a manifest.toml beside it, and give the folder",),
            )
        plan = make_plan(Subject.of(found.release), host, pins, elsewhere=True, settings=settings)
        best = plan.here.best or plan.resolution.best or plan.demand()
        variant = best.fitted.variant
        refuse_larger(settings, f"{variant.name} of {found}", variant.size_bytes)
        plans.append((found, plan, variant))
    ready: list[Prepared] = []
    for found, plan, variant in plans:
        brought, count = library.bring(found, variant, watch, offline=offline)
        ready.append(Prepared(str(found), variant.name, brought.source, count, plan))
    return ready


def _not_installed(found: Found, what: str) -> NotInstalled:
    return NotInstalled(
        f"{what} is not on this machine", hints=(f"inferry pull {found}", f'inferry.prepare(["{found}"])')
    )
