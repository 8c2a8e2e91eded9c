"""One run, as the command line asks for it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from ..catalog.errors import InvalidInput
from .arrays import described, spelled
from .inputs import from_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from .client import Client
    from .loading import Loads
    from .model import Model
    from .outputs import Outputs
    from .session import Report


class Once(NamedTuple):
    """What a run returned, and what ran."""

    outputs: Outputs
    report: Report
    samples: tuple[str, ...]
    """The inputs that took the sample that the model comes with."""
    changed: tuple[str, ...]
    """What made the plan of an earlier run void."""
    timing_ms: dict[str, float]

    def notes(self) -> tuple[str, ...]:
        """Return what is told beside the outputs."""
        report = self.report
        nodes = ", ".join(
            f"{count} {'node' if count == 1 else 'nodes'}" + ("" if ep == report.ep else f" on {ep}")
            for ep, count in report.nodes.items()
        )
        return (
            *(f"input {each}: the model's own sample" for each in self.samples),
            *((f"planned anew, as this changed: {', '.join(self.changed)}",) if self.changed else ()),
            *(f"planned {each.planned}, but {each.reason}" for each in report.fallback),
            f"ran {report.model} on {report.device}: {report.ep}, {nodes}",
        )

    def details(self) -> tuple[str, ...]:
        """Return what is told of it on demand."""
        unused = ", ".join(self.report.unused) or "none"
        timing = ", ".join(f"{stage} {time:.1f} ms" for stage, time in self.timing_ms.items() if time)
        return f"ONNX Runtime {self.report.onnxruntime}; not used of its execution providers: {unused}", timing

    def document(self, file: str | None) -> dict[str, Any]:
        """Return all of it for JSON; where the outputs went into ``file``, that stands for their values."""
        report = self.report
        outputs = {}
        for name, value in self.outputs.items():
            told = outputs[name] = described(value)
            if file:
                told["file"] = file
                del told["data"]
            if labels := self.outputs.labels(name):
                told["labels"] = [spelled(label._asdict()) for label in labels]  # of a batch, the first item's
        return {
            "outputs": outputs,
            "samples": list(self.samples),
            "ran": {
                "model": report.model,
                "ep": report.ep,
                "device": report.device,
                "nodes": report.nodes,
                "fallback": [each._asdict() for each in report.fallback] or None,
                "onnxruntime": report.onnxruntime,
                "unused": list(report.unused),
            },
            "timing_ms": self.timing_ms,
        }


def once(client: Client, name: str, words: Mapping[str, str], stdin: BinaryIO, **options: Unpack[Loads]) -> Once:
    """Find, open and run the model ``name`` on what ``words`` say of its inputs, and on its samples for the others.

    Raises:
        InvalidInput: an input is unknown, has neither words nor a sample, or its value cannot be taken.
        Error: whatever ``Client.load`` and ``Model.run`` raise.
    """
    with client.load(name, **options) as model:
        values, samples = _values(model, name, words, stdin)
        ready = perf_counter()
        outputs = model.run(values)
        run_s = perf_counter() - ready
        report, it = model.report(), model.opening
    spans = {"resolve": it.resolve_s, "fetch": it.fetch_s, "install": 0, "open": it.open_s, "run": run_s}
    return Once(outputs, report, samples, it.changed, {stage: round(1000 * span, 3) for stage, span in spans.items()})


def _values(
    model: Model, name: str, words: Mapping[str, str], stdin: BinaryIO
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a value for each input, and the names of those that are samples."""
    known = {told.name: told for told in model.inputs}
    for given in words:
        if given not in known:
            listed = ", ".join(f"`{each}`" for each in known)
            raise InvalidInput(f"{name} has no input `{given}`, only {listed}", hints=(_ready(model, name),))
    samples = {each: model.samples[each] for each in model.samples if each not in words}
    missing = [told for each, told in known.items() if each not in words and each not in samples]
    if missing:
        told = " and ".join(f"`{each.name}`, {each.told()}" for each in missing)
        raise InvalidInput(f"{name} comes with no sample: give its input {told}", hints=(_ready(model, name),))
    piped = stdin.read() if "-" in words.values() else None
    values = {each: from_words(text, known[each], piped) for each, text in words.items()}
    return samples | values, tuple(samples)


def _ready(model: Model, name: str) -> str:
    from .describe import command

    return f"try: {command(name, model.inputs, model.samples)}"
