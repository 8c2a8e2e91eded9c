"""How a picture becomes a model's input: declared by the publisher as data, the same for every model."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

MAX_SIDE: Final = 8192
"""The largest side of a target, in pixels."""
MIN_SHRUNK: Final = 8
MAX_SHRUNK: Final = 512
"""The copy in which a crop looks, on its longer side, in pixels: time and memory grow with the square."""
MAX_MEDIAN: Final = 7
MAX_DILATE: Final = 16
"""How far a crop looks around each pixel of the copy: the same."""


class Crop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find what is drawn, and keep the box around it; whatever else lies on the paper becomes paper.

    In this order: shrink, flatten, median, threshold, drop, dilate. What is kept comes out of the shrunk copy; a
    picture on which nothing stands out from the grain of its paper is refused as empty.
    """

    shrink: int
    """Pixels of the copy's longer side; a picture that is smaller is not enlarged."""
    median: int = 1
    """Side of the square, in pixels of the copy, whose median each pixel becomes; odd, 1 changes nothing.

    Ink is looked for in these; what is kept are the pixels as they were before.
    """
    flatten: Literal["none", "plane"] = "none"
    """What is taken for the light on the paper, and subtracted.

    ``none``: the same all over, the median of the edge. ``plane``: falling off evenly, the plane through those pixels
    of the edge that agree with each other.
    """
    threshold: Literal["otsu"]
    """How ink is told from paper: ``otsu``, where the two classes differ most (N. Otsu, 1979)."""
    drop_below: float = 0.0
    """Connected pieces of ink (by side or corner) with less than this share of the largest one's pixels are specks."""
    dilate: int = 0
    """Pixels of the copy kept around each piece of ink, so that its soft edges stay; the rest becomes paper."""

    def __post_init__(self) -> None:
        """Refuse what finds nothing or has no bound; raise ``ValueError`` naming the field."""
        if not MIN_SHRUNK <= self.shrink <= MAX_SHRUNK:
            raise ValueError(f"shrink: {self.shrink} is not between {MIN_SHRUNK} and {MAX_SHRUNK} pixels")
        if not (1 <= self.median <= MAX_MEDIAN and self.median % 2):
            raise ValueError(f"median: {self.median} is not an odd number between 1 and {MAX_MEDIAN}")
        if not 0 <= self.drop_below <= 1:
            raise ValueError(f"drop_below: {self.drop_below} is not between 0 and 1")
        if not 0 <= self.dilate <= MAX_DILATE:
            raise ValueError(f"dilate: {self.dilate} is not between 0 and {MAX_DILATE} pixels")


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the pixels of a picture become one input, float32 of shape (1, 1, height, width).

    In this order: colour, crop, polarity with contrast, size with margin, centre, scale.
    """

    size: tuple[int, int]
    """Height and width of the target, in pixels."""
    color: Literal["gray"]
    """``gray``: the luma of ITU-R BT.601."""
    polarity: Literal["light-on-dark", "dark-on-light"]
    """Which way round the drawing must be.

    Paper and ink become the two ends of the range, whichever was the lighter. Without a crop, paper is the median of
    the picture's edge and ink the value farthest from that; with one, ink is the side that stands out farther from the
    flattened paper.
    """
    crop: Crop | None = None
    """Without one, the whole picture is taken."""
    margin: int = 0
    """Pixels of the target left free on each side; what is kept is scaled to fill the rest, its proportions kept."""
    center: Literal["box", "mass"] = "box"
    """What comes to lie in the target's middle: the middle of what is kept, or its centre of mass."""
    scale: float = 1.0
    """What the light end becomes; the dark end is 0."""

    def __post_init__(self) -> None:
        """Refuse a target that no picture can be given; raise ``ValueError`` naming the field."""
        if not all(1 <= side <= MAX_SIDE for side in self.size):
            raise ValueError(f"size: {list(self.size)} is not a height and a width between 1 and {MAX_SIDE} pixels")
        if not 0 <= 2 * self.margin < min(self.size):
            raise ValueError(f"margin: twice {self.margin} pixels leave nothing of {min(self.size)}")
        if not 0 < self.scale < float("inf"):
            raise ValueError(f"scale: {self.scale} is not a positive number")
