"""Sizes: numbers of bytes as people write them."""

from __future__ import annotations

import re
from typing import Final

from ..errors import UsageError

_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?(?:([kmgt])(i?))?b?", re.IGNORECASE | re.ASCII)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Return the bytes that ``text`` says: ``2GB`` and ``2G`` are 2 * 1000 ** 3, ``1GiB`` is 1024 ** 3, ``512`` is 512.

    Raises:
        UsageError: it is no size.
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise UsageError(
            f"`{text[:100]}` is no size", hints=("write a number and a unit: 500MB, 2GB, 1.5TB, or 1GiB of 1024 MiB",)
        )
    number, unit, binary = found.groups()
    power = _POWERS[(unit or "").lower()]
    return round(float(number) * float(1024 if binary else 1000) ** power)
