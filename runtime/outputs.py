"""What a run returns: arrays by name, and the labels that the model declares for them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..catalog.errors import MachineError
from .arrays import dtype, encode, is_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..catalog.values.model import Output


WORTH_TELLING: Final = 0.01
"""The least score that is told of a label, other than the best."""


class Label(NamedTuple):
    """One label and its score."""

    label: str
    score: float


class Outputs(dict[str, "NDArray[Any]"]):
    """The arrays that the model computed, by the names that it gives them."""

    def __init__(self, arrays: dict[str, NDArray[Any]], declared: Iterable[Output]) -> None:
        """Keep what the release declares of each output beside its array."""
        super().__init__(arrays)
        self._declared = {told.name: told for told in declared if told.labels and told.name in arrays}

    def labels(self, name: str | None = None) -> list[Label]:
        """Return the labels of the output ``name``, best first; without a name, of the first that has some.

        Their scores are the values along the last axis, through ``softmax`` where the release declares it; of a batch,
        the first item's. Empty where no labels are declared.
        """
        declared = self._declared.get(name) if name else next(iter(self._declared.values()), None)
        if declared is None:
            return []
        values = np.asarray(self[declared.name], np.float64)
        row = values.reshape(-1, values.shape[-1])[0]
        if declared.scores == "softmax":
            row = np.exp(row - row.max())
            row /= row.sum()
        ranked = sorted(zip(declared.labels, row.tolist(), strict=False), key=lambda pair: -pair[1])
        return [Label(label, score) for label, score in ranked]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all outputs into a file: ``.npz`` or ``.json``, or ``.npy`` where there is only one.

        An earlier file is replaced as a whole, or left as it is.

        Raises:
            UsageError: the suffix is another, or such a file cannot hold them.
            MachineError: the file cannot be written.
        """
        file = Path(path)
        data, partial = encode(self, file.suffix.lower()), file.with_name(f".{file.name}.{os.getpid()}")
        try:
            partial.write_bytes(data)
            partial.replace(file)
        except OSError as error:
            raise MachineError(f"{file} cannot be written: {error.strerror or error}") from error
        finally:
            with suppress(OSError):
                partial.unlink()

    def told(self) -> list[str]:
        """Return lines for a person: an output's best labels with their scores, or its dtype, shape and values."""
        lines: list[str] = []
        value: Any
        for name, value in self.items():
            found = self.labels(name)
            shown = [best for best in found[:5] if best.score >= WORTH_TELLING] or found[:1]
            lines += [f"{best.label}  {best.score:.1%}" for best in shown]
            if not is_array(value):  # a sequence or a map
                lines.append(f"{name}: {str(value)[:500]}")
            elif not found:
                values = np.array2string(value, threshold=10, precision=6)
                lines.append(f"{name}: {dtype(value)} {list(value.shape)} {values}")
        return lines
