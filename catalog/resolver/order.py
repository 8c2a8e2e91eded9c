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
    """A candidate's place in the order; smaller is better."""

    unfit: bool
    policy: int
    memory: int
    reach: int
    precision: int
    support: int
    newer: int
    smaller: int
    delivery: int
    name: tuple[str, ...]


WORDS: Final = {
    "policy": "the device policy takes the one kind of device before the other",
    "memory": "of two devices of a kind, the one with more memory comes first",
    "reach": "an EP of the device's own vendor comes before a generic one, and that before the CPU's",
    "precision": "on this kind of device the one precision comes before the other",
    "support": "what is supported comes before what is experimental",
    "newer": "the newer release comes first",
    "smaller": "the smaller download comes first",
    "delivery": "what is here already comes before what must be installed",
    "name": "nothing tells them apart but their names",
}


class OfferKey(NamedTuple):
    """What an offer contributes, whatever the variant is."""

    policy: int
    memory: int
    reach: int
    support: int
    age: int
    size: int
    delivery: int
    name: tuple[str, ...]


def offer_key(offer: Offer, policy: str) -> OfferKey:
    """Return an offer's part of the key, under a device policy."""
    fetched = 0 if offer.delivery == "built-in" else offer.build.size_bytes or 0
    return OfferKey(
        place(policy, offer.device),
        -(offer.device.memory_bytes or 0),
        REACH.index(offer.package.reach),
        offer.package.support == "experimental",
        offer.age,
        fetched,
        DELIVERIES.index(offer.delivery),
        (offer.package.name, offer.build.file or "", str(offer.place)),
    )


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


def ordered(found: list[Candidate], policy: str, model: Subject) -> list[tuple[Key, Candidate]]:
    """Return the candidates with their keys, the best first."""
    offers: dict[int, OfferKey] = {}
    precisions: dict[tuple[int, str], int] = {}
    keyed: list[tuple[Key, Candidate]] = []
    for candidate in found:
        offer, variant = candidate.offer, candidate.fitted.variant
        told = offers.get(id(offer))
        if told is None:
            told = offers[id(offer)] = offer_key(offer, policy)
        of_kind = (id(variant), offer.device.kind)
        precision = precisions.get(of_kind)
        if precision is None:
            precision = precisions[of_kind] = precision_place(variant, offer.device.kind, model)
        keyed.append(
            (
                Key(
                    not candidate.fits,
                    told.policy,
                    told.memory,
                    told.reach,
                    precision,
                    told.support,
                    told.age,
                    told.size + variant.artifact.size_bytes,
                    told.delivery,
                    (*told.name, variant.name),
                ),
                candidate,
            )
        )
    keyed.sort(key=_first)
    return keyed


def _first(pair: tuple[Key, Candidate]) -> Key:
    return pair[0]


def why(better: tuple[Key, Candidate], worse: tuple[Key, Candidate]) -> tuple[str, str]:
    """Return the first key in which two candidates differ, and why that puts the one before the other, in words."""
    for name, one, other in zip(Key._fields[1:], better[0][1:], worse[0][1:], strict=True):
        if one != other:
            return name, _words(name, better[1], worse[1])
    return "name", WORDS["name"]


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
