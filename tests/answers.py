"""The machines of ``tests/cases/resolve``, and what must be chosen on each of them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from inferry.runtime.profile import HostProfile

FOLDER = Path(__file__).parent / "cases/resolve"


class Taken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A variant on a package on a device."""

    variant: str
    ep: str
    package: str
    delivery: str
    on: str


class Rejected(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A package, each of its releases, on devices, and the rule that is told."""

    package: str
    on: tuple[str, ...]
    rule: str
    observed: str
    required: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must come out on a host."""

    what: str
    """The machine, in one line."""
    because: str
    """The published fact from which the choice follows."""
    choice: Taken
    runner_up: Taken
    decided_by: str
    """The key of the order that put the runner-up second."""
    here: Taken
    """The best that this version can carry out."""
    rejected: tuple[Rejected, ...]


ANSWERS = msgspec.convert(tomllib.loads((FOLDER / "answers.toml").read_text(encoding="utf-8")), dict[str, Answer])


def profile(name: str) -> HostProfile:
    """Return the host of that name."""
    return HostProfile.load(FOLDER / f"{name}.json")
