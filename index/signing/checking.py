"""Checking: all that an index holds is held against what was signed, without a key; nothing is written."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from . import roles
from .contents import Contents
from .place import Place
from .report import Report

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tuf.api.metadata import MetaFile, Root, Snapshot, SuccinctRoles, Targets

    from .contents import Takes
    from .report import Problem
    from .roles import Kind

_HISTORY: Final = re.compile(r"metadata/([1-9]\d*)\.(.+)\.json")
_EARLIER: Final = re.compile(r"targets/(.+/)[0-9a-f]{64}\.([^/]+)")


class Checked(NamedTuple):
    """What checking an index came to."""

    problems: tuple[Problem, ...]
    unnamed: tuple[str, ...]
    """Files that nothing names: what was interrupted leaves some, and no client asks for them."""
    models: int
    packages: int
    """EP packages."""
    files: int
    """How many were checked."""


def check(folder: Path, now: datetime) -> Checked:
    """Check the index in ``folder``: who signed what, versions, expiry, every document and every blob.

    Raises:
        NotFoundError: there is no index.
        MachineError: the folder cannot be read.
    """
    place = Place(folder)
    place.first_root()
    it = _Check(place, now)
    if root := it.root():
        it.signed(root)
        it.contents.compare()
    unnamed = [each for each in it.report.files() if not it.is_history(each)]
    return Checked(
        tuple(it.report.problems), tuple(unnamed), len(it.contents.models), it.contents.packages, len(it.report.named)
    )


class _Check:
    """One walk from the first root down to every file."""

    def __init__(self, place: Place, now: datetime) -> None:
        self._place = place
        self._now = now
        self.report = Report(place.folder)
        self.contents = Contents(place, self.report)
        self._versions: dict[str, int] = {"timestamp": 0}

    def root(self) -> Root | None:
        """Return the newest root, to which each one before it leads."""
        version, known = 1, self._root(1, None)
        while known and self._place.metadata_file(f"{version + 1}.root.json").exists():
            version, known = version + 1, self._root(version + 1, known)
        self._versions["root"] = version
        if known and known.expires <= self._now:
            self.report.wrong(self._file("root"), f"expired on {known.expires:%Y-%m-%d %H:%M} UTC")
        return known

    def _root(self, version: int, before: Root | None) -> Root | None:
        name = f"{version}.root.json"
        file = self._place.metadata_file(name)
        return self.report.read(file, lambda data: roles.verified_root(name, data, before))

    def signed(self, root: Root) -> None:
        """Check all that the timestamp leads to."""
        from tuf.api.metadata import Snapshot, Timestamp

        if not (timestamp := self._read(roles.TIMESTAMP, Timestamp, root)):
            return
        named = timestamp.snapshot_meta
        name = f"{named.version}.snapshot.json"
        if not (snapshot := self._read(name, Snapshot, root, named)):
            return
        self._versions |= {file.removesuffix(".json"): told.version for file, told in snapshot.meta.items()}
        self._versions["snapshot"] = snapshot.version
        if not (targets := self._targets("targets", root, snapshot)):
            return
        self.contents.hold(self._file("targets"), targets, lambda _: False)
        for role, told in roles.delegations(targets).items():
            if not role.startswith(roles.OWNED) or f"{role}.json" in snapshot.meta:  # an owner may not have signed yet
                self._below(role, targets, snapshot, told.is_delegated_path)

    def _below(self, role: str, targets: Targets, snapshot: Snapshot, takes: Takes) -> None:
        """Check a role to which the top one delegates, and the bins below it."""
        if not (signed := self._targets(role, targets, snapshot)):
            return
        self.contents.hold(self._file(role), signed, takes)
        if not (bins := signed.delegations.succinct_roles if signed.delegations else None):
            return
        for each in bins.get_roles():
            if found := self._targets(each, signed, snapshot):
                self.contents.hold(self._file(each), found, partial(_falls, bins, each))

    def _targets(self, role: str, delegator: Root | Targets, snapshot: Snapshot) -> Targets | None:
        from tuf.api.metadata import Targets

        if f"{role}.json" not in snapshot.meta:
            self.report.wrong(self._file("snapshot"), f"names no version of `{role}`")
            return None
        return self._read(f"{self._versions[role]}.{role}.json", Targets, delegator)

    def _read(
        self, name: str, kind: type[Kind], delegator: Root | Targets, named: MetaFile | None = None
    ) -> Kind | None:
        """Return what a file says that the role has signed by whom the delegator names; say if it has expired."""
        file = self._place.metadata_file(name)
        signed = self.report.read(file, lambda data: roles.verified(name, data, kind, delegator, named))
        if signed and signed.expires <= self._now:
            self.report.wrong(file, f"expired on {signed.expires:%Y-%m-%d %H:%M} UTC")
        return signed

    def _file(self, role: str) -> Path:
        return self._place.metadata_file(f"{self._versions[role]}.{role}.json")

    def is_history(self, file: str) -> bool:
        """Return whether a file is an earlier version of one that is named."""
        if told := _HISTORY.fullmatch(file):
            return int(told[1]) < self._versions.get(told[2], 0)
        told = _EARLIER.fullmatch(file)
        return told is not None and f"{told[1]}{told[2]}" in self.contents.paths


def _falls(bins: SuccinctRoles, role: str, path: str) -> bool:
    return bins.get_role_for_target(path) == role
