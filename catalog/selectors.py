"""Selectors: which device of a host is meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .errors import NothingFits, UsageError

if TYPE_CHECKING:
    from .values.host import Device, Host

VENDORS: Final[dict[str, tuple[str, ...]]] = {
    "amd": ("1002", "1022"),
    "apple": ("106b",),
    "arm": ("13b5",),
    "intel": ("8086",),
    "microsoft": ("1414",),
    "nvidia": ("10de",),
    "qualcomm": ("17cb", "5143"),
}
"""Whose number on PCI is whose; some have two."""
_FORM: Final = re.compile(
    r"(?P<pci>pci:[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
    r"|(?P<luid>luid:[0-9a-f]+:[0-9a-f]+)"
    r"|(?P<ids>[0-9a-f]{4}:[0-9a-f]{4})"
    r"|(?P<word>[a-z]+)(?::(?P<index>\d{1,3}))?"
)
_GRAMMAR: Final = "write cpu, gpu, npu, gpu:1, a vendor (nvidia), ids (10de:2684), pci:0000:01:00.0 or luid:0:1008"


def select(text: str, host: Host) -> int:
    """Return the place among ``host``'s devices of the one that ``text`` means.

    Raises:
        UsageError: it is no selector, or several devices match and no index picks one.
        NothingFits: no device matches.
    """
    form = _FORM.fullmatch(text.lower())
    if form is None or (form["word"] and form["word"] not in {"cpu", "gpu", "npu", *VENDORS}):
        raise UsageError(f"`{text[:100]}` selects no device", hints=(_GRAMMAR,))
    found = [place for place, device in enumerate(host.devices) if _matches(form, device)]
    if form["index"] is not None:
        found = found[int(form["index"]) :][:1]
    if not found:
        have = "; ".join(told(place, host) for place in range(len(host.devices)))
        raise NothingFits(f"no device of this host is `{text}`: it has {have or 'none that is known'}")
    if len(found) > 1:
        listed = [f"{form['word'] or text}:{index} is {told(place, host)}" for index, place in enumerate(found)]
        raise UsageError(f"`{text}` means {len(found)} devices", hints=listed)
    return found[0]


def told(place: int, host: Host) -> str:
    """Return a device in words: its kind, name and ids."""
    device = host.devices[place]
    ids = ":".join(each for each in (device.vendor_id, device.device_id) if each)
    return " ".join(filter(None, (device.kind, device.name, f"({ids})" if ids else "")))


def _matches(form: re.Match[str], device: Device) -> bool:
    if form["pci"]:
        return device.pci is not None and f"pci:{device.pci.lower()}" == form["pci"]
    if form["luid"]:
        return device.luid is not None and f"luid:{device.luid.lower()}" == form["luid"]
    if form["ids"]:
        return f"{device.vendor_id}:{device.device_id}" == form["ids"]
    return device.kind == form["word"] or device.vendor_id in VENDORS.get(form["word"], ())
