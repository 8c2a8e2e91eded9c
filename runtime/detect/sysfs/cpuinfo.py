"""Linux's processor: what /proc/cpuinfo says of it, and how many cores and threads /sys counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ....catalog.values.host import Cpu
from .arm import IMPLEMENTERS, PARTS
from .tree import LIMIT, clean, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .tree import Tree

CPUINFO: Final = "proc/cpuinfo"
CPUS: Final = "sys/devices/system/cpu"
MOST_CPUS: Final = 8192
MOST_FEATURES: Final = 1024
_SMALL: Final = 2**16
"""More than any family, model, part or stepping."""


def processor(tree: Tree, origins: dict[str, str]) -> Cpu:
    """Return the processor, without what a container may use of it."""
    origins["cpu"] = f"/{CPUINFO}"
    data = tree.data(CPUINFO) or b""
    blocks = _blocks(data.decode(errors="replace"))
    first = blocks[0] if blocks else {}
    cpu = _arm(blocks) if "CPU implementer" in first else _other(first)
    online = cpu_list(tree.text(f"{CPUS}/online"))
    if online:
        origins["cpu.threads"] = f"/{CPUS}/online"
        origins["cpu.cores"] = f"/{CPUS}/cpu*/topology"
        return msgspec.structs.replace(cpu, threads=len(online), cores=_cores(tree, online))
    if len(data) == LIMIT:  # cut off: it lists more of them
        return cpu
    cores = {(block.get("physical id"), block.get("core id")) for block in blocks}
    known = cores and not any(None in core for core in cores)
    return msgspec.structs.replace(cpu, threads=len(blocks) or None, cores=len(cores) if known else None)


def cpu_list(text: str | None) -> tuple[int, ...]:
    """Return the numbers in one of Linux's lists of processors, ``0-3,8``; none where it is no such list."""
    found: list[int] = []
    for part in (text or "").split(","):
        first, dash, last = part.partition("-")
        start = whole(first, most=MOST_CPUS)
        end = whole(last, most=MOST_CPUS) if dash else start
        if start is None or end is None or len(found) > MOST_CPUS:
            return ()
        found += range(start, end + 1)
    return tuple(found)


def _blocks(text: str) -> list[dict[str, str]]:
    """Return what is said of each thread; what follows of the machine has no processor's number."""
    blocks: list[dict[str, str]] = []
    for paragraph in text.split("\n\n"):
        pairs = (line.partition(":") for line in paragraph.splitlines())
        block = {key.strip(): value.strip() for key, colon, value in pairs if colon}
        if "processor" in block:
            blocks.append(block)
    return blocks


def _other(block: dict[str, str]) -> Cpu:
    """Return an x86 processor; another architecture's tells less."""
    return Cpu(
        vendor=clean(block.get("vendor_id")),
        family=whole(block.get("cpu family"), most=_SMALL),
        model=whole(block.get("model"), most=_SMALL),
        stepping=whole(block.get("stepping"), most=_SMALL),
        name=clean(block.get("model name")),
        features=_features(block.get("flags")),
    )


def _arm(blocks: Sequence[dict[str, str]]) -> Cpu:
    kinds: dict[tuple[int, int], None] = {}
    for block in blocks:
        implementer = whole(block.get("CPU implementer"), 16, most=_SMALL)
        part = whole(block.get("CPU part"), 16, most=_SMALL)
        if implementer is None or part is None:
            return Cpu(features=_features(blocks[0].get("Features")))
        kinds[implementer, part] = None
    vendors = {IMPLEMENTERS.get(implementer) for implementer, _ in kinds}
    names = [PARTS.get(kind) for kind in kinds]
    return Cpu(
        vendor=vendors.pop() if len(vendors) == 1 else None,
        model=next(iter(kinds))[1] if len(kinds) == 1 else None,
        name=" + ".join(filter(None, names)) if all(names) else None,
        features=_features(blocks[0].get("Features")),
    )


def _features(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list of features, sorted; ``None`` where there is no list."""
    names = {name for name in (text or "").split()[:MOST_FEATURES] if name.isascii() and name.isprintable()}
    return tuple(sorted(names)) or None


def _cores(tree: Tree, online: Iterable[int]) -> int | None:
    """Return how many cores those threads are on."""
    siblings = {tree.text(f"{CPUS}/cpu{number}/topology/thread_siblings_list") for number in online}
    return len(siblings) if all(siblings) else None
