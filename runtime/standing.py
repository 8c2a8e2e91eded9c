"""How a release stands on this machine: which of its variants fit, which are here, and which versions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalog.resolver.explain import decisive
from ..catalog.values.plan import Subject
from ..index.client.library import Versions
from .plan import Pins, make_plan

if TYPE_CHECKING:
    from ..catalog.resolver.candidates import Candidate
    from ..catalog.settings import Effective
    from ..catalog.values.host import Host
    from ..index.client.found import Found
    from ..index.client.library import Library


class Standing(NamedTuple):
    """How a release stands on this machine."""

    nearest: dict[str, Candidate]
    """Of each variant, the best that fits, else the one with the least against it."""
    here: frozenset[str]
    """The variants that need not be fetched."""
    versions: Versions
    """Of the model."""

    def document(self, variant: str) -> dict[str, Any]:
        """Return what is told of a variant for JSON."""
        near = self.nearest[variant]
        return {
            "fits": near.fits,
            "ep": near.offer.package.ep if near.fits else None,
            "device": near.offer.device.kind if near.fits else None,
            "reason": None if near.fits else decisive(near)._asdict(),
            "here": variant in self.here,
        }

    def words(self, variant: str) -> tuple[str, str]:
        """Return for people whether a variant is here, and what it runs on or why it does not."""
        near = self.nearest[variant]
        offer = near.offer
        fits = f"fits: {offer.package.ep}, {offer.device.kind}" if near.fits else f"no: {decisive(near).brief()}"
        return ("here" if variant in self.here else "not here"), fits

    def lines(self) -> list[str]:
        """Return the versions that there are."""
        told = {"pulled": self.versions.pulled, **self.versions.sources}
        words = [f"{where} {', '.join(versions)}" for where, versions in told.items() if versions]
        return [f"versions  {'; '.join(words)}"] if words else []


def standing(library: Library, found: Found, host: Host, settings: Effective) -> Standing:
    """Return how a release that was found stands on ``host``; raise what ``Library.versions`` raises."""
    release = found.release
    assert release  # noqa: S101 - a file that no manifest names has no variants
    nearest: dict[str, Candidate] = {}
    for each in make_plan(Subject.of(release), host, Pins(), elsewhere=False, settings=settings).here.ranked:
        name = each.fitted.variant.name
        if name not in nearest or _misses(each) < _misses(nearest[name]):
            nearest[name] = each
    here = release.variants if library.is_at_hand(found) and found.store is None else library.pulled.variants(found)
    versions = library.versions(release.name) if found.source else Versions((), {})
    return Standing(nearest, frozenset(each.name for each in here), versions)


def _misses(candidate: Candidate) -> int:
    return 0 if candidate.fits else len(candidate.verdict.against)
