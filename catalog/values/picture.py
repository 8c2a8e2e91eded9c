"""How a picture becomes a model's input: declared by the publisher as data, the same for every model."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

MAX_SIDE: Final = 8192
"""The largest side of a target, in pixels."""


class Crop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keep the box around what is drawn on the background."""

    threshold: float
    """What stands out from the background by more than this share (0 to 1) of the strongest difference is drawn."""

    def __post_init__(self) -> None:
        """Refuse a share that no pixel or every pixel exceeds; raise ``ValueError`` naming the field."""
        if not 0 < self.threshold < 1:
            raise ValueError(f"threshold: {self.threshold} is not between 0 and 1")


class Picture(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the pixels of a picture become one input, float32 of shape (1, 1, height, width).

    In this order: colour, polarity with contrast, crop, size with margin, centre, scale.
    """

    size: tuple[int, int]
    """Height and width of the target, in pixels."""
    color: Literal["gray"]
    """``gray``: the luma of ITU-R BT.601."""
    polarity: Literal["light-on-dark", "dark-on-light"]
    """Which way round the drawing must be.

    The median of the picture's edge is its background, the value farthest from that is its ink; these become the two
    ends of the range, whichever was the lighter.
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
