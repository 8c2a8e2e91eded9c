"""A host in words, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.compat import shut
from .describe import columns, size

if TYPE_CHECKING:
    from ..catalog.values.host import Device, Host, OrtFacts

KINDS = ("cpu", "gpu", "npu")


def lines(host: Host) -> list[str]:
    """Return the platform, the memory, ONNX Runtime, its EP devices and the devices; ``?`` is what is not known."""
    it = host.platform
    system = " ".join(filter(None, (it.os, it.version or "?", it.architecture or "?")))
    libc = " ".join(filter(None, (it.libc, it.libc_version)))
    told = [f"platform     {', '.join(filter(None, (system, it.name, libc, it.product)))}"]
    if host.python:
        told.append(
            f"python       {host.python.version} {host.python.implementation} {host.python.architecture or '?'}"
        )
    told.append(f"onnxruntime  {_onnxruntime(host.onnxruntime)}")
    if host.onnxruntime.eps:
        told.append(f"providers    {', '.join(host.onnxruntime.eps)}")
    told += [f"{'' if place else 'ep devices':11}  {line}" for place, line in enumerate(_ep_devices(host))]
    told.append(f"memory       {_memory(host)}")
    rows = [(each.kind, each.name or "?", _ids(each), _own_memory(each), _driver(each)) for each in host.devices]
    return [*told, *columns([("kind", "name", "ids", "memory", "driver"), *rows])]


def notes(host: Host) -> tuple[str, ...]:
    """Return what is told beside it: the kinds of device that nobody looked for, and why ORT could not be asked."""
    unseen = [kind for kind in KINDS if kind not in host.searched]
    return (*((f"not looked for: {', '.join(unseen)}; there may be some",) if unseen else ()), *unasked(host))


def unasked(host: Host) -> tuple[str, ...]:
    """Return why the EP devices of this machine are not known, where somebody tried to ask for them."""
    why = host.origins.get("ep_devices")
    return (f"the EP devices are not known: {why}",) if why and host.ep_devices is None else ()


def details(host: Host) -> tuple[str, ...]:
    """Return what is told on demand: what was left out and why, and each fact's origin."""
    return (
        *(
            f"no device to run on: {each.vendor_id or '?'}:{each.device_id or '?'}: {each.reason}"
            for each in host.excluded
        ),
        *(f"{fact}: from {origin}" for fact, origin in sorted(host.origins.items())),
    )


def _onnxruntime(told: OrtFacts) -> str:
    if told.module is None:
        return "?"
    if not told.module:
        return "not installed"
    brought = ", ".join(f"{each.name} {each.version}" for each in told.distributions or ())
    return f"{told.version or '?'} ({brought or 'of no distribution'})"


def _ep_devices(host: Host) -> list[str]:
    """Return a line for each EP with its devices."""
    if host.ep_devices is None:
        return ["?"]
    told: dict[str, list[str]] = {}
    for each in host.ep_devices:
        ids = f" {each.vendor_id or '?'}:{each.device_id or '?'}" if each.vendor_id or each.device_id else ""
        told.setdefault(each.ep, []).append(each.kind + ids)
    return [f"{ep}: {', '.join(devices)}" for ep, devices in told.items()] or ["none"]


def _memory(host: Host) -> str:
    total, free, limit = host.memory.total_bytes, host.memory.free_bytes, host.memory.limit_bytes
    told = size(total) if total is not None else "?"
    told += f", {size(free)} free" if free is not None else ""
    return told + (f", a container's limit {size(limit)}" if limit is not None else "")


def _ids(device: Device) -> str:
    return f"{device.vendor_id or '?'}:{device.device_id or '?'}" if device.vendor_id or device.device_id else "?"


def _own_memory(device: Device) -> str:
    if device.kind == "cpu":
        return ""
    own = size(device.memory_bytes) if device.memory_bytes is not None else "?"
    return own + (", integrated" if device.integrated else "")


def _driver(device: Device) -> str:
    if device.driver is None:
        return "" if device.kind == "cpu" else "?"
    name = "none" if not device.driver.name and device.driver.name is not None else device.driver.name or "?"
    lacking = [f"no access to {node.path}" for node, _ in shut(device)]
    return ", ".join((" ".join(filter(None, (name, device.driver.version))), *lacking, *["software"] * device.software))
