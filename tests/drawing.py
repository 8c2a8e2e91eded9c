"""Digits drawn as pictures such as people have: of any size, on clean paper or on paper that has seen use."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray


def draw(
    shape: NDArray[np.uint8],
    side: int,
    *,
    light_on_dark: bool,
    part: float = 0.9,
    corner: tuple[float, float] = (0.5, 0.5),
) -> NDArray[np.uint8]:
    """Return a page of ``side`` x ``side`` pixels with ``shape``, 0 (paper) to 255 (ink), on a ``part`` of each side.

    ``corner`` says where, from (0, 0), the upper left, to (1, 1).
    """
    # A rim of paper, so that a stroke at the edge of the shape ends as strokes do.
    rimmed = Image.fromarray(np.pad(shape, 1).astype(np.float32))
    scaled = round(side * part)
    drawn = np.clip(np.asarray(rimmed.resize((scaled, scaled), Image.Resampling.BICUBIC)), 0, 255)
    page = np.zeros((side, side), np.float32)
    left, top = (round(share * (side - scaled)) for share in corner)
    page[top : top + scaled, left : left + scaled] = drawn
    return (page if light_on_dark else 255 - page).astype(np.uint8)


def worn(page: NDArray[np.uint8], chance: np.random.Generator) -> NDArray[np.uint8]:
    """Return ``page`` with less contrast, under uneven light, grainy, with specks.

    Of the full range, ink and paper stay 0.45 to 1 apart. The light falls off by up to 0.3 from one side to the other,
    and by up to 0.1 towards the corners; grain has a standard deviation of 0.02 to 0.06; 3 to 15 specks, light or dark,
    are up to a thirtieth of the page wide.
    """
    height, width = map(int, page.shape)
    contrast = chance.uniform(0.45, 1)
    luma: NDArray[np.float64] = page / 255 * contrast + chance.uniform(0, 1 - contrast)
    down, right = np.mgrid[-1 : 1 : 1j * height, -1 : 1 : 1j * width]
    angle = chance.uniform(0, 2 * np.pi)
    slope = (np.cos(angle) * right + np.sin(angle) * down) / (abs(np.cos(angle)) + abs(np.sin(angle)))
    luma -= chance.uniform(0, 0.3) * (slope + 1) / 2 * chance.choice((1, -1))
    luma -= chance.uniform(0, 0.1) * (down**2 + right**2) / 2
    for _ in range(chance.integers(3, 16)):
        reach = max(1, round(chance.uniform(0, height / 60)))
        top, left = chance.integers(height), chance.integers(width)
        luma[top : top + reach, left : left + reach] += chance.choice((-1, 1)) * contrast
    luma += chance.normal(scale=chance.uniform(0.02, 0.06), size=luma.shape)
    return np.clip(luma * 255, 0, 255).astype(np.uint8)


def png(page: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(page).save(file, "PNG", optimize=True)
    return file.getvalue()
