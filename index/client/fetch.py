"""Fetching: the bytes of artifacts from wherever they lie into the store, several at once."""

from __future__ import annotations

from functools import partial
from shutil import disk_usage
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

from ...catalog.errors import (
    Cancelled,
    Error,
    LibraryMissing,
    MachineError,
    NetworkError,
    NotInstalled,
    Refused,
    VerificationError,
)
from ...catalog.values.document import PieceList
from ...catalog.values.link import Link
from ...catalog.values.location import HuggingFaceLocation, UrlLocation
from ...catalog.values.progress import ALONE, Progress
from ..files import explained, local, no_room
from ..partial import chunks
from ..wire import blob_path, follow
from . import huggingface
from .transport import Transport, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ...catalog.values.model import Artifact
    from ...catalog.values.progress import Watch
    from ..store import FolderStore

AT_ONCE: Final = 4
"""How many artifacts come at the same time."""


class Origin(NamedTuple):
    """One place where the bytes of an artifact lie."""

    words: str
    """For people."""
    open: Callable[[int], Iterable[bytes]]
    """Given how many bytes are there already, returns those that follow."""


def of_file(path: Path) -> Origin:
    """Return the file at ``path`` as an origin."""
    return Origin(str(path), partial(_rest, path))


class Reach(NamedTuple):
    """How far a fetch may go."""

    folder: Path | None
    """The folder of a release, where there is one."""
    transport: Transport
    offline: str = ""
    """What says that the network may not be used; empty where it may."""
    base: str = ""
    """The address of the index that the release is of, where it is of one."""

    def blob(self, artifact: Artifact) -> str:
        """Return where the index has an artifact; empty where it has none, or may not hand it out."""
        held = self.base and artifact.redistribution == "allowed"
        return f"{self.base}{blob_path(artifact.digest)}" if held else ""


def origins(artifact: Artifact, reach: Reach) -> list[Origin]:
    """Return where an artifact may be fetched from: the folder or the index of its release, then its locations."""
    folder, blob = reach.folder, reach.blob(artifact)
    found = [of_file(folder / artifact.path)] if folder and (folder / artifact.path).is_file() else []
    for url in (blob, *(each.url if isinstance(each, UrlLocation) else each for each in artifact.locations)):
        if isinstance(url, HuggingFaceLocation) and not reach.offline:
            found.append(Origin(_words(url), partial(_of_hugging_face, reach.transport, url, artifact.size_bytes)))
        elif isinstance(url, str) and url.startswith("file:"):
            found.append(of_file(local(url)))
        elif isinstance(url, str) and url and not reach.offline:
            get = partial(reach.transport.stream, url, size_bytes=artifact.size_bytes)
            found.append(Origin(plain(url), get))
    return found


def missing(artifacts: Iterable[Artifact], store: FolderStore) -> list[Artifact]:
    """Return those of ``artifacts`` that ``store`` does not have, or has damaged and sets aside now; each once."""
    wanted = {each.digest: each for each in artifacts}
    return [each for each in wanted.values() if store.path(each.digest, each.size_bytes) is None]


class Pace:
    """So many bytes a second, over all threads that share it."""

    def __init__(self, bytes_per_s: int) -> None:
        """Begin now."""
        self._rate = bytes_per_s
        self._lock = Lock()
        self._due = monotonic()

    def wait_s(self, count: int) -> float:
        """Return after how many seconds ``count`` bytes may come, which are counted from now on."""
        with self._lock:
            now = monotonic()
            begins = max(self._due, now)
            self._due = begins + count / self._rate
            return begins - now


