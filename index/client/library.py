"""The library: every source in its order, and what was pulled from them, which comes first."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import (
    Error,
    MachineError,
    ModelNotFound,
    NotFoundError,
    Refused,
    VerificationError,
    VersionNotFound,
)
from ...catalog.releases import choose, newest_first
from ...catalog.values.names import HuggingFaceName, ModelName, Wanted
from ...catalog.values.progress import ALONE
from .pulled import Pulled, is_address
from .source import Unasked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...catalog.values.document import ModelDocument
    from ...catalog.values.listing import Listed
    from ...catalog.values.model import Release, Variant
    from ...catalog.values.progress import Watch
    from ...catalog.values.source import SourceSpec
    from .found import Found
    from .indexed import IndexSource
    from .source import Asked, FolderSource, Source
    from .transport import Transport


class Versions(NamedTuple):
    """The versions of a model, newest first."""

    pulled: tuple[str, ...]
    sources: dict[str, tuple[str, ...]]
    """By the sources' names, in the order in which they are asked."""


class Hit(NamedTuple):
    """A model that answers a query."""

    release: Release | Listed
    """Its newest release, or what an index lists of that."""
    source: str
    found: Found | None = None
    """Of an index it is not looked up yet."""


class Refreshed(NamedTuple):
    """An index that was asked what is new."""

    name: str
    models: int
    """How many of its models were looked up, those of which something is known here."""
    revoked: int
    """How many of their releases are revoked."""


