"""What a run returns: arrays by name, and the labels that the model declares for them."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..index.blobs import write_whole
from .arrays import dtype, encode, is_array

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ..catalog.values.model import Output


WORTH_TELLING: Final = 0.01
"""The least score that is told of a label, other than the best."""


MOST_TOLD: Final = 20
"""Of how many items of a batch a label is told."""


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

    def labels(self, name: str | None = None, *, item: int = 0) -> list[Label]:
        """Return the labels of the output ``name``, best first, NaN last; without a name, of the first that has some.

        Their scores are the values along the last axis, through ``softmax`` where the release declares it; ``item``
        says whose, where there are several, as in a batch. Empty where no labels are declared.
        """
        declared = self._declared.get(name) if name else next(iter(self._declared.values()), None)
        if declared is None:
            return []
        values = np.asarray(self[declared.name], np.float64)
        row = values.reshape(-1, values.shape[-1])[item]
        if declared.scores == "softmax":
            row = np.exp(row - row.max())
            row /= row.sum()
        ranked = sorted(zip(declared.labels, row.tolist(), strict=False), key=lambda pair: (isnan(pair[1]), -pair[1]))
        return [Label(label, score) for label, score in ranked]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all outputs into a file: ``.npz`` or ``.json``, or ``.npy`` where there is only one.

        An earlier file is replaced as a whole, or left as it is.

        Raises:
            UsageError: the suffix is another, or such a file cannot hold them.
            MachineError: the file cannot be written.
        """
        file = Path(path)
        write_whole(file, encode(self, file.suffix.lower()))

    def told(self) -> list[str]:
        """Return lines for a person: an output's best labels with their scores, or its dtype, shape and values."""
        lines: list[str] = []
        value: Any
        for name, value in self.items():
            if name in self._declared:
                lines += self._told_labels(name)
            elif is_array(value):
                values = np.array2string(value, threshold=10, precision=6)
                lines.append(f"{name}: {dtype(value)} {list(value.shape)} {values}")
            else:  # a sequence or a map
                lines.append(f"{name}: {str(value)[:500]}")
        return lines

    def _told_labels(self, name: str) -> list[str]:
        """Return the best labels of a single item, or the best one of each of several."""
        items = self[name].size // max(1, self[name].shape[-1])
        if items == 1:
            ranked = self.labels(name)
            shown = [best for best in ranked[:5] if best.score >= WORTH_TELLING] or ranked[:1]
            return [f"{best.label}  {best.score:.1%}" for best in shown]
        first = [self.labels(name, item=item)[0] for item in range(min(items, MOST_TOLD))]
        lines = [f"{item}: {best.label}  {best.score:.1%}" for item, best in enumerate(first)]
        return lines if items <= MOST_TOLD else [*lines, f"… {items - MOST_TOLD} more"]
