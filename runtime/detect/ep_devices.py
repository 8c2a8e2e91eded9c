"""What the installed ONNX Runtime (ORT) offers: a child process asks it, and its answer is kept under a stamp.

The stamp is all that the answer hangs on: ORT's files, Python, the system, the devices and their drivers, the variables
that bend what an EP sees. Whatever of it changes, a child is asked again. That a child failed is kept, too: one that
hangs or crashes would do so again.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import msgspec
from msgspec.structs import replace

from ...catalog.errors import ChildFailed, ChildNotStarted, Error, MachineError
from ...catalog.values.host import DeviceKind, EpDevice
from ...catalog.version import VERSION
from ...ep_packages.table import packages
from ...index.blobs import write_whole
from ...index.home import cache_folder
from ..variables import variables
from .states import ort_files, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...catalog.values.host import Host

LIMIT_S: Final = 10.0
"""A cold disk needs a second or two."""
AGAIN: Final = "inferry devices --ask-again"
"""What asks also where a failure is remembered."""
_BUCKET: Final = "onnxruntime-v3"
"""The folder; another form of answer takes another one, so that versions of this program do not meet."""
_MOST: Final = 2**20
_KINDS: Final = get_args(DeviceKind)


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of an EP and a device; what else ORT tells of it is not needed yet."""

    ep: str
    kind: str
    vendor_id: str | None
    device_id: str | None


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    """What ``child_main`` answers to ``ep-devices``."""

    version: str
    module: str
    available: tuple[str, ...]
    devices: tuple[_Listed, ...] | None


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What asking came to: an answer, or in words why there was none."""

    stamp: dict[str, Any]
    asked: datetime
    told: _Told | None = None
    failed: str | None = None

    def __post_init__(self) -> None:
        if (self.told is None) == (self.failed is None):
            raise ValueError("told: there is either an answer or a failure")

    @property
    def origin(self) -> str:
        if self.told:
            return f"child process, onnxruntime {self.told.version}"
        return f"child process: {self.failed}"


def with_ep_devices(host: Host, *, again: bool = False, home: Path | None = None) -> Host:
    """Return ``host``, which is this machine, with the EP devices of its ORT; where nobody can tell, they are ``None``.

    Their origin says who told them or why they are not known. It never raises, and takes ``LIMIT_S`` at most.
    ``again`` asks also where the answer, or that there is none, is known from before; answers are kept below ``home``.
    """
    module = host.origins.get("onnxruntime.module")
    if not host.onnxruntime.module or module is None:
        none = host.onnxruntime.module is False
        where = host.origin("onnxruntime")
        origin = f"{where}: no onnxruntime" if none else f"not asked: {where} does not tell which module onnxruntime is"
        return replace(host, ep_devices=() if none else None, origins={**host.origins, "ep_devices": origin})
    kept = partial(cache_folder, home)
    told, origin = _told(Path(module), _stamp(host), kept, again=again)
    if told is None:
        return replace(host, origins={**host.origins, "ep_devices": origin})
    origins = {**host.origins, "ep_devices": origin, "onnxruntime.eps": origin}
    if told.version != host.onnxruntime.version:
        origins["onnxruntime.version"] = origin
    facts = replace(host.onnxruntime, version=told.version, eps=told.available)
    return replace(host, onnxruntime=facts, ep_devices=_pairs(told), origins=origins)


def _pairs(told: _Told) -> tuple[EpDevice, ...]:
    if told.devices is None:  # it is too old to list pairs; this one all of them have
        return (EpDevice(ep="CPUExecutionProvider", kind="cpu"),)
    return tuple(
        EpDevice(ep=each.ep, kind=cast("DeviceKind", each.kind), vendor_id=each.vendor_id, device_id=each.device_id)
        for each in told.devices
        if each.kind in _KINDS
    )


def _told(module: Path, stamp: dict[str, Any], folder: Callable[[], Path], *, again: bool) -> tuple[_Told | None, str]:
    """Return what the ORT at ``module`` says, ``None`` where it cannot be asked, and how that is known."""
    useless = ""
    try:
        file = folder() / _BUCKET / f"{sha256(os.fsencode(module)).hexdigest()[:16]}.json"
    except MachineError as error:
        asked, _ = _asked(module, stamp)
        return asked.told, f"{asked.origin}; not kept: {error.message}"
    if not again:
        kept = _read(file)
        if isinstance(kept, _Kept) and kept.stamp == stamp:
            return kept.told, f"{kept.origin}; kept in {file}" if kept.told else _remembered(kept)
        useless = f"; what was kept is of no use: {kept}" if isinstance(kept, str) else ""
    asked, lasting = _asked(module, stamp)
    if not lasting:
        return None, asked.origin
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, msgspec.json.encode(asked))
    except (OSError, MachineError, UnicodeEncodeError) as error:
        return asked.told, f"{asked.origin}{useless}; not kept: {error}"
    return asked.told, f"{asked.origin}{useless}" if asked.told else _remembered(asked)


def _remembered(kept: _Kept) -> str:
    """Return in words that nobody is asked again."""
    return f"{kept.origin}, asked on {kept.asked:%Y-%m-%d}; ask again: {AGAIN}"


def _asked(module: Path, stamp: dict[str, Any]) -> tuple[_Kept, bool]:
    """Ask a child; return what that came to, and whether it would come to the same again."""
    told, failed, lasting = None, None, True
    try:
        told = _ask(module)
    except Error as error:
        failed, lasting = plain(error.message), not isinstance(error, ChildNotStarted)
    return _Kept(stamp=stamp, asked=datetime.now(UTC), told=told, failed=failed), lasting


def _read(file: Path) -> _Kept | str | None:
    """Return what is kept in ``file``; ``None`` where there is none, and in words why it is of no use."""
    try:
        with file.open("rb") as opened:
            return msgspec.json.decode(opened.read(_MOST), type=_Kept)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return f"{file}: {error}"


def _ask(module: Path) -> _Told:
    """Ask a child; raise ``Error`` where it gives no answer, or speaks of another ORT than the one at ``module``."""
    from ..child import ask

    try:
        told = msgspec.convert(ask("ep-devices", limit_s=LIMIT_S, keep=_environment()), _Told)
    except msgspec.ValidationError as error:
        raise ChildFailed(f"its answer cannot be read: {error}") from error
    if os.path.realpath(told.module) != os.path.realpath(module):
        raise ChildFailed(f"it imports another onnxruntime, {told.module}")
    return told


def _stamp(host: Host) -> dict[str, Any]:
    """Return what the answer hangs on."""
    stamp: dict[str, Any] = {
        "inferry": VERSION,
        "files": ort_files(host),
        "python": host.python,
        "platform": host.platform,
        "devices": [
            (each.kind, each.vendor_id, each.device_id, each.pci, each.luid, each.driver, each.nodes)
            for each in host.devices
        ],
        "environment": sorted((plain(name), plain(value)) for name, value in variables(_environment()).items()),
    }
    return msgspec.json.decode(msgspec.json.encode(stamp), type=dict[str, Any])  # as it reads when it was kept


def _environment() -> tuple[str, ...]:
    """Return the names of the variables that bend what some EP sees."""
    return tuple(sorted({name for row in packages() for name in row.environment}))
