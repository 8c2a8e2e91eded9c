"""Releases: which of a model's is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from .errors import Refused, VersionNotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from .values.document import Entry
    from .values.model import Release
    from .values.names import Wanted

_Released = TypeVar("_Released", bound="Release | Entry")
_TOLD: Final = 5
"""How many releases are told where none is the one that is asked for."""
_CHOSEN: Final = frozenset({"current", "deprecated"})


def choose(releases: Iterable[_Released], wanted: Wanted, *, channel: str | Collection[str] | None = None) -> _Released:
    """Return the release of a model that ``wanted`` asks for: the newest of those that would do.

    A digest or an exact version means its release in whatever channel. ``@preview`` means releases of that channel
    alone; anything else the stable ones, and beside them those of ``channel``, one or several. Where no version is
    spelled, a stable release whose version is a pre-release by PEP 440 comes after all others. One that is yanked is
    chosen only where it is meant by itself, one that is revoked never.

    Raises:
        VersionNotFound: there is none.
        Refused: there are, and all that would do are revoked.
    """
    releases = list(releases)
    beside = {channel} if isinstance(channel, str) else {*(channel or ())}
    channels = {wanted.channel} if wanted.channel else {"stable", *beside}
    anywhere = wanted.digest or (wanted.versions and wanted.versions.exact)
    meant = [each for each in releases if (anywhere or each.channel in channels) and _is_meant(each, wanted)]
    found = [each for each in meant if _status(each) in ({"yanked", *_CHOSEN} if anywhere else _CHOSEN)]
    if found:
        return newest_first(found)[0]
    if meant and all(_status(each) == "revoked" for each in meant):
        raise refused(wanted.name, newest_first(meant)[0])
    what = f"version that `@{wanted.spelled}` asks for" if wanted.spelled else "stable release"
    raise VersionNotFound(f"{wanted.name} has no {what}", hints=_there(releases, wanted))


def refused(name: str, revoked: Release | Entry) -> Refused:
    """Return what to raise where a release was revoked."""
    return Refused(
        f"{name}@={revoked.version} was revoked: {_reason(revoked)}",
        hints=(f"inferry show {name} tells which releases there are",),
    )


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


def _there(releases: Sequence[Release | Entry], wanted: Wanted) -> list[str]:
    """Return what there is instead, a line for each of the newest."""
    return [
        f"there is {wanted.name}@={each.version}"
        + (f", in channel {each.channel}" if each.channel != "stable" else "")
        + (f", {each.digest}" if wanted.digest else "")
        + (f", {_status(each)}: {_reason(each)}" if _status(each) not in _CHOSEN else "")
        for each in newest_first(releases)[:_TOLD]
    ]


def _is_meant(release: Release | Entry, wanted: Wanted) -> bool:
    return (
        (wanted.digest is None or release.digest == wanted.digest)
        and (wanted.versions is None or wanted.versions.takes(release.version))
        and (wanted.channel is None or release.channel == wanted.channel)
    )


def _status(release: Release | Entry) -> str:
    return getattr(release, "status", "current")  # a release's own document cannot know


def _reason(release: Release | Entry) -> str:
    return getattr(release, "reason", "")
