"""The built-in model reads pictures of digits that it has not seen, by the command line."""

from __future__ import annotations

import base64
import json
import math
import zlib
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import inferry
from inferry.cli import inferry as group
from inferry.tests.drawing import draw, png, worn

HELD_OUT = json.loads((Path(__file__).parents[1] / "assets/digits.json").read_text(encoding="utf-8"))


def shape(digit: dict[str, str]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    pixels = np.frombuffer(zlib.decompress(base64.b64decode(digit["pixels"])), np.uint8)
    return pixels.reshape(2 * (math.isqrt(pixels.size),))


def side(place: int) -> int:
    """Return 20 to 400 pixels; 37 and 100 share no factor, so that each set gets small and large pictures."""
    return 20 + 380 * (37 * place % 100) // 99


def test_a_hundred_are_held_out_by_rule() -> None:
    """The first five of each digit that are held out of each handwritten set."""
    told = [(digit["from"], digit["label"]) for digit in HELD_OUT]
    assert told == [(name, str(label)) for name in ("scikit-learn", "MNIST") for label in range(10) for _ in range(5)]


def test_it_reads_clean_pictures_of_any_size(tmp_path: Path) -> None:
    """From 20 to 400 pixels, every other one light on dark."""
    assert {20, 400} <= {side(place) for place in range(100)}
    wrong: list[tuple[int, str, str]] = []
    for place, digit in enumerate(HELD_OUT):
        file = tmp_path / f"{place}.png"
        file.write_bytes(png(draw(shape(digit), side(place), light_on_dark=place % 2 == 1)))
        told = CliRunner().invoke(group, ["run", "inferry/digits", "--input", f"image={file}"])
        assert told.exit_code == 0, told.output
        if told.stdout.split()[0] != digit["label"]:
            wrong.append((place, digit["label"], told.stdout))
    assert len(wrong) <= 5, wrong


def test_it_reads_them_on_paper_that_has_seen_use() -> None:
    """The same pictures with less contrast, under uneven light, grainy, with specks."""
    wrong: list[tuple[int, str, str]] = []
    with inferry.load("inferry/digits") as model:
        for place, digit in enumerate(HELD_OUT):
            page = draw(shape(digit), side(place), light_on_dark=place % 2 == 0)
            told = model.run({"image": png(worn(page, np.random.default_rng(place)))}).labels()[0].label
            if told != digit["label"]:
                wrong.append((place, digit["label"], told))
    assert len(wrong) <= 10, wrong
