"""Recall: what was planned for a name that was pulled, for as long as all that the plan hangs on stays the same.

A second run needs no resolver, no manifests and no tables: it takes the plan as it is written down, with the release
that it is of. Whatever changes, of the machine or of what was pulled, the plan is made anew.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

import msgspec

from ..catalog.errors import InvalidDocument, MachineError
from ..catalog.values import canonical
from ..catalog.values.model import Release
from ..catalog.values.plan import Planned, Request, hangs_on
from ..index.blobs import write_whole
from ..index.client.found import Found
from ..index.home import cache_folder, data_folder
from ..index.settings import states, variables
from ..index.store import FolderStore
from .detect.detector import detect
from .detect.states import ort_files, state
from .session import Place, Session, open_release

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..catalog.values.host import Host
    from ..index.settings import Machine
    from .opening import Opened
    from .plan import Plan

_BUCKET: Final = "recall-v1"
"""The folder; another form takes another one, so that versions of this program do not meet."""
_MOST: Final = 2**24
PINS: Final = ("policy", "ep", "device", "precision", "channel", "source")
WORDS: Final = {
    "platform": "the system",
    "python": "Python",
    "cpu": "the processor",
    "memory": "the memory",
    "devices": "the devices or their drivers",
    "searched": "the devices or their drivers",
    "onnxruntime": "ONNX Runtime",
    "program": "inferry",
    "settings": "a setting",
}
"""What is told of facts that changed; of the others nothing needs to be."""


class Remembered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan that was carried out, and what it hangs on."""

    key: str
    """The name and the pins; a sum of it is the file's name."""
    facts: dict[str, str]
    """Each as JSON."""
    planned: Planned
    options: dict[str, str]
    """What the EP was told."""
    source: str
    folder: str
    release: Release


class Recalled(NamedTuple):
    """A model that was opened by a plan from before."""

    session: Session
    found: Found
    held: ExitStack
    """Keeps the files from being collected."""


class Recall:
    """The plan for one name under one caller's pins, on this machine as it is now."""

    def __init__(
        self,
        name: str,
        asked: Mapping[str, object],
        home: Path | None,
        machine: Machine,
        *,
        sources: Sequence[str | os.PathLike[str]] | None,
    ) -> None:
        """Look at the machine, and at what was planned before.

        Args:
            name: as the caller spells it.
            asked: the caller's pins, and more.
            home: the client's.
            machine: where its settings lie.
            sources: the client's; ``None`` are those that it has by itself.

        Raises:
            MachineError: the system names no folder to keep plans in.
        """
        pins = {pin: asked[pin] for pin in PINS if asked.get(pin) is not None}
        told = sources and [os.fspath(each) for each in sources]
        self._key = msgspec.json.encode([str(name), pins, told], order="sorted")
        data = data_folder(home)
        self.host: Host = detect()
        self._file = cache_folder(home) / _BUCKET / f"{crc32(self._key):08x}.json"
        self._store = data / "store"
        self._facts: dict[str, str] = {
            each: msgspec.json.encode(fact, order="sorted").decode()
            for each, fact in {
                **hangs_on(self.host, Request(), model=""),
                "onnxruntime files": ort_files(self.host),
                "settings": [states(machine, home), variables()],
                "pulled": state(data / "models" / "serial"),
            }.items()
        }
        self._before = self._read()

    @property
    def changed(self) -> tuple[str, ...]:
        """What has changed since the plan was made, in words; nothing where there is none."""
        before = self._before.facts if self._before else self._facts
        return tuple(dict.fromkeys(word for fact, word in WORDS.items() if before.get(fact) != self._facts[fact]))

    def open(self) -> Recalled | None:
        """Open the model by its plan from before; ``None`` where that does not hold any more.

        Raises:
            Error: what ``FolderStore``, ``Found.read`` and ``Session`` raise.
        """
        it = self._before
        if it is None or it.facts != self._facts:
            return None
        found = Found(Path(it.folder), it.release, source=it.source, store=FolderStore(self._store))
        variant = next(each for each in it.release.variants if each.name == it.planned.variant)
        place = Place(it.planned.ep, it.planned.device.kind, it.options)
        session, held = open_release(found, variant, place)
        return Recalled(session, found, held)

    def keep(self, opened: Opened, plan: Plan) -> None:
        """Remember a plan that was carried out; what cannot be written is planned anew each time."""
        found = opened.found
        if found.release is None or found.store is None or opened.fallback:
            return
        offer = opened.candidate.offer
        remembered = Remembered(
            key=self._key.decode(),
            facts=self._facts,
            planned=plan.of(opened.candidate),
            options=offer.package.options.get(offer.device.kind, {}),
            source=found.source,
            folder=str(found.folder),
            release=found.release,
        )
        with suppress(OSError, MachineError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, canonical.encode(remembered))

    def _read(self) -> Remembered | None:
        try:
            with self._file.open("rb") as file:
                found = canonical.decode(file.read(_MOST), Remembered)
        except (OSError, InvalidDocument):
            return None
        return found if found.key == self._key.decode() else None
