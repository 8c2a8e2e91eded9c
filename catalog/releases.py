"""Releases: which of a model's is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from .errors import VersionNotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from .values.document import Entry
    from .values.model import Release
    from .values.names import Wanted

_Released = TypeVar("_Released", bound="Release | Entry")
_TOLD: Final = 5
"""How many releases are told where none is the one that is asked for."""


def choose(releases: Iterable[Release], wanted: Wanted, *, channel: str | Collection[str] | None = None) -> Release:
    """Return the release of a model that ``wanted`` asks for: the newest of those that would do.

    A digest or an exact version means its release in whatever channel. ``@preview`` means releases of that channel
    alone; anything else the stable ones, and beside them those of ``channel``, one or several. Where no version is
    spelled, a stable release whose version is a pre-release by PEP 440 comes after all others.

    Raises:
        VersionNotFound: there is none.
    """
    releases = list(releases)
    beside = {channel} if isinstance(channel, str) else {*(channel or ())}
    channels = {wanted.channel} if wanted.channel else {"stable", *beside}
    anywhere = wanted.digest or (wanted.versions and wanted.versions.exact)
    found = [each for each in releases if (anywhere or each.channel in channels) and _is_meant(each, wanted)]
    if not found:
        what = f"version that `@{wanted.spelled}` asks for" if wanted.spelled else "stable release"
        raise VersionNotFound(f"{wanted.name} has no {what}", hints=_there(releases, wanted))
    return newest_first(found)[0]


def every(releases: Iterable[Release], wanted: Wanted) -> list[Release]:
    """Return all releases of a model, of whatever channel, that ``wanted`` names; without a version all of them.

    Raises:
        VersionNotFound: there is none.
    """
    releases = list(releases)
    found = [each for each in releases if _is_meant(each, wanted)]
    if not found:
        raise VersionNotFound(
            f"{wanted.name} has no version that `@{wanted.spelled}` asks for", hints=_there(releases, wanted)
        )
    return found


def newest_first(releases: Sequence[_Released]) -> Sequence[_Released]:
    """Return releases of a model, the newest first; stable pre-releases by PEP 440 last."""
    if len(releases) == 1:
        return releases
    from packaging.version import Version  # a name that has one release needs none of it

    def key(release: _Released) -> tuple[bool, Version]:
        version = Version(release.version)
        return release.channel != "stable" or not version.is_prerelease, version

    return sorted(releases, key=key, reverse=True)


def _there(releases: Sequence[Release], wanted: Wanted) -> list[str]:
    """Return what there is instead, a line for each of the newest."""
    return [
        f"there is {wanted.name}@={each.version}"
        + (f", in channel {each.channel}" if each.channel != "stable" else "")
        + (f", {each.digest}" if wanted.digest else "")
        for each in newest_first(releases)[:_TOLD]
    ]


def _is_meant(release: Release, wanted: Wanted) -> bool:
    return (
        (wanted.digest is None or release.digest == wanted.digest)
        and (wanted.versions is None or wanted.versions.takes(release.version))
        and (wanted.channel is None or release.channel == wanted.channel)
    )
