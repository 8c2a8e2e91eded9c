"""The order of preference: one key a line, the first that differs decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ..policy import device_class, place

if TYPE_CHECKING:
    from ..values.model import Variant
    from ..values.plan import Subject
    from .candidates import Candidate
    from .offers import Offer

REACH: Final = ("vendor", "generic", "cpu")
PRECISIONS: Final = {
    "gpu": ("fp16", "bf16", "fp32", "mixed", "int8", "int4"),
    "npu": ("int8", "fp16", "bf16", "mixed", "int4", "fp32"),
    "cpu": ("int8", "fp32", "mixed", "fp16", "bf16", "int4"),
}
"""Precisions by the kind of device, best first. On a CPU int8 counts only within the accuracy that the publisher allows
to be lost; else it comes last."""
DELIVERIES: Final = ("built-in", "system", "local", "plugin", "engine")


class Key(NamedTuple):
    """A candidate's place in the order; smaller is better, and what stands first decides."""

    unfit: bool
    policy: int
    memory: int
    reach: int
    precision: int
    support: bool
    newer: int
    smaller: int
    delivery: int
    offer: str
    variant: str


WORDS: Final = {
    "policy": "the device policy takes the one kind of device before the other",
    "memory": "of two devices of a kind, the one with more memory comes first",
    "reach": "an EP of the device's own vendor comes before a generic one, and that before the CPU's",
    "precision": "on this kind of device the one precision comes before the other",
    "support": "what is supported comes before what is experimental",
    "newer": "the newer release comes first",
    "smaller": "the smaller download comes first",
    "delivery": "what is here already comes before what must be installed",
    "offer": "nothing tells them apart but their names",
    "variant": "nothing tells them apart but their names",
}


def precision_place(variant: Variant, kind: str, model: Subject) -> int:
    """Return the place of a variant's precision on a kind of device."""
    order = PRECISIONS[kind]
    if variant.precision not in order:  # a file, of which nobody says it
        return len(order)
    if kind == "cpu" and variant.precision == "int8":
        lost, limit = variant.accuracy_loss, model.accuracy_limit
        if lost is None or limit is None or lost > limit:
            return len(order)
    return order.index(variant.precision)


class Order:
    """The order for one model under one device policy."""

    def __init__(self, policy: str, model: Subject) -> None:
        """Remember what was computed once: there may be many thousands of candidates, of a few offers and variants."""
        self._policy = policy
        self._model = model
        self._offers: dict[int, tuple[int, int, int, bool, int, int, int, str]] = {}
        self._precisions: dict[tuple[str, str], int] = {}

    def key(self, candidate: Candidate) -> Key:
        """Return a candidate's place."""
        fitted, offer, fits = candidate
        told = self._offers.get(id(offer))
        if told is None:
            told = self._offers[id(offer)] = self._offer(offer)
        policy, memory, reach, support, age, size, delivery, name = told
        variant = fitted.variant
        of_kind = (variant.name, offer.device.kind)
        precision = self._precisions.get(of_kind)
        if precision is None:
            precision = self._precisions[of_kind] = precision_place(variant, offer.device.kind, self._model)
        size += variant.size_bytes
        # As Key(…), in a third of the time.
        parts = (not fits, policy, memory, reach, precision, support, age, size, delivery, name, variant.name)
        return tuple.__new__(Key, parts)

    def _offer(self, offer: Offer) -> tuple[int, int, int, bool, int, int, int, str]:
        """Return what an offer contributes, whatever the variant is."""
        return (
            place(self._policy, offer.device),
            -(offer.device.memory_bytes or 0),
            REACH.index(offer.package.reach),
            offer.package.support == "experimental",
            offer.age,
            0 if offer.delivery == "built-in" else offer.build.size_bytes or 0,
            DELIVERIES.index(offer.delivery),
            f"{offer.package.name} {offer.build.file or ''} {offer.place}",
        )

    def why(self, better: Candidate, worse: Candidate) -> tuple[str, str]:
        """Return the first key in which two candidates differ, and why that puts the one before the other, in words."""
        keys = zip(Key._fields, self.key(better), self.key(worse), strict=True)
        name = next(name for name, one, other in keys if one != other)
        return name, _words(name, better, worse)


def _words(name: str, better: Candidate, worse: Candidate) -> str:
    one, other = better.offer, worse.offer
    values = {
        "policy": (device_class(one.device), device_class(other.device)),
        "reach": (one.package.reach, other.package.reach),
        "precision": (better.fitted.variant.precision, worse.fitted.variant.precision),
        "newer": (one.release.version, other.release.version),
        "delivery": (one.delivery, other.delivery),
    }
    told = WORDS[name]
    return f"{told}: {values[name][0]} before {values[name][1]}" if name in values else told
