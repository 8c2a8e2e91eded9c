"""The library: every source in its order, and what was pulled from them, which comes first."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.errors import Error, MachineError, ModelNotFound, NotFoundError, VersionNotFound
from ...catalog.releases import choose, newest_first
from ...catalog.values.names import HuggingFaceName, ModelName
from ...catalog.values.progress import ALONE
from .pulled import Pulled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from ...catalog.values.model import Variant
    from ...catalog.values.names import Wanted
    from ...catalog.values.progress import Watch
    from .found import Found
    from .source import FolderSource
    from .transport import Transport


class Versions(NamedTuple):
    """The versions of a model, newest first."""

    pulled: tuple[str, ...]
    sources: dict[str, tuple[str, ...]]
    """By the sources' names, in the order in which they are asked."""


class Library:
    """Finds models by name, and brings them here."""

    def __init__(self, sources: Sequence[FolderSource], data: Callable[[], Path]) -> None:
        """Ask ``sources`` in their order; what was pulled lies in the folder that ``data`` returns."""
        self.sources: tuple[FolderSource, ...] = tuple(sources)
        self._data = data
        self._transport: Transport | None = None

    @cached_property
    def pulled(self) -> Pulled:
        """What was pulled; raises ``MachineError`` where a newer version of the program wrote it."""
        return Pulled(self._data())

    def names(self) -> list[str]:
        """Return the names of all models that are known, sorted."""
        return sorted({*self.pulled.names(), *(name for source in self.sources for name in source.names())})

    def find(
        self,
        wanted: Wanted,
        *,
        channel: str | Collection[str] | None = None,
        anew: bool = False,
        here: bool = False,
    ) -> Found:
        """Return the release that is asked for.

        Args:
            wanted: without a version, what was pulled, else the newest stable release.
            channel: releases of this channel will do, too.
            anew: ask the sources first, and what was pulled only for what they do not have.
            here: of what was pulled, take what is still here before what was collected since.

        Raises:
            ModelNotFound: nobody knows the model.
            VersionNotFound: nobody has such a release of it.
            InvalidManifest: a source's manifest is wrong.
            MachineError: a file cannot be read.
        """
        name = wanted.name
        if isinstance(name, HuggingFaceName):
            raise ModelNotFound(
                f"no source knows the model `hf:{name}`: none that asks Hugging Face is set up",
                hints=("download its files, and give the path of the ONNX file or of its folder",),
            )
        none: VersionNotFound | None = None
        for source in (*self.sources, None) if anew else (None, *self.sources):
            try:
                found = self._in(source, wanted, channel) if source else self._pulled(wanted, channel, here=here)
            except VersionNotFound as error:
                none = none or error
            else:
                if found:
                    return found
        if none:
            raise none
        near = get_close_matches(name, self.names(), n=3)
        raise ModelNotFound(f"no source knows the model `{name}`", hints=[f"did you mean {match}?" for match in near])

    def search(self, query: str, *, source: str | None = None) -> list[Found]:
        """Return the models that answer ``query``, best first; the first source that knows a name speaks for it.

        What was pulled is among them where no source that is asked knows it, by its newest release.

        Args:
            query: words, as ``catalog.words`` has them.
            source: ask the source of this name alone, and of what was pulled only what came from it.

        Raises:
            NotFoundError: there is no such source, and nothing was pulled from one.
            InvalidManifest: a source's manifest is wrong.
            MachineError: a file cannot be read.
        """
        from ...catalog.words import search

        asked = [each for each in self.sources if source in {None, each.name}]
        pulled = [each for each in self.pulled.all() if source in {None, each.source}]
        if source is not None and not asked and not pulled:
            raise NotFoundError(
                f"there is no source `{source}`", hints=[f"there is {each.name}" for each in self.sources]
            )
        told: dict[str, Found] = {}
        for found in (*(each for one in asked for each in one.all()), *pulled):
            if found.release:
                told.setdefault(found.release.name, found)
        return [told[each.name] for each in search(query, [each.release for each in told.values() if each.release])]

    def versions(self, name: str) -> Versions:
        """Return the versions of a model that there are; a source that cannot answer has none."""
        sources: dict[str, tuple[str, ...]] = {}
        for source in self.sources:
            with suppress(Error):
                if (found := source.find(ModelName(name))) and found.release:
                    sources[source.name] = (found.release.version,)
        pulled = newest_first([each.release for each in self.pulled.find(name) if each.release])
        return Versions(tuple(each.version for each in pulled), sources)

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
        from .transport import Transport

        assert found.release  # noqa: S101 - a file that no manifest names lies where it is
        files = found.release.files(variant)
        store = self.pulled.store
        if found.store and variant in self.pulled.variants(found) and not missing(files, store):
            return found, 0
        with lease(store, [each.digest for each in files], f"pull {found}"):
            self._transport = self._transport or Transport()
            reach = Reach(self._origin(found), self._transport, offline)
            count = fetch(files, store, reach, item=str(found), watch=watch)
            return self.pulled.keep(found, variant), count

    def _origin(self, found: Found) -> Path | None:
        """Return the folder that a release's files can be fetched from."""
        if found.store is None:
            return found.folder
        for source in self.sources:
            there = source.find(ModelName(found.release.name)) if found.release else None
            if there and there.release == found.release:
                return there.folder
        record = self.pulled.record(found)
        return Path(record.origin) if record else None

    def _pulled(self, wanted: Wanted, channel: str | Collection[str] | None, *, here: bool) -> Found | None:
        try:
            self._data()
        except MachineError:  # where no folder is for it nothing was pulled
            return None
        found = self.pulled.find(wanted.name)
        if not found:
            return None
        if here:
            with suppress(VersionNotFound):
                return self._chosen([each for each in found if self.pulled.variants(each)], wanted, channel)
        return self._chosen(found, wanted, channel)

    @staticmethod
    def _chosen(found: Sequence[Found], wanted: Wanted, channel: str | Collection[str] | None) -> Found:
        releases = [each.release for each in found if each.release]
        if wanted.spelled or not releases:
            chosen = choose(releases, wanted, channel=channel)
        else:  # whoever pulled a preview asked for it
            chosen = next(
                choose(there, wanted, channel=which)
                for which in ("stable", "preview", "test")
                if (there := [each for each in releases if each.channel == which])
            )
        return next(each for each in found if each.release is chosen)

    def _in(self, source: FolderSource, wanted: Wanted, channel: str | Collection[str] | None) -> Found | None:
        found = source.find(ModelName(wanted.name))
        if found and found.release:
            choose([found.release], wanted, channel=channel)
        return found
