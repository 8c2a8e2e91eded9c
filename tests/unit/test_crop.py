"""Crops: what is drawn is found on paper that has seen use; hostile pictures cost no more than others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from inferry.catalog.errors import InvalidInput
from inferry.catalog.values.picture import Crop, Picture
from inferry.runtime.crop import cut, pieces
from inferry.runtime.picture import read
from inferry.tests.drawing import draw, worn

if TYPE_CHECKING:
    from collections.abc import Callable

Page = NDArray[np.uint8]
Luma = NDArray[np.float64]

CROP = Crop(shrink=112, median=3, flatten="plane", threshold="otsu", drop_below=0.06, dilate=2)
PICTURE = Picture(size=(28, 28), color="gray", polarity="light-on-dark", crop=CROP, margin=4, center="mass")


def hook() -> Page:
    """A shape that no turn or mirror leaves as it is: a seven with a foot."""
    shape = np.zeros((40, 40), np.uint8)
    shape[4:10, 8:32] = shape[4:36, 26:32] = shape[31:36, 18:32] = 255
    return shape


def tensor(page: Page, crop: Crop = CROP) -> NDArray[np.float32]:
    picture = Picture(size=(28, 28), color="gray", polarity="light-on-dark", crop=crop, margin=4, center="mass")
    one: NDArray[np.float32] = read(page, picture, what="it")[0, 0]
    return one


def alike(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return how much of both the two share, 0 to 1, where one may lie a pixel beside the other."""
    moved = [np.roll(one, (down, right), (0, 1)) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return max(float(np.minimum(here, other).sum() / np.maximum(here, other).sum()) for here in moved)


WANTED = tensor(draw(hook(), 112, light_on_dark=True))


@pytest.mark.parametrize("side", [28, 40, 90, 112, 250, 400])
@pytest.mark.parametrize("way", ["dark on light", "light on dark"])
def test_worn_paper_is_read_as_clean_paper_is(side: int, way: str) -> None:
    page = draw(hook(), side, light_on_dark=way == "light on dark", corner=(0.2, 0.9), part=0.8)
    assert alike(tensor(page), WANTED) > (0.7 if side < 60 else 0.9)
    least = 0.6 if side < 60 else 0.85
    for seed in range(8):
        assert alike(tensor(worn(page, np.random.default_rng((side, seed)))), WANTED) > least, seed


def test_the_smallest_pictures() -> None:
    for light_on_dark in (False, True):
        assert alike(tensor(draw(hook(), 20, light_on_dark=light_on_dark)), WANTED) > 0.7


def speckled() -> Page:
    page = draw(hook(), 112, light_on_dark=False, part=0.5)
    for top, left in ((3, 3), (3, 105), (100, 50), (55, 8), (90, 104)):
        page[top : top + 4, left : left + 4] = 0
    return page


def test_specks_are_dropped_where_that_is_declared() -> None:
    clean = tensor(draw(hook(), 112, light_on_dark=False, part=0.5))
    np.testing.assert_allclose(tensor(speckled()), clean, atol=1e-3)
    kept = Crop(shrink=112, median=3, flatten="plane", threshold="otsu", dilate=2)
    assert alike(tensor(speckled(), kept), clean) < 0.5


def test_what_lies_off_the_ink_becomes_paper() -> None:
    """A speck within the box around the drawing does not get in, a soft edge does."""
    page = draw(hook(), 112, light_on_dark=False)
    clean = tensor(page)
    page[64:69, 40:45] = 60
    np.testing.assert_allclose(tensor(page), clean, atol=1e-3)
    soft = np.asarray(Image.fromarray(draw(hook(), 30, light_on_dark=False)).resize((110, 110)))
    hard = Crop(shrink=112, median=3, flatten="plane", threshold="otsu", drop_below=0.06)
    box, hard_box = (cut((soft / 255).astype(np.float32), crop) for crop in (CROP, hard))
    assert box is not None
    assert hard_box is not None
    assert ((box > 0) & (box < 0.5)).sum() > 2 * ((hard_box > 0) & (hard_box < 0.5)).sum()
    assert box.shape > hard_box.shape


def test_uneven_light_is_subtracted_where_that_is_declared() -> None:
    page = draw(hook(), 112, light_on_dark=False, part=0.6) // 3
    slope = (np.add.outer(np.arange(112), np.arange(112)) * 3 // 4).astype(np.uint8)
    assert alike(tensor(page + slope), WANTED) > 0.9
    even = Crop(shrink=112, median=3, threshold="otsu", drop_below=0.06, dilate=2)
    with pytest.raises(InvalidInput, match="is empty"):
        tensor(page + slope, even)


def test_a_stroke_that_leaves_the_page_is_no_light() -> None:
    page = np.full((100, 100), 220, np.uint8)
    page[:60, 40:52] = 30
    box = cut((page / 255).astype(np.float32), CROP)
    assert box is not None
    assert box.shape == (60, 12)
    assert box[2:-2, 2:-2].min() == 1


EMPTY: dict[str, Callable[[np.random.Generator, Luma, Luma], Luma]] = {
    "one colour": lambda _, down, right: np.full((down * right).shape, 0.7),
    "a slope": lambda _, down, right: 0.5 + 0.3 * down - 0.1 * right,
    "grain": lambda chance, down, _: 0.6 + chance.normal(scale=0.05, size=down.shape),
    "grain on a slope": lambda chance, down, right: 0.6 + 0.2 * right + chance.normal(scale=0.03, size=down.shape),
    "strong grain": lambda chance, down, _: chance.uniform(size=down.shape),
    "dark corners": lambda chance, down, right: (
        0.8 - 0.1 * (down**2 + right**2) + chance.normal(scale=0.02, size=down.shape)
    ),
}


@pytest.mark.parametrize("side", [20, 60, 150])
@pytest.mark.parametrize("kind", EMPTY)
def test_paper_with_nothing_on_it_is_empty(kind: str, side: int) -> None:
    down, right = np.mgrid[-1 : 1 : 1j * side, -1 : 1 : 1j * side]
    for seed in range(5):
        luma = EMPTY[kind](np.random.default_rng(seed), down, right)
        with pytest.raises(InvalidInput, match="input `image` is empty: nothing stands out"):
            read(np.clip(luma * 255, 0, 255).astype(np.uint8), PICTURE, what="input `image`")


def test_no_shape_of_picture_breaks_it() -> None:
    """Down to one pixel, and as thin as can be: a tensor, or the word that nothing is drawn."""
    chance = np.random.default_rng(0)
    read_well = 0
    for height in (1, 2, 3, 5, 300):
        for width in (1, 2, 3, 5, 300):
            for levels in (2, 256):
                page = (chance.integers(levels, size=(height, width)) * (255 // (levels - 1))).astype(np.uint8)
                try:
                    told = tensor(page)
                except InvalidInput as error:
                    assert "is empty" in error.message  # noqa: PT017 - the other outcome is fine too
                else:
                    assert np.isfinite(told).all()
                    assert 0 < told.max() <= 1
                    read_well += 1
    assert read_well


def spiral(side: int) -> NDArray[np.bool_]:
    """One line of a pixel's width, wound up with a pixel between its turns."""
    drawn = np.zeros((side, side), bool)
    for turn in range(0, side // 2, 2):
        first, last = turn, side - 1 - turn
        drawn[first, max(first - 2, 0) : last + 1] = drawn[first : last + 1, last] = True
        drawn[last, first : last + 1] = drawn[first + 2 : last + 1, first] = True
    return drawn


def naive(drawn: NDArray[np.bool_]) -> list[set[tuple[int, int]]]:
    left = {(int(row), int(column)) for row, column in np.argwhere(drawn)}
    found: list[set[tuple[int, int]]] = []
    while left:
        piece: set[tuple[int, int]] = set()
        edge = [left.pop()]
        while edge:
            row, column = edge.pop()
            piece.add((row, column))
            near = {(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)} & left
            left -= near
            edge += near
        found.append(piece)
    return found


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4, 0.5, 0.9])
def test_pieces_are_what_is_connected(share: float) -> None:
    drawn = np.random.default_rng(0).random((40, 60)) < share
    label = pieces(drawn)
    wanted = naive(drawn)
    assert len(np.unique(label[drawn])) == len(wanted)
    for piece in wanted:
        assert len({int(label[at]) for at in piece}) == 1


def test_hostile_pictures_take_no_longer() -> None:
    """A checkerboard, grain at which pieces just connect, a spiral, a comb: bounded work, wherever a label must go."""
    board = np.indices((512, 512)).sum(axis=0) % 2 == 1
    grain = np.random.default_rng(0).random((512, 512)) < 0.41
    comb = np.ones((512, 512), bool)
    comb[:-1, 1::2] = False
    for drawn, count in ((board, 1), (grain, None), (spiral(511), 1), (comb, 1)):
        start = time.perf_counter()
        label = pieces(drawn)
        # Of the largest copy that may be declared; some 0.05 s each where this was written.
        assert time.perf_counter() - start < 10
        assert count in (None, len(np.unique(label[drawn])))
