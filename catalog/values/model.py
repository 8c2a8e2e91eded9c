"""Models: what a publisher releases, variant by variant, file by file."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from . import canonical
from .digest import Digest
from .graph import Graph
from .link import Link
from .location import Location, Redistribution
from .names import ModelName
from .picture import Picture
from .requirement import Requirement
from .version import CANONICAL, Channel

Precision = Literal["fp32", "fp16", "bf16", "int8", "int4", "mixed"]
Shape = tuple[int | str, ...]
"""The length of each axis; a name where it is free."""

_PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,9}")


class Artifact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One immutable file of a release."""

    path: str
    """Where it lies in its release: relative, with ``/``; its parts are letters, digits, ``.``, ``_`` and ``-``."""
    media_type: str
    digest: Digest
    size_bytes: int
    locations: tuple[Location, ...] = ()
    """Where it lies beside its release, the nearest first."""
    redistribution: Redistribution = "unknown"
    """Whether others may hand it on: bundle, mirror or serve it; only what is ``allowed`` is."""
    pieces: Link | None = None
    """Of a large file, the document with the digest of each piece; an index writes it."""

    def __post_init__(self) -> None:
        """Refuse a path that leaves the release, and a size that cannot be; raise ``ValueError`` naming the field."""
        if not _PATH.fullmatch(self.path):
            raise ValueError(f"path: `{self.path[:100]}` is not a relative path of letters, digits, `.`, `_` and `-`")
        if self.size_bytes < 0:
            raise ValueError(f"size_bytes: {self.size_bytes} is negative")


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a release tells of one of its model's inputs."""

    name: str
    """As the model itself calls it; name, dtype and shape are the same in every variant."""
    dtype: str
    """As numpy names it, or ``string``."""
    shape: Shape
    picture: Picture | None = None
    """How a picture becomes this input."""
    sample: Artifact | None = None
    """A file to try the model with."""


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a release tells of one of its model's outputs."""

    name: str
    """As the model itself calls it; name, dtype and shape are the same in every variant."""
    dtype: str
    """As numpy names it, or ``string``."""
    shape: Shape
    scores: Literal["as-is", "softmax"] = "as-is"
    """How its values along the last axis become scores of its labels."""
    labels: tuple[str, ...] = ()
    """What each place along the last axis stands for."""

    def __post_init__(self) -> None:
        """Refuse labels of which there are not as many as places; raise ``ValueError`` naming the field."""
        places = self.shape[-1] if self.shape else 1
        if self.labels and isinstance(places, int) and places != len(self.labels):
            raise ValueError(f"labels: {len(self.labels)} of them for an axis of {places}")


class Variant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One build of a release."""

    name: str
    precision: Precision
    artifact: Artifact
    """The ONNX file."""
    external_data: tuple[Artifact, ...] = ()
    """The files that it keeps tensors in; their paths begin with the folder of its own."""
    graph: Graph | None = None
    """What the file needs of a runtime, as it is read from its bytes."""
    eps: tuple[str, ...] = ()
    """The execution providers that it was built for, by name; empty where any will do."""
    requires: Requirement | None = None
    """What it needs of a host, beside what its operators need."""
    accuracy_loss: float | None = None
    """Share of the publisher's held-out set, 0 to 1, by which this one gets fewer right than the first variant does.

    As many or more are 0; ``None`` says that it was not measured.
    """

    def __post_init__(self) -> None:
        """Refuse a loss that is no share, and data that lies elsewhere; raise ``ValueError`` naming the field."""
        folder = self.artifact.path.rpartition("/")[0]
        for place, each in enumerate(self.external_data):
            if folder and not each.path.startswith(f"{folder}/"):
                raise ValueError(f"external_data[{place}].path: `{each.path}` does not lie in `{folder}`")
        if self.accuracy_loss is not None and not 0 <= self.accuracy_loss <= 1:
            raise ValueError(f"accuracy_loss: {self.accuracy_loss} is not between 0 and 1")

    @property
    def size_bytes(self) -> int:
        """Of the ONNX file and the files that it keeps tensors in."""
        size = self.artifact.size_bytes
        return size + sum(each.size_bytes for each in self.external_data) if self.external_data else size


class Golden(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tensors that go in, and those that came out of the first variant on the publisher's machine.

    Both are NumPy's ``.npz``, an array for each input or output under its name.
    """

    inputs: Artifact
    outputs: Artifact


class Release(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One immutable version of a model."""

    name: ModelName
    version: str
    """In the normal form of PEP 440."""
    channel: Channel = "stable"
    """Whom it is for: ``preview`` and ``test`` are chosen only where they are asked for."""
    license: str
    """An SPDX licence expression."""
    summary: str
    """One line."""
    task: str
    """Such as ``image-classification``."""
    variants: tuple[Variant, ...]
    """The first is the one that runs where nothing else is asked for."""
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    accuracy_limit: float | None = None
    """The share of accuracy that may be lost, 0 to 1, for int8 to be chosen on a CPU; ``None``: it is not chosen."""
    golden: tuple[Golden, ...] = ()
    """What a machine can prove its own results with."""
    card: Artifact | None = None
    """The model card, Markdown: what it is for, its limits, what it was made of and measured with."""
    license_text: Artifact | None = None
    """What ``license`` names, in full."""

    def __post_init__(self) -> None:
        """Refuse a release with nothing to run or without a version; raise ``ValueError`` naming the field."""
        if not self.variants:
            raise ValueError("variants: a release has at least one")
        if not CANONICAL.fullmatch(self.version):
            raise ValueError(f"version: `{self.version[:100]}` is no version in the normal form of PEP 440, as 1.2.0")
        if self.accuracy_limit is not None and not 0 <= self.accuracy_limit <= 1:
            raise ValueError(f"accuracy_limit: {self.accuracy_limit} is not between 0 and 1")

    @property
    def digest(self) -> Digest:
        """The digest of the release document, its canonical form: what ``name@sha256:…`` asks for."""
        return canonical.digest(self)

    def files(self, variant: Variant) -> tuple[Artifact, ...]:
        """Return all that running a variant takes, its ONNX file first, and what belongs to every variant."""
        samples = (told.sample for told in self.inputs)
        golden = (each for pair in self.golden for each in (pair.inputs, pair.outputs))
        more = (*samples, *golden, self.card, self.license_text)
        return (variant.artifact, *variant.external_data, *(each for each in more if each))
