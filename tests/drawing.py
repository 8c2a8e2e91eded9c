"""Digits of 8 x 8 values, drawn as pictures such as people have."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence


def draw(
    values: Sequence[int],
    side: int,
    *,
    light_on_dark: bool,
    scaler: Image.Resampling = Image.Resampling.BICUBIC,
    corner: tuple[float, float] = (0.5, 0.5),
) -> bytes:
    """Return a PNG of ``side`` x ``side`` pixels with one digit, 64 values from 0 to 16, on nine tenths of each side.

    ``corner`` says where, from (0, 0), the upper left, to (1, 1).
    """
    # A rim of paper, so that a stroke at the edge of the 8 x 8 values ends as strokes do.
    rimmed = np.pad(np.asarray(values, np.float32).reshape(8, 8) * np.float32(255 / 16), 1)
    part = side * 9 // 10
    drawn = np.clip(np.asarray(Image.fromarray(rimmed).resize((part, part), scaler)), 0, 255)
    page = np.zeros((side, side), np.float32)
    left, top = (round(share * (side - part)) for share in corner)
    page[top : top + part, left : left + part] = drawn
    picture = io.BytesIO()
    Image.fromarray((page if light_on_dark else 255 - page).astype(np.uint8)).save(picture, "PNG", optimize=True)
    return picture.getvalue()