class Library:
    """Finds models by name, and brings them here."""

    def __init__(
        self,
        sources: Sequence[FolderSource],
        data: Callable[[], Path],
        specs: Callable[[], Sequence[SourceSpec]] = tuple,
    ) -> None:
        """Ask ``sources`` in their order, then the indexes that ``specs`` returns in theirs.

        What was pulled, and what indexes said, lies in the folder that ``data`` returns.
        """
        self.folders: tuple[FolderSource, ...] = tuple(sources)
        self._specs = specs
        self._data = data

    @cached_property
    def indexes(self) -> tuple[IndexSource, ...]:
        """The signed indexes."""
        specs = self._specs()
        if not specs:
            return ()
        from .indexed import IndexSource

        return tuple(IndexSource(each, self._data(), lambda: self._transport, self._heard) for each in specs)

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, in the order in which they are asked."""
        return (*self.folders, *self.indexes)

    @cached_property
    def _transport(self) -> Transport:
        from .transport import Transport

        return Transport()

    @cached_property
    def pulled(self) -> Pulled:
        """What was pulled; raises ``MachineError`` where a newer version of the program wrote it."""
        return Pulled(self._data())

    def names(self) -> list[str]:
        """Return the names of all models that are known, sorted."""
        return sorted({*self.pulled.names(), *(name for source in self.sources for name in source.names())})

    def asked_for(self, name: str, source: str | None = None) -> list[Source]:
        """Return the sources that a model's name is told to, in their order; ``source`` names the one that may be.

        Raises:
            NotFoundError: there is no such source.
            Refused: the namespace belongs to other sources.
        """
        namespace = name.partition("/")[0]
        owners = [each for each in self.sources if namespace in each.namespaces]
        asked = owners or [each for each in self.sources if not each.namespaces]
        if source is None:
            return asked
        if found := [each for each in asked if _is_called(each, source)]:
            return found
        if not any(_is_called(each, source) for each in self.sources):
            raise NotFoundError(
                f"there is no source `{source}`", hints=[f"there is {each.name}" for each in self.sources]
            )
        if owners:
            told = ", ".join(each.name for each in owners)
            raise Refused(f"`{name}` is asked for at {told} alone: its namespace belongs to it")
        raise Refused(f"the source `{source}` is asked for its own namespaces alone")

    def find(self, asked: Asked, *, here: bool = False, source: str | None = None) -> Found:
        """Return the release that is asked for; without a version, what was pulled, else the newest stable one.

        Args:
            asked: with ``anew`` the sources are asked first, and what was pulled only counts for what they do not have.
            here: of what was pulled, take what is still here before what was collected since.
            source: the name or the address of the one source that may answer, or that it was pulled from.

        Raises:
            ModelNotFound: nobody knows the model.
            VersionNotFound: nobody has such a release of it.
            Refused: it was revoked; or its namespace belongs to another source; or a source may not be asked.
            NetworkError: a source cannot be asked: no other one answers in its place.
            VerificationError: what a source says is not to be trusted.
            InvalidManifest: a source's manifest is wrong.
            MachineError: a file cannot be read.
        """
        name = asked.wanted.name
        if isinstance(name, HuggingFaceName):
            raise ModelNotFound(
                f"no source knows the model `hf:{name}`: none that asks Hugging Face is set up",
                hints=("download its files, and give the path of the ONNX file or of its folder",),
            )
        none: VersionNotFound | None = None
        silent: Refused | None = None
        for each in _in_order(self.asked_for(name, source), pulled_first=not asked.anew):
            try:
                found = each.ask(asked) if each else self._pulled(asked, here=here, source=source)
            except VersionNotFound as error:
                none = none or error
            except Unasked as error:
                silent = silent or error
            else:
                if found:
                    self._refuse(found, alone=source is not None)
                    return found
        if failed := silent or none:
            raise failed
        near = get_close_matches(name, self.names(), n=3)
        raise ModelNotFound(f"no source knows the model `{name}`", hints=[f"did you mean {match}?" for match in near])

    def search(self, query: str, *, source: str | None = None, offline: str = "") -> list[Hit]:
        """Return the models that answer ``query``, best first; the first source that knows a name speaks for it.

        What was pulled is among them where no source that is asked knows it, by its newest release.

        Args:
            query: words, as ``catalog.words`` has them.
            source: ask the source of this name or address alone, and of what was pulled only what came from it.
            offline: what says that the network may not be used; empty where it may.

        Raises:
            NotFoundError: there is no such source, and nothing was pulled from one.
            NetworkError: an index that is named cannot be asked; any other is passed over with a warning.
            VerificationError: what an index says is not to be trusted.
            InvalidManifest: a source's manifest is wrong.
            MachineError: a file cannot be read.
        """
        from ...catalog.words import search

        there = [each for each in self.sources if source is None or _is_called(each, source)]
        names = {each.name for each in there}
        pulled = [each for each in self.pulled.all() if source is None or each.source in {source, *names}]
        if not there and not pulled:
            raise NotFoundError(
                f"there is no source `{source}`", hints=[f"there is {each.name}" for each in self.sources]
            )
        told: dict[str, Hit] = {}
        for folder in self.folders:
            for found in folder.all() if folder in there else ():
                if found.release:
                    told.setdefault(found.release.name, Hit(found.release, folder.name, found))
        for index in self.indexes:
            for listed in index.listing(offline, alone=source is not None) if index in there else ():
                if index in self.asked_for(listed.name):
                    told.setdefault(listed.name, Hit(listed, index.name))
        for found in pulled:
            if found.release:
                told.setdefault(found.release.name, Hit(found.release, found.source, found))
        return [told[each.name] for each in search(query, [each.release for each in told.values()])]

    def refresh(self, words: Sequence[str] = ()) -> list[Refreshed]:
        """Ask indexes what is new of the models that were looked up in them, or pulled from them.

        Args:
            words: names or addresses of those that are asked; without any, all.

        Raises:
            NotFoundError: there is no such source.
            Error: what ``IndexSource.refresh`` raises of the first that fails, after all were asked.
        """
        from .source import Asked

        for word in words:
            if not any(_is_called(each, word) for each in self.indexes):
                hints = [f"there is {index.name}" for index in self.indexes]
                raise NotFoundError(f"there is no source `{word}`", hints=hints)
        pulled = [(each.source, each.release.name) for each in self.pulled.records()]
        found: list[Refreshed] = []
        failure: Error | None = None
        for index in self.indexes:
            if words and not any(_is_called(index, word) for word in words):
                continue
            names = {*index.names(), *(name for source, name in pulled if source == index.name)}
            try:
                index.refresh()
                documents = [index.document(Asked(Wanted(ModelName(name)))) for name in sorted(names)]
            except Error as error:
                failure = failure or error
                continue
            there = [each for each in documents if each]
            revoked = sum(entry.status == "revoked" for each in there for entry in each.releases)
            found.append(Refreshed(index.name, len(there), revoked))
        if failure:
            raise failure
        return found

    def versions(self, name: str) -> Versions:
        """Return the versions of a model that are known; a source that cannot answer has none."""
        sources = {each.name: each.versions(name) for each in self.asked_for(name)}
        pulled = newest_first([each.release for each in self.pulled.find(name) if each.release])
        told = {source: versions for source, versions in sources.items() if versions}
        return Versions(tuple(each.version for each in pulled), told)

    def is_at_hand(self, found: Found) -> bool:
        """Return whether a release needs no pulling: a path, what is part of the program, or what was pulled."""
        there = any(source.at_hand for source in self.sources if source.name == found.source)
        return not found.source or found.store is not None or there

    def bring(self, found: Found, variant: Variant, watch: Watch = ALONE, *, offline: str = "") -> tuple[Found, int]:
        """Fetch what is missing of a variant, and record it; return the release as it is here, and the bytes fetched.

        ``offline`` is what says that the network may not be used; empty where it may.

        Raises what ``fetch`` and ``Pulled.keep`` raise.
        """
        from ..leases import lease
        from .fetch import Reach, fetch, missing

        assert found.release  # noqa: S101 - a file that no manifest names lies where it is
        files = found.release.files(variant)
        store = self.pulled.store
        if found.store and variant in self.pulled.variants(found) and not missing(files, store):
            return found, 0
        with lease(store, [each.digest for each in files], f"pull {found}"):
            folder, base = self._origin(found)
            count = fetch(files, store, Reach(folder, self._transport, offline, base), item=str(found), watch=watch)
            return self.pulled.keep(found, variant), count

    def _origin(self, found: Found) -> tuple[Path | None, str]:
        """Return the folder, or the address of the index, that a release's files can be fetched from."""
        if found.store is None:
            return (None, found.base) if found.base else (found.folder, "")
        record = self.pulled.record(found)
        if record and is_address(record.origin):
            return None, record.origin
        for source in self.folders:
            there = source.find(ModelName(found.release.name)) if found.release else None
            if there and there.release == found.release:
                return there.folder, ""
        return (Path(record.origin) if record else None), ""

    def _heard(self, document: ModelDocument, source: str) -> None:
        """Keep in mind what an index says of releases that are revoked."""
        self.pulled.revoke(
            {
                each.digest: f"{document.name}@={each.version} was revoked by {source}: {each.reason}"
                for each in document.releases
                if each.status == "revoked"
            }
        )

    def _refuse(self, found: Found, *, alone: bool) -> None:
        """Raise where a release was revoked by any source, or is another one than is known under its version.

        What other sources said counts only where the user has not named the one that speaks ``alone``.
        """
        if not found.release or not found.source:
            return
        name, version, digest = found.release.name, found.release.version, found.release.digest
        if told := self.pulled.revoked().get(digest):
            raise Refused(told, hints=(f"inferry show {name} tells which releases there are",))
        if not found.base:
            return
        others = {
            each.name: entry.digest
            for each in (() if alone else self.indexes)
            if (document := each.known(name))
            for entry in document.releases
            if entry.version == version
        }
        for each in self.pulled.find(name):
            record = self.pulled.record(each)
            if each.release and each.release.version == version and record and is_address(record.origin):
                others[f"{each.source}, when it was pulled"] = each.release.digest
        for where, other in others.items():
            if other != digest:
                raise VerificationError(
                    f"{found} of {found.source} is {digest}, and of {where} {other}: a release never changes",
                    hints=(
                        f"ask who publishes {name} which one is right; --source names the one to ask",
                        f"inferry cache remove {found} forgets what was pulled",
                    ),
                )

    def _pulled(self, asked: Asked, *, here: bool, source: str | None) -> Found | None:
        try:
            self._data()
        except MachineError:  # where no folder is for it nothing was pulled
            return None
        named = {each.name for each in self.sources if source and _is_called(each, source)}
        found = [each for each in self.pulled.find(asked.wanted.name) if not source or each.source in named]
        if not found:
            return None
        if here:
            with suppress(VersionNotFound):
                return self._chosen([each for each in found if self.pulled.variants(each)], asked)
        return self._chosen(found, asked)

    @staticmethod
    def _chosen(found: Sequence[Found], asked: Asked) -> Found:
        releases, wanted = [each.release for each in found if each.release], asked.wanted
        if wanted.spelled or not releases:
            chosen = choose(releases, wanted, channel=asked.channels)
        else:  # whoever pulled a preview asked for it
            chosen = next(
                choose(there, wanted, channel=which)
                for which in ("stable", "preview", "test")
                if (there := [each for each in releases if each.channel == which])
            )
        return next(each for each in found if each.release is chosen)


def _is_called(source: Source, word: str) -> bool:
    return word in {source.name, source.address} or f"{word}/" == source.address


def _in_order(sources: Sequence[Source], *, pulled_first: bool) -> tuple[Source | None, ...]:
    """Return who is asked; ``None`` is what was pulled."""
    return (None, *sources) if pulled_first else (*sources, None)
