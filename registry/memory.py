"""Memory: how much of it the values of a graph take while it runs, as far as that can be known beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


class Step(NamedTuple):
    """A node: the values that it takes, those of its subgraphs too, and those that it makes."""

    takes: Collection[str]
    makes: Collection[str]


def peak(steps: Sequence[Step], sizes: Mapping[str, int | None], kept: Collection[str]) -> int | None:
    """Return the most bytes that are alive at once, ``None`` where the size of a value is not known.

    The nodes run one after the other, as they stand. A value lives from the node that makes it to the last that takes
    it; those in ``kept``, inputs and outputs, live throughout. What is not in ``sizes`` is a weight: it counts nothing.
    """
    told = {name: size for name, size in sizes.items() if size is not None}
    if len(told) < len(sizes):
        return None
    last = {name: place for place, step in enumerate(steps) for name in (*step.makes, *step.takes)}
    alive = most = sum(told.get(name, 0) for name in kept)
    ends: dict[int, list[str]] = {}
    begun = set(kept)
    for place, step in enumerate(steps):
        for name in step.makes:
            if name in told and name not in begun:
                begun.add(name)
                alive += told[name]
                ends.setdefault(last[name], []).append(name)
        most = max(most, alive)
        alive -= sum(told[name] for name in ends.pop(place, ()))
    return most
