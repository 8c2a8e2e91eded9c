"""Indexed: models of a signed index, anywhere that files are handed out."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Final

from ...catalog.errors import Error, InvalidDocument, NetworkError, StaleSource, VerificationError
from ...catalog.releases import choose
from ...catalog.values.document import ModelDocument
from ...catalog.values.model import Release
from .. import wire
from ..blobs import write_whole
from ..files import explained
from ..listing import PATH as LISTING, decode_listing
from .found import Found
from .source import Unasked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ...catalog.values.document import ModelEntry
    from ...catalog.values.listing import Listed
    from ...catalog.values.source import SourceSpec
    from .source import Asked
    from .transport import Transport
    from .trust import Trust

_FRESH_S: Final = 10.0
"""How long an answer is not asked for again, but where news is wanted."""


class IndexSource:
    """A signed index. Whatever it says is verified from the pinned root on, and kept for when it cannot be asked."""

    def __init__(
        self,
        spec: SourceSpec,
        data: Path,
        transport: Callable[[], Transport],
        heard: Callable[[ModelDocument, str], object],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Look names up in the index that ``spec`` names; what it says is kept below ``data``; ``heard`` is told."""
        self.spec = spec
        self.name: str = spec.name
        self.address: str = str(spec.url)
        self.at_hand: bool = False
        self.namespaces: tuple[str, ...] = spec.namespaces
        self.folder: Path = folder_of(spec, data)
        self._transport = transport
        self._heard = heard
        self._clock = clock
        self._asked_at: float | None = None

    @cached_property
    def _trust(self) -> Trust:
        from .trust import Trust

        return Trust(self.spec, self.folder, self._transport())

    def ask(self, asked: Asked) -> Found | None:
        """Return the release that is asked for, ``None`` where the index does not know the model.

        Raises:
            VersionNotFound: it has no such release.
            Refused: that is revoked, or it is not known from before, and the network may not be used.
            Error: what ``Trust.document`` raises.
        """
        document = self.document(asked)
        if document is None:
            return None
        entry = choose(document.releases, asked.wanted, channel=asked.channels)
        release = self._release(document, entry, asked)
        return Found(self.folder, release, source=self.name, base=str(self.spec.url))

    def document(self, asked: Asked) -> ModelDocument | None:
        """Return all that the index says of a model; without the network, what it said before. Raises as ``ask``."""
        name = asked.wanted.name
        path = self._path(name)
        known = path.read_bytes() if path.is_file() else None
        if self._is_beyond(asked):
            if known is None:
                raise Unasked(f"{asked.offline}: `{name}` was not looked up in the source {self.spec} before")
            return wire.decode(known, ModelDocument)
        if self._is_old or asked.anew:
            self.refresh()
        data = self._trust.document(f"models/{name}.json", known)
        if data is None:
            with explained(path, done="removed"):
                path.unlink(missing_ok=True)
            return None
        document = self._decoded(data, name)
        if data != known:
            self._keep(path, data)
        self._heard(document, self.name)
        return document

    def listing(self, offline: str = "", *, alone: bool = True) -> tuple[Listed, ...]:
        """Return what the index lists of each model; without the network, what it listed before.

        Unless it is asked ``alone``, one that cannot be reached lists what it did before, with a warning.

        Raises:
            InvalidDocument: the listing is none.
            Error: what ``Trust.document`` raises.
        """
        path = self.folder / "listing.json.gz"
        known = path.read_bytes() if path.is_file() else None
        if not (offline and self.spec.url.is_remote):
            try:
                if self._is_old:
                    self.refresh()
                data = self._trust.document(LISTING, known)
            except NetworkError as error:
                if alone:
                    raise
                warnings.warn(f"{error.message}; {self.name} lists what it did before", StaleSource, stacklevel=2)
            else:
                if data and data != known:
                    self._keep(path, data)
                known = data
        return decode_listing(known).models if known else ()

    @property
    def _is_old(self) -> bool:
        return self._asked_at is None or self._clock() - self._asked_at > _FRESH_S

    def refresh(self) -> None:
        """Ask the index what is new; raise what ``Trust.refresh`` raises."""
        self._asked_at = None
        self._trust.refresh()
        self._asked_at = self._clock()
        for role, since in self._trust.expired:
            told = f"the {role} of {self.spec} expired on {since:%Y-%m-%d}: it may hold back what is new"
            warnings.warn(told, StaleSource, stacklevel=2)

    def known(self, name: str) -> ModelDocument | None:
        """Return what the index said of a model when it was last asked for it; nobody is asked now."""
        with suppress(OSError, Error):
            return wire.decode(self._path(name).read_bytes(), ModelDocument)
        return None

    def names(self) -> tuple[str, ...]:
        """Return the names of the models that were looked up, sorted; nobody is asked now."""
        return tuple(sorted(path.stem.replace("+", "/") for path in (self.folder / "known").glob("*+*.json")))

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the versions of a model as the index told them last, newest first; nobody is asked now."""
        document = self.known(name)
        return tuple(each.version for each in document.releases) if document else ()

    def _path(self, name: str) -> Path:
        return self.folder / "known" / f"{name.replace('/', '+')}.json"  # no name of Windows' own: `acme/aux.json`

    def _is_beyond(self, asked: Asked) -> bool:
        return bool(asked.offline) and self.spec.url.is_remote

    def _decoded(self, data: bytes, name: str) -> ModelDocument:
        try:
            document = wire.decode(data, ModelDocument)
        except InvalidDocument as error:
            raise InvalidDocument(
                f"{self.spec}: the document of `{name}`: {error.message}", hints=error.hints()
            ) from error
        if document.name != name:
            raise VerificationError(f"{self.spec}: what lies at `{name}` is the document of `{document.name}`")
        return document

    def _release(self, document: ModelDocument, entry: ModelEntry, asked: Asked) -> Release:
        path = self.folder / "releases" / f"{entry.digest.removeprefix('sha256:')}.json"
        release: Release | None = None
        if path.is_file():
            with suppress(VerificationError):  # it was damaged, and comes again
                release = wire.follow(entry.document, path.read_bytes(), Release)
        if release is None:
            if self._is_beyond(asked):
                raise Unasked(
                    f"{asked.offline}: {document.name}@={entry.version} was not looked up in the source {self.spec}"
                    " before"
                )
            data = self._trust.blob(wire.blob_path(entry.digest), entry.document.size_bytes)
            release = wire.follow(entry.document, data, Release)
            self._keep(path, data)
        if (release.name, release.version) != (document.name, entry.version):
            raise VerificationError(
                f"{self.spec}: what lies at {document.name}@={entry.version} is {release.name}@={release.version}"
            )
        return release

    @staticmethod
    def _keep(path: Path, data: bytes) -> None:
        with explained(path, done="written"):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)


def folder_of(spec: SourceSpec, data: Path) -> Path:
    """Return the folder for what an index says: another one for another address, and for another root."""
    return data / "sources" / sha256(f"{spec.url}\n{spec.fingerprint}".encode()).hexdigest()[:16]
