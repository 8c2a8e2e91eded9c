"""Verdicts: whether something fits a host, and why."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

Outcome = Literal["fits", "tight", "unknown", "no"]
"""``tight``: it fits, and leaves little room. ``unknown``: a fact is missing, so that nobody can say that it fits."""


class Reason(NamedTuple):
    """What one rule says."""

    rule: str
    """Its name: ``os``, ``os-build``, ``driver``, ``memory`` …"""
    outcome: Outcome
    observed: str
    required: str
    origin: str
    """Who requires it."""
    fix: str = ""
    """What would make it fit; empty where nothing on this machine can."""

    def words(self) -> str:
        """Return all of it as one line."""
        return self._told(f" ({self.origin})")

    def brief(self) -> str:
        """Return it as one line, without who requires it."""
        return self._told("")

    def _told(self, origin: str) -> str:
        told = f"{self.rule}: {self.observed}, required: {self.required}{origin}"
        return f"{told}; {self.fix}" if self.fix else told


class Verdict(msgspec.Struct, frozen=True):
    """What all rules say together; true where it fits."""

    reasons: tuple[Reason, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """The worst of the reasons' outcomes."""
        outcomes = {reason.outcome for reason in self.reasons}
        for worst in ("no", "unknown", "tight"):
            if worst in outcomes:
                return worst
        return "fits"

    @property
    def against(self) -> tuple[Reason, ...]:
        """The reasons for which it does not fit."""
        return tuple(reason for reason in self.reasons if reason.outcome in {"no", "unknown"})

    def __bool__(self) -> bool:
        return not self.against
