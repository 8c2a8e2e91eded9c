"""GPUs and NPUs on PCI, from /sys: ids, driver, memory, whether they are part of the processor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ....catalog.values.host import MAX_COUNT, Device, Excluded
from ..found import Found, Seen
from .drivers import driver
from .kinds import AMD_GPU, EMULATED, INTEL, NVIDIA, PCI_DEVICES, Function, kind_of, reason_against
from .names import names
from .nodes import NVIDIA_GPUS, nodes
from .place import ADDRESS, Surroundings, integrated
from .tree import clean, whole

if TYPE_CHECKING:
    from ....catalog.values.host import Driver
    from .names import Name
    from .tree import Tree

ACCELERATORS: Final = "sys/class/accel"
MOST_CLASS: Final = 0xFFFFFF
MOST_ID: Final = 0xFFFF


def look(tree: Tree, *, architecture: str | None, virtual: bool) -> Found:
    """Return the GPUs and NPUs that /sys shows; ``virtual`` says that a hypervisor decided where they sit."""
    if not tree.is_folder(PCI_DEVICES):
        return Found()
    functions = _functions(tree)
    seen: list[Seen] = []
    excluded: list[Excluded] = []
    around = Surroundings(tree, functions, architecture, virtual)
    candidates = [each for each in functions.values() if each.kind]
    named = names(tree, {(each.vendor, each.device) for each in candidates})
    for it in candidates:
        origins = {"": f"/{it.path}"}
        bound = driver(tree, it.path, origins)
        virtual_function = tree.target(f"{it.path}/physfn") is not None
        if reason := reason_against(it.vendor, it.device, virtual_function=virtual_function, driver=bound.name):
            excluded.append(Excluded(vendor_id=it.vendor, device_id=it.device, reason=reason))
            continue
        listed = named.get((it.vendor, it.device))
        seen.append(Seen(_device(it, bound, listed, around, origins), origins))
    return Found(tuple(seen), ("gpu", "npu"), tuple(excluded))


def _functions(tree: Tree) -> dict[str, Function]:
    """Return all functions by address, in its order."""
    links = (tree.target(f"{ACCELERATORS}/{name}") or "" for name in tree.names(ACCELERATORS))
    accelerators = {ADDRESS.findall(link)[-1] for link in links if ADDRESS.search(link)}
    functions: dict[str, Function] = {}
    for address in tree.names(PCI_DEVICES):
        path = f"{PCI_DEVICES}/{address}"
        code = whole(tree.text(f"{path}/class"), 16, most=MOST_CLASS)
        vendor, device = _id(tree, f"{path}/vendor"), _id(tree, f"{path}/device")
        if ADDRESS.fullmatch(address) and code is not None and vendor and device:
            kind = kind_of(code, vendor, device, accelerator=address in accelerators)
            functions[address] = Function(address, code, vendor, device, kind)
    return functions


def _id(tree: Tree, path: str) -> str | None:
    number = whole(tree.text(path), 16, most=MOST_ID)
    return None if number is None else f"{number:04x}"


def _device(it: Function, bound: Driver, listed: Name | None, around: Surroundings, origins: dict[str, str]) -> Device:
    """Return what is known of a candidate, and put where that was read into ``origins``."""
    assert it.kind  # noqa: S101 - the candidates have one
    tree = around.tree
    name = _own_name(tree, it, origins)
    if name is None and listed:
        name, origins["name"] = listed
    memory, shared = _memory(tree, it, origins)
    part, why = integrated(it, memory, around)
    if why:
        origins["integrated"] = why
    vendor, device = _id(tree, f"{it.path}/subsystem_vendor"), _id(tree, f"{it.path}/subsystem_device")
    return Device(
        kind=it.kind,
        vendor_id=it.vendor,
        device_id=it.device,
        # Without a card of its own, both are zero.
        subsystem=f"{vendor}:{device}" if vendor and device and int(vendor, 16) else None,
        name=name,
        memory_bytes=memory,
        shared_bytes=shared,
        integrated=part,
        software=(it.vendor, it.device) in EMULATED,
        driver=bound,
        nodes=nodes(tree, it.path, bound.name, origins),
        pci=it.address,
    )


def _own_name(tree: Tree, it: Function, origins: dict[str, str]) -> str | None:
    """Return what NVIDIA's driver calls the device; it answers without waking it."""
    if it.vendor != NVIDIA:
        return None
    path = f"{NVIDIA_GPUS}/{it.address}/information"
    found = re.search(r"^Model:(.*)$", tree.text(path) or "", re.MULTILINE)
    name = clean(found[1]) if found else None
    if name:
        origins["name"] = f"/{path}"
    return name


def _memory(tree: Tree, it: Function, origins: dict[str, str]) -> tuple[int | None, int | None]:
    """Return the bytes of its own and of the system's memory that a device has; its address windows tell neither."""
    origins["memory_bytes"] = origins["shared_bytes"] = f"/{it.path}"
    if it.vendor == AMD_GPU:
        origins["memory_bytes"] = f"/{it.path}/mem_info_vram_total"
        origins["shared_bytes"] = f"/{it.path}/mem_info_gtt_total"
        return tree.number(f"{it.path}/mem_info_vram_total"), tree.number(f"{it.path}/mem_info_gtt_total")
    if it.vendor == INTEL:
        # The driver xe says it for each tile; i915 only as Intel ships it, for the card.
        paths = [f"{it.path}/{name}/physical_vram_size_bytes" for name in tree.names(it.path) if name[:4] == "tile"]
        paths += [
            f"{it.path}/drm/{name}/lmem_total_bytes" for name in tree.names(f"{it.path}/drm") if name[:4] == "card"
        ]
        told = {path: number for path in paths if (number := tree.number(path))}
        if told:
            origins["memory_bytes"] = f"/{next(iter(told))}"
            total = sum(told.values())
            return total if total <= MAX_COUNT else None, None
    return None, None
