"""The one door of Pillow: a picture becomes an input as the model declares."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..catalog.errors import InvalidInput, LibraryMissing
from .arrays import is_array
from .crop import cut

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image as PillowImage

    from ..catalog.values.picture import Picture

MAX_PIXELS: Final = 2**26
"""The largest picture that is decoded, in pixels; a small file can claim any size."""
_WHITE: Final = 255
_DEEP_WHITE: Final = 65535


def read(value: Any, picture: Picture, *, what: str) -> NDArray[np.float32]:  # noqa: ANN401 - Pillow may be missing
    """Return a picture as ``picture`` declares it: float32 of shape (1, 1, height, width).

    ``value`` is the bytes of a picture file, uint8 pixels of shape (height, width[, channels]), or a Pillow image.
    The first frame of an animation is taken; Exif's orientation, palettes and 16-bit gray are resolved; what is
    transparent lies on white, or on black where the rest is light. ``what`` is what errors call the picture.

    Raises:
        InvalidInput: it is no picture, damaged, empty or too large.
        LibraryMissing: Pillow is not installed.
    """
    try:
        from PIL import UnidentifiedImageError
    except ImportError as error:
        raise LibraryMissing(
            f"{what} is a picture, and Pillow, which reads pictures, is not installed",
            hints=('pip install "inferry[image]"',),
        ) from error
    try:
        luma = _luma(_upright(value, what))
        ink = cut(_shrunk(luma, picture.crop.shrink), picture.crop) if picture.crop else _ink(luma)
    except InvalidInput:
        raise
    except UnidentifiedImageError as error:
        raise InvalidInput(f"{what} is no picture that can be read", hints=("give a PNG or JPEG file",)) from error
    except Exception as error:  # a damaged file makes Pillow's plugins raise anything, struct.error and KeyError too
        raise InvalidInput(f"{what} cannot be read as a picture: {error}") from error
    if ink is None:
        raise InvalidInput(
            f"{what} is empty: nothing stands out from its background",
            hints=("give a picture with something drawn on it",),
        )
    target = _place(ink, picture)
    if picture.polarity == "dark-on-light":
        target = 1 - target
    return np.ascontiguousarray(target[np.newaxis, np.newaxis] * np.float32(picture.scale))


def _upright(value: Any, what: str) -> PillowImage:  # noqa: ANN401 - as above
    """Return the picture decoded, and turned as it is meant to be looked at."""
    from PIL import Image, ImageOps

    if isinstance(value, bytes):
        value = Image.open(io.BytesIO(value))
    elif is_array(value):
        value = Image.fromarray(np.ascontiguousarray(value))
    image: PillowImage = value
    if not 0 < image.width * image.height <= MAX_PIXELS:
        raise InvalidInput(f"{what} has {image.width} x {image.height} pixels; what is taken is 1 to {MAX_PIXELS}")
    return ImageOps.exif_transpose(image)


def _luma(image: PillowImage) -> NDArray[np.float32]:
    """Return the luma from 0 (black) to 1 (white), of shape (height, width)."""
    from PIL import Image

    if image.mode.startswith("I"):
        luma: NDArray[np.float32] = np.asarray(image, np.float32) / np.float32(_DEEP_WHITE)
        return luma.clip(0, 1)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        opacity = np.asarray(image.getchannel("A"), np.float32)
        drawn = np.asarray(image.convert("L"), np.float32)
        light = bool(2 * (drawn * opacity).sum() > _WHITE * opacity.sum())
        ground = Image.new("RGBA", image.size, "black" if light else "white")
        image = Image.alpha_composite(ground, image)
    return np.asarray(image.convert("L"), np.float32) / np.float32(_WHITE)


def _shrunk(luma: NDArray[np.float32], longest: int) -> NDArray[np.float32]:
    """Return ``luma`` with at most ``longest`` pixels on a side, its proportions kept as far as whole pixels do."""
    from PIL import Image

    height, width = luma.shape
    if max(height, width) <= longest:
        return luma
    factor = longest / max(height, width)
    scaled = max(1, round(width * factor)), max(1, round(height * factor))
    # A first, coarse step by whole pixels makes large pictures several times faster.
    small: NDArray[np.float32] = np.asarray(
        Image.fromarray(luma).resize(scaled, Image.Resampling.BILINEAR, reducing_gap=2.0)
    )
    return small


def _ink(luma: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Return how far each pixel stands out from the background: 0 there, 1 at the strongest, lighter or darker."""
    background = np.median(np.concatenate([luma[0], luma[-1], luma[:, 0], luma[:, -1]]))
    above, below = float(luma.max() - background), float(background - luma.min())
    strongest = max(above, below)
    if strongest < 1 / _WHITE:
        return None
    away = luma - background if above > below else background - luma
    ink: NDArray[np.float32] = np.clip(away / strongest, 0, 1).astype(np.float32)
    return ink


def _place(ink: NDArray[np.float32], picture: Picture) -> NDArray[np.float32]:
    """Scale what is kept into the target less its margin, and move its centre to the target's middle."""
    from PIL import Image

    height, width = picture.size
    factor = min((height - 2 * picture.margin) / ink.shape[0], (width - 2 * picture.margin) / ink.shape[1])
    scaled = max(1, round(ink.shape[1] * factor)), max(1, round(ink.shape[0] * factor))
    small = np.asarray(Image.fromarray(ink).resize(scaled, Image.Resampling.BILINEAR))
    center = [(side - 1) / 2 for side in small.shape]
    if picture.center == "mass":
        center = [float(np.average(at, weights=small)) for at in np.indices(small.shape)]
    target = np.zeros((height, width), np.float32)
    top, left = (
        min(max(round((side - 1) / 2 - middle), 0), side - length)
        for side, middle, length in zip((height, width), center, small.shape, strict=True)
    )
    target[top : top + small.shape[0], left : left + small.shape[1]] = small
    return target
