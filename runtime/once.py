"""One run, as the command line asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..catalog.errors import InvalidInput
from .describe import command
from .inputs import from_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .model import Model
    from .outputs import Outputs
    from .session import Report


class Once(NamedTuple):
    """What a run returned, and what ran."""

    outputs: Outputs
    report: Report
    samples: tuple[str, ...]
    """The inputs that took the sample that the model comes with."""

    def notes(self) -> tuple[str, ...]:
        """Return what is told beside the outputs."""
        report = self.report
        nodes = ", ".join(
            f"{count} {'node' if count == 1 else 'nodes'}" + ("" if ep == report.ep else f" on {ep}")
            for ep, count in report.nodes.items()
        )
        return (
            *(f"input {each}: the model's own sample" for each in self.samples),
            f"ran {report.model} on {report.device}: {report.ep}, {nodes}",
        )


def once(model: Model, name: str, words: Mapping[str, str], stdin: bytes | None) -> Once:
    """Run ``model``, asked for as ``name``, on what ``words`` say of its inputs, and on its samples for the others.

    Raises:
        InvalidInput: an input is unknown, has neither words nor a sample, or its value cannot be taken.
        SessionError: ONNX Runtime refused.
    """
    known = {told.name: told for told in model.inputs}
    ready = f"try: {command(name, model.inputs, model.samples)}"
    for given in words:
        if given not in known:
            raise InvalidInput(f"{name} has no input `{given}`, only {_listed(known)}", hints=(ready,))
    samples = {each: sample for each, sample in model.samples.items() if each not in words}
    missing = [told for each, told in known.items() if each not in words and each not in samples]
    if missing:
        told = " and ".join(f"`{each.name}`, {each.told()}" for each in missing)
        raise InvalidInput(f"{name} comes with no sample: give its input {told}", hints=(ready,))
    values = {each: from_words(text, known[each], stdin) for each, text in words.items()}
    return Once(model.run(samples | values), model.report(), tuple(samples))


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