class Fetching:
    """One fetch of several artifacts, as the threads that do it see it."""

    def __init__(self, store: FolderStore, item: str, total_bytes: int, watch: Watch) -> None:
        """Fetch into ``store``; ``item`` is what ``watch`` is told of."""
        self._store = store
        self._item = item
        self._total = total_bytes
        self._done: dict[str, int] = {}
        self._watch = watch
        self._ended = Event()
        self._pace = Pace(watch.limit_rate) if watch.limit_rate else None
        self._failure: Error | None = None
        self._lock = Lock()

    def fetch(self, artifacts: Sequence[Artifact], reach: Reach) -> None:
        """Fetch all; what one of them fails with ends the others, and is raised. See ``fetch``."""
        if self._watch.progress:
            self._watch.progress(Progress("fetch", self._item, 0, self._total))
        if len(artifacts) == 1:
            self._one(artifacts[0], reach)
            return
        from concurrent.futures.thread import ThreadPoolExecutor

        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            for each in [pool.submit(self._guarded, artifact, reach) for artifact in artifacts]:
                each.result()
        finally:
            # Also for Ctrl-C, which comes to this thread alone: the others end with their next chunk.
            self._ended.set()
            pool.shutdown(cancel_futures=True)
        if self._failure:
            raise self._failure

    def _guarded(self, artifact: Artifact, reach: Reach) -> None:
        """Fetch one, unless another has failed; what is raised first is what all of them fail with."""
        if self._ended.is_set():
            return
        try:
            self._one(artifact, reach)
        except Error as error:
            with self._lock:
                self._failure = self._failure or error
            self._ended.set()

    def _one(self, artifact: Artifact, reach: Reach) -> None:
        failures: list[Error] = []
        for place in origins(artifact, reach):
            counted, listed = partial(self._counted, artifact, place), partial(_listed, artifact, reach)
            try:
                self._store.resume(counted, artifact.digest, artifact.size_bytes, listed)
            except (VerificationError, NetworkError, LibraryMissing, MachineError) as error:
                failures.append(error)
            else:
                self._tell(artifact, artifact.size_bytes)
                return
        if failures:
            raise failures[0]
        away = [_words(each) for each in artifact.locations if isinstance(each, UrlLocation | HuggingFaceLocation)]
        away += [reach.blob(artifact)] * bool(reach.blob(artifact))
        if away and reach.offline:
            raise Refused(
                f"{reach.offline}: {artifact.path} of {self._item} is not here, and the network may not be used",
                hints=[f"it lies at {each}" for each in away],
            )
        raise NotInstalled(
            f"{artifact.path} of {self._item} is not here, and there is no place that this version can fetch it from",
            hints=[f"it lies at {location}" for location in artifact.locations],
        )

    def _counted(self, artifact: Artifact, place: Origin, done: int) -> Iterator[bytes]:
        for chunk in place.open(done):
            self._tell(artifact, done)
            if self._pace:
                self._rest(self._pace.wait_s(len(chunk)))
            if self._watch.cancel and self._watch.cancel.is_set():
                hint = "what came is kept: the next try goes on from there"
                raise Cancelled(f"{self._item}: cancelled", hints=(hint,))
            if self._ended.is_set():
                raise Cancelled(f"{self._item}: another of its files failed")
            yield chunk
            done += len(chunk)

    def _rest(self, seconds: float) -> None:
        """Let seconds pass, unless whatever goes on is ended meanwhile."""
        end = monotonic() + seconds
        cancel = self._watch.cancel
        while (left := end - monotonic()) > 0 and not self._ended.is_set() and not (cancel and cancel.is_set()):
            self._ended.wait(min(left, 0.1))

    def _tell(self, artifact: Artifact, done: int) -> None:
        with self._lock:
            self._done[artifact.digest] = done
            if self._watch.progress:
                self._watch.progress(Progress("fetch", self._item, sum(self._done.values()), self._total))


def fetch(artifacts: Iterable[Artifact], store: FolderStore, reach: Reach, *, item: str, watch: Watch = ALONE) -> int:
    """Bring the ``artifacts`` that are missing into ``store``, and return how many bytes they are.

    Whatever ends it, each artifact is there as a whole or goes on from what came when it is fetched again.

    Args:
        artifacts: each from the folder of ``reach`` or one of its own locations, the first that has it.
        store: where they go, each under its digest.
        reach: how far it may go for them.
        item: what they are part of, for people.
        watch: is told of each chunk, and can end it.

    Raises:
        NotInstalled: there is no place to fetch one from.
        Refused: there is, and the network may not be used.
        NetworkError: a server cannot be reached, refuses, or ends before it has sent all.
        VerificationError: what came is not the artifact.
        Cancelled: ``watch.cancel`` was set.
        MachineError: the disk is full, or refuses.
    """
    wanted = missing(artifacts, store)
    total = sum(each.size_bytes for each in wanted)
    if wanted:
        store.prepare()
        # Before the first byte: half of what a model needs is of no use to whoever has no room for the rest.
        if disk_usage(store.root).free < total:
            raise no_room(store.root, total)
        Fetching(store, item, total, watch).fetch(wanted, reach)
    return total


def _listed(artifact: Artifact, reach: Reach) -> PieceList | None:
    """Return the pieces of an artifact, if its index tells them; they are only asked for where it came damaged."""
    if not (link := artifact.pieces) or not reach.base or (reach.offline and not reach.base.startswith("file:")):
        return None
    url = f"{reach.base}{blob_path(link.digest)}"
    try:
        if url.startswith("file:"):
            with explained(path := local(url), done="read"), path.open("rb") as file:
                data = file.read(link.size_bytes + 1)
        else:
            data = reach.transport.document(url, link.size_bytes)
        found = follow(link, data, PieceList)
    except Error:
        return None
    return found if found.artifact == Link(digest=artifact.digest, size_bytes=artifact.size_bytes) else None


def _rest(path: Path, done: int) -> Iterator[bytes]:
    if not path.is_file():  # what is no file may have no end
        raise MachineError(f"there is no file {path}")
    with explained(path, done="read"):
        file = path.open("rb", buffering=0)
    with file:
        file.seek(done)
        yield from chunks(file, path)


def _of_hugging_face(
    transport: Transport, location: HuggingFaceLocation, size_bytes: int, done: int
) -> Iterable[bytes]:
    url, headers = huggingface.address(location)
    return transport.stream(url, done, size_bytes=size_bytes, headers=headers)


def _words(location: UrlLocation | HuggingFaceLocation) -> str:
    return plain(location.url) if isinstance(location, UrlLocation) else huggingface.words(location)
