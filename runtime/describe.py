"""What a model is, without running it, and a command that tries it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..catalog.ort_versions import ort_range
from .ort import Tensor

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from ..catalog.values.graph import Graph
    from ..catalog.values.model import Release, Variant
    from .model import Model
    from .standing import Standing

_PLAIN: Final = re.compile(r"[\w./\\:@%+~-]+")
_UNIT: Final = 1000


class Description(NamedTuple):
    """What a model takes and returns."""

    name: str
    """As it was asked for."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    size_bytes: int
    """Of the ONNX file; of a release's first variant, with the files that it keeps tensors in."""
    graph: Graph | None
    """What that file needs of a runtime; ``None`` where no manifest says so, or it is in ONNX Runtime's own format."""
    release: Release | None = None
    standing: Standing | None = None
    """How the release stands on this machine, where somebody looked."""

    def command(self) -> str:
        """Return a command line that runs the model as it stands."""
        told = self.release.inputs if self.release else ()
        return command(self.name, self.inputs, {each.name for each in told if each.sample})

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        it = self.release
        labels = {told.name: list(told.labels) for told in it.outputs} if it else {}
        return {
            "name": it.name if it else self.name,
            "version": it.version if it else None,
            "channel": it.channel if it else None,
            "release": str(it.digest) if it else None,
            "task": it.task if it else None,
            "license": it.license if it else None,
            "summary": it.summary if it else None,
            "size_bytes": self.size_bytes,
            **_needs(self.graph),
            "variants": [
                {
                    "name": each.name,
                    "precision": each.precision,
                    "size_bytes": each.size_bytes,
                    "digest": each.artifact.digest,
                    "accuracy_loss": each.accuracy_loss,
                    **(self.standing.document(each.name) if self.standing else {}),
                    **_needs(each.graph),
                }
                for each in (it.variants if it else ())
            ],
            "versions": self.standing.versions._asdict() if self.standing else None,
            "inputs": [each._asdict() | {"pipeline": self._pipeline(each.name) or None} for each in self.inputs],
            "outputs": [each._asdict() | {"labels": labels.get(each.name, [])} for each in self.outputs],
        }

    def lines(self) -> list[str]:
        """Return what is told to a person."""
        lines = [f"{self.name}  {size(self.size_bytes)}"]
        if self.release:
            it = self.release
            lines = [f"{it.name} {it.version}  {it.task}  {it.license}", it.summary, "variants"]
            lines += _indented(
                (each.name, each.precision, size(each.size_bytes), _lost(each), *self._stands(each.name))
                for each in it.variants
            )
            lines += self.standing.lines() if self.standing else ()
        for kind, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            lines += [kind, *_indented((each.name, each.told(), self._pipeline(each.name)) for each in tensors)]
        return [*lines, *self._operators(), f"try: {self.command()}"]

    def _stands(self, variant: str) -> tuple[str, ...]:
        return self.standing.words(variant) if self.standing else ()

    def _operators(self) -> list[str]:
        """Return what is told of operators: one line, or one for each of the variants that differ."""
        graphs = [(each.name, each.graph) for each in self.release.variants] if self.release else [("", self.graph)]
        told: dict[str, list[str]] = {}
        for name, graph in graphs:
            if graph:
                told.setdefault(_told(graph), []).append(name)
        if len(told) == 1:
            return [f"operators  {line}" for line in told]
        return ["operators", *_indented((", ".join(names), line) for line, names in told.items())] if told else []

    def _pipeline(self, name: str) -> str:
        """Return what the release declares of an input or output, beside dtype and shape."""
        for told in self.release.inputs if self.release else ():
            if told.name == name:
                return "a picture" if told.picture else ""
        for output in self.release.outputs if self.release else ():
            if output.name == name and output.labels:
                return f"{len(output.labels)} labels: {', '.join(output.labels[:3])} …"
        return ""


def of_file(name: str, model: Model, data: bytes) -> Description:
    """Describe the file ``data`` that ``model`` was opened from; raise ``InvalidModel`` where it cannot be read."""
    from ..catalog.operators import read_graph

    graph = None if is_orts_own(data) else read_graph(data)
    return Description(name, model.inputs, model.outputs, len(data), graph)


def is_orts_own(data: bytes) -> bool:
    """Return whether a file is in ONNX Runtime's own format, a flatbuffer named ORTM: of kernels, not of operators."""
    return data[4:8] == b"ORTM"


def of_release(name: str, release: Release, standing: Standing | None = None) -> Description:
    """Describe a release from its manifest, and by how it stands on this machine."""
    return Description(
        name,
        tuple(Tensor(told.name, told.dtype, told.shape) for told in release.inputs),
        tuple(Tensor(told.name, told.dtype, told.shape) for told in release.outputs),
        release.variants[0].size_bytes,
        release.variants[0].graph,
        release,
        standing,
    )


def command(name: str, inputs: Iterable[Tensor], samples: Container[str]) -> str:
    """Return a command line that runs the model: on its samples, else on what can be drawn, else on files."""
    words = ["inferry run", _quoted(name)]
    words += [f"--input {_quoted(f'{told.name}={_filled(told)}')}" for told in inputs if told.name not in samples]
    return " ".join(words)


def size(count: int) -> str:
    """Return a number of bytes in decimal units, as ``424 kB``."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < _UNIT:
            break
        value, unit = value / _UNIT, larger
    return f"{value:.0f} {unit}" if unit in {"B", "kB"} else f"{value:.1f} {unit}"


def columns(rows: Iterable[tuple[str, ...]], *, limit: int | None = None) -> list[str]:
    """Return each row as a line, its cells below each other; lines that are longer than ``limit`` end in ``…``."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [f"{line[: limit - 1].rstrip()}…" if limit and len(line) > limit else line for line in lines]


def terminal_width() -> int | None:
    """Return how many letters a line of the terminal has; ``None`` where the answer goes elsewhere."""
    from .terminal import width_of

    return width_of(sys.stdout)


def _needs(graph: Graph | None) -> dict[str, Any]:
    """Return what a file needs of a runtime, for JSON."""
    if graph is None:
        return dict.fromkeys(("ir_version", "opsets", "operators", "external", "onnxruntime"))
    return {
        "ir_version": graph.ir_version,
        "opsets": graph.opsets,
        "operators": [{"domain": it.domain, "type": it.type, "opset": it.opset} for it in graph.operators],
        "external": list(graph.external),
        "onnxruntime": ort_range(graph),
    }


def _told(graph: Graph) -> str:
    """Return the same for people: names alone, as nearly always all are of the opset that is imported."""
    names = dict.fromkeys(it.partition("@")[0] for it in graph.operators)
    sets = [f"{domain or 'opset'} {version}" for domain, version in graph.opsets.items()]
    return (
        f"{', '.join(names)} ({', '.join([*sets, f'IR {graph.ir_version}'])})  ONNX Runtime {ort_range(graph)}".lstrip()
    )


def _lost(variant: Variant) -> str:
    return "" if variant.accuracy_loss is None else f"accuracy loss {variant.accuracy_loss:.2%}"


def _indented(rows: Iterable[tuple[str, ...]]) -> list[str]:
    return [f"  {line}" for line in columns(rows)]


def _filled(told: Tensor) -> str:
    if told.dtype == "string":
        return "some text"
    return "random" if re.fullmatch(r"bool|(u?int|float)\d+", told.dtype) else "FILE.npy"


def _quoted(word: str) -> str:
    """Return ``word`` as the shells of all systems take it."""
    return word if _PLAIN.fullmatch(word.replace("=", "", 1)) else f'"{word}"'
