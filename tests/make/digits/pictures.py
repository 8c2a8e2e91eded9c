"""Shapes become pictures such as people have, and those become tensors as the program makes them."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageFilter

from inferry.catalog.errors import InvalidInput
from inferry.catalog.manifest import read_manifest
from inferry.runtime.picture import read
from inferry.tests.drawing import draw, worn

if TYPE_CHECKING:
    from inferry.tests.make.digits.data import Shapes

MANIFEST = Path(__file__).resolve().parents[3] / "index/builtin/inferry/digits/manifest.toml"
PICTURE = read_manifest(MANIFEST.read_text(encoding="utf-8"), where=str(MANIFEST)).inputs[0].picture
SCALERS = (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
CANVAS = 64  # pixels of a side on which a shape is turned and thickened


def bent(shape: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """Return ``shape`` turned, slanted, stretched, and drawn with a thinner or a thicker pen."""
    inner = CANVAS * 3 // 4
    scaler = SCALERS[chance.integers(1 if len(shape) < CANVAS else 0, 3)]
    image = Image.new("L", (CANVAS, CANVAS))
    image.paste(Image.fromarray(shape).resize((inner, inner), scaler), 2 * ((CANVAS - inner) // 2,))
    pen = chance.uniform()
    if pen < 0.15:
        image = image.filter(ImageFilter.MaxFilter(3))
    elif pen < 0.3 and np.asarray(image).mean() > 255 * 0.12:  # thin strokes would break
        image = image.filter(ImageFilter.MinFilter(3))
    angle, slant = np.radians(chance.uniform(-15, 15)), chance.uniform(-0.25, 0.25)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    # What a pixel of the page is of the shape: more than 1 is narrower, as condensed and hand-drawn faces are.
    across = chance.uniform(1, 2) if chance.uniform() < 0.3 else chance.uniform(0.85, 1.15)
    matrix = turn @ np.array([[1, slant], [0, 1]]) @ np.diag((across, chance.uniform(0.85, 1.15)))
    middle = np.full(2, (CANVAS - 1) / 2)
    offset = middle - matrix @ middle
    affine = (*matrix[0], offset[0], *matrix[1], offset[1])
    return np.asarray(image.transform(image.size, Image.Transform.AFFINE, affine, Image.Resampling.BICUBIC))


def picture(shape: np.ndarray, chance: np.random.Generator, *, noisy: bool, varied: bool) -> np.ndarray:
    """Return one picture of ``shape``: of 20 to 400 pixels, either way round, anywhere on the page."""
    side = int(np.exp(chance.uniform(np.log(20), np.log(400))))
    if varied:
        shape = bent(shape, chance)
    part = max(chance.uniform(0.6, 0.95), min(0.95, 18 / side))
    page = draw(
        shape,
        side,
        light_on_dark=bool(chance.integers(2)),
        part=part,
        corner=tuple(chance.uniform(size=2)),
    )
    return worn(page, chance) if noisy else page


def _tensor(job: tuple[np.ndarray, tuple[int, ...], bool, bool]) -> np.ndarray | None:
    shape, seed, noisy, varied = job
    page = picture(shape, np.random.default_rng(seed), noisy=noisy, varied=varied)
    try:
        return read(page, PICTURE, what="picture")
    except InvalidInput:
        return None


def tensors(shapes: Shapes, times: int, *, noisy: float, varied: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw each shape so many times, a share of them noisy, and read the pictures as the program does.

    A picture that the program takes for empty becomes zeros: it counts as one that was read wrong.
    """
    order = np.random.default_rng(seed).uniform(size=len(shapes.pixels) * times) < noisy
    jobs = [(shapes.pixels[index // times], (seed, index), bool(worse), varied) for index, worse in enumerate(order)]
    with ProcessPoolExecutor() as pool:
        read_all = list(pool.map(_tensor, jobs, chunksize=64))
    images = [np.zeros((1, 1, *PICTURE.size), np.float32) if image is None else image for image in read_all]
    return np.concatenate(images), np.repeat(shapes.labels, times)
