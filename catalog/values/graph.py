"""Graphs: what a model's file needs of the runtime that opens it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Annotated, Final, Self

import msgspec

from ..errors import InvalidName

MAX_VERSION: Final = 2**31 - 1
"""The largest version of an operator set or of the file's form: ONNX Runtime keeps them in 32 bits."""
_PART: Final = r"[!-9;-?A-~]{1,200}"
_DOMAIN: Final = re.compile(rf"(?:{_PART})?")
_OPERATOR: Final = re.compile(rf"(?:(?P<domain>{_PART}):)?(?P<type>{_PART})(?:@(?P<opset>0|[1-9]\d{{0,9}}))?")

Version = Annotated[int, msgspec.Meta(ge=0, le=MAX_VERSION)]


class Operator(str):
    """``domain:Type@opset``, as ``Conv@17`` or ``com.microsoft:FastGelu@1``.

    Domain and type are each 1 to 200 printable characters of ASCII, without ``:`` and ``@``; the domain ``ai.onnx`` is
    not spelled. Without an opset, the model imports no operator set of that domain.
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the operator that ``text`` spells; raise ``InvalidName`` for any other form."""
        match = _OPERATOR.fullmatch(text)
        if not match or match["domain"] == "ai.onnx" or int(match["opset"] or 0) > MAX_VERSION:
            raise InvalidName(
                f"{text[:300]!r} is no operator", hints=("write Type@opset, or domain:Type@opset but for ai.onnx",)
            )
        return cls(text)

    @classmethod
    def of(cls, domain: str, type_: str, opset: int | None) -> Self:
        """Return the operator of these three; raise ``InvalidName`` where they have no spelling."""
        named = f"{domain}:{type_}" if domain else type_
        return cls.parse(named if opset is None else f"{named}@{opset}")

    @property
    def domain(self) -> str:
        """The domain; empty for ``ai.onnx``."""
        return self.rpartition(":")[0]

    @property
    def type(self) -> str:
        """Its name within the domain."""
        return self.rpartition(":")[2].partition("@")[0]

    @property
    def opset(self) -> int | None:
        """The version of the domain's operator set that it is taken from; ``None`` where the model does not say."""
        version = self.partition("@")[2]
        return int(version) if version else None


class Graph(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an ONNX file needs of a runtime, of its graph, subgraphs and functions together."""

    ir_version: Version
    """The version of the file's form."""
    opsets: dict[str, Version]
    """The operator sets that it imports: the domain, empty for ``ai.onnx``, and the version.

    Where a function imports another version than the model does, the highest.
    """
    operators: tuple[Operator, ...]
    """Each one once, sorted."""
    external: tuple[str, ...] = ()
    """The files that it keeps tensors in, as it names them, each one once, sorted."""

    def __post_init__(self) -> None:
        """Refuse a malformed domain and an operator of no imported set; raise ``ValueError`` naming the field."""
        for domain in self.opsets:
            if not _DOMAIN.fullmatch(domain) or domain == "ai.onnx":
                raise ValueError(f"opsets: {domain[:300]!r} is no domain; ai.onnx is spelled as an empty text")
        for field, listed in (("operators", self.operators), ("external", self.external)):
            if any(one >= other for one, other in pairwise(listed)):
                raise ValueError(f"{field}: they are not sorted, or one is there twice")
        for operator in self.operators:
            if operator.opset is not None and operator.opset > self.opsets.get(operator.domain, -1):
                raise ValueError(f"operators: `{operator}` is of no operator set that is imported")
