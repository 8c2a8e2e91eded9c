"""Crops: what is drawn is told from its paper, from specks, grain and uneven light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..catalog.values.picture import Crop

_FAINT: Final = 2 / 255
"""Ink that differs less from its paper than this is none: rounding to 8 bits does as much."""
_CLEAR: Final = 3.2
"""Ink must differ from its paper by so many of the paper's standard deviations.

The two sides of mere grain differ by 2 to 3, those of light that falls off towards the corners by 2.8; what is drawn
differs by more than 4, even on noisy paper, but for one in a hundred of the smallest pictures.
"""
_BINS: Final = 256


def cut(luma: NDArray[np.float32], crop: Crop) -> NDArray[np.float32] | None:
    """Return the box around what is drawn, or ``None`` where nothing is; 0 is paper, 1 the strength of the ink.

    ``luma`` is of shape (height, width), shrunk already; light ink and dark ink come out the same.
    """
    paper = _plane(luma) if crop.flatten == "plane" else np.median(_edge(luma))
    relief = luma - paper
    smooth = _median(relief, crop.median)
    # The drawing is the lesser part and stands far out; cubes weigh that, and grain's two sides cancel each other.
    side = 1 if (smooth.astype(np.float64) ** 3).sum() >= 0 else -1
    relief, smooth = side * relief, side * smooth
    threshold = _otsu(np.maximum(smooth, 0))
    drawn = smooth > threshold
    if not drawn.any() or drawn.all():
        return None
    clear = smooth[drawn].mean() - smooth[~drawn].mean()
    if clear < max(_FAINT, _CLEAR * smooth[~drawn].std()):
        return None
    drawn = _without_specks(drawn, crop.drop_below)
    around = _dilated(drawn, crop.dilate)
    ink = np.where(around, relief / np.median(smooth[drawn]), 0)
    # A soft edge reaches farther than the ink itself, and grain is weaker than half of the threshold.
    soft = drawn | (around & (smooth > threshold / 2))
    rows, columns = np.flatnonzero(soft.any(axis=1)), np.flatnonzero(soft.any(axis=0))
    box = np.clip(ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], 0, 1).astype(np.float32)
    return box if box.any() else None


def _edge(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([values[0], values[-1], values[1:-1, 0], values[1:-1, -1]])


def _plane(luma: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the plane through the edge of ``luma``, less what lies far off it, such as a stroke that leaves there."""
    rows, columns = (at.astype(np.float32) for at in np.indices(luma.shape))
    terms = np.stack([np.ones_like(luma), rows, columns], axis=-1)
    at, seen = np.stack([_edge(term) for term in np.moveaxis(terms, -1, 0)], axis=-1), _edge(luma)
    factors = np.linalg.lstsq(at, seen, rcond=None)[0]
    for _ in range(3):
        off = np.abs(seen - at @ factors)
        kept = off <= np.maximum(2 * np.median(off), 1 / 255)
        factors = np.linalg.lstsq(at[kept], seen[kept], rcond=None)[0]
    plane: NDArray[np.float32] = (terms @ factors).astype(np.float32)
    return plane


def _median(values: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    if side == 1:
        return values
    padded = np.pad(values, side // 2, mode="edge")
    squares = np.lib.stride_tricks.sliding_window_view(padded, (side, side)).reshape(*values.shape, side * side)
    middle = side * side // 2
    smooth: NDArray[np.float32] = np.partition(squares, middle, axis=-1)[..., middle]
    return smooth


def _otsu(values: NDArray[np.float32]) -> float:
    """Return the threshold with the greatest variance between what is above and what is not (N. Otsu, 1979)."""
    counts, edges = np.histogram(values, bins=_BINS, range=(0, max(float(values.max()), _FAINT)))
    below = np.cumsum(counts)[:-1]
    above = values.size - below
    sums = np.cumsum(counts * (edges[:-1] + edges[1:]) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = below * above * ((sums[-1] - sums[:-1]) / above - sums[:-1] / below) ** 2
    return float(edges[1 + np.argmax(np.nan_to_num(between))])


def _without_specks(drawn: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """Return ``drawn`` less its connected pieces of fewer than ``share`` of the largest one's pixels."""
    piece = pieces(drawn)
    sizes = np.bincount(piece[drawn], minlength=drawn.size)
    kept: NDArray[np.bool_] = drawn & (sizes[piece] >= share * sizes.max())
    return kept


def pieces(drawn: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each pixel a number that only the pixels of its connected piece share.

    Neighbours' trees are joined and flattened until none is left to join: even in a spiral, where a label spread pixel
    by pixel would go a long way, the rounds are few, for each joins trees all over the picture.
    """
    root = np.arange(drawn.size)
    at = root.reshape(drawn.shape)
    height, width = drawn.shape
    pairs: list[NDArray[np.intp]] = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        first = np.s_[: height - down, max(0, -right) : width - max(0, right)]
        second = np.s_[down:, max(0, right) : width + min(0, right)]
        both = drawn[first] & drawn[second]
        pairs.append(np.stack([at[first][both], at[second][both]]))
    ends = np.concatenate(pairs, axis=1)
    while ends.size:
        low, high = ends.min(axis=0), ends.max(axis=0)
        np.minimum.at(root, high, low)
        while not np.array_equal(flat := root[root], root):
            root = flat
        ends = root[ends]
        ends = ends[:, ends[0] != ends[1]]
    return root.reshape(drawn.shape)


def _dilated(drawn: NDArray[np.bool_], pixels: int) -> NDArray[np.bool_]:
    """Return ``drawn`` and whatever lies up to ``pixels`` from it along either axis."""
    if not pixels:
        return drawn
    padded: NDArray[np.bool_] = np.pad(drawn, pixels)
    for axis in (0, 1):
        reach = np.lib.stride_tricks.sliding_window_view(padded, 2 * pixels + 1, axis=axis)
        padded = np.any(reach, axis=-1)
    return padded
