"""What Linux lets this process use: the limits of its control groups (cgroups, both versions) and its affinity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from .cpuinfo import cpu_list
from .tree import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tree import Tree

MOUNT: Final = "sys/fs/cgroup"
MOST_LEVELS: Final = 64


class Limit(NamedTuple):
    """The tightest limit there is, and where it stands."""

    value: float
    origin: str


def memory_limit(tree: Tree) -> Limit | None:
    """Return how many bytes may be used; ``None`` where there is no limit."""
    found: list[Limit] = []
    for folder in _folders(tree, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            # Without a limit it says "max", or in version 1 a number beyond every memory.
            value = tree.number(path := f"{folder}/{name}")
            if value:
                found.append(Limit(value, f"/{path}"))
    return min(found, default=None)


def cpu_limit(tree: Tree) -> Limit | None:
    """Return how many threads' time may be used; ``None`` where there is no limit."""
    found: list[Limit] = []
    for folder in _folders(tree, "cpu"):
        quota, _, period = (tree.text(path := f"{folder}/cpu.max") or "").partition(" ")
        if not period:
            quota, path = tree.text(f"{folder}/cpu.cfs_quota_us") or "", f"{folder}/cpu.cfs_quota_us"
            period = tree.text(f"{folder}/cpu.cfs_period_us") or ""
        allowed, of = whole(quota), whole(period)
        if allowed and of:
            found.append(Limit(allowed / of, f"/{path}"))
    status = tree.text("proc/self/status") or ""
    for line in status.splitlines():
        if line.startswith("Cpus_allowed_list:"):
            allowed = len(cpu_list(line.partition(":")[2].strip()))
            if 0 < allowed < len(cpu_list(tree.text("sys/devices/system/cpu/online"))):
                found.append(Limit(allowed, "/proc/self/status"))
    return min(found, default=None)


def _folders(tree: Tree, controller: str) -> Iterator[str]:
    """Yield the folders of this process's control group and of all above it, wherever the controller is mounted.

    In a container the path may be the one that the system outside sees, while only what is below its own group is
    mounted: the mount itself is always one of them.
    """
    for line in (tree.text("proc/self/cgroup") or "").splitlines()[:MOST_LEVELS]:
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            mounts = [MOUNT, f"{MOUNT}/unified"]
        elif controller in controllers.split(","):
            mounts = [f"{MOUNT}/{controller}", f"{MOUNT}/{controllers}"]
        else:
            continue
        parts = [part for part in path.split("/") if part not in {"", ".."}][:MOST_LEVELS]
        for mount in dict.fromkeys(mounts):
            for depth in range(len(parts), -1, -1):
                yield "/".join((mount, *parts[:depth]))
