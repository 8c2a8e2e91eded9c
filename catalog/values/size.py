"""Sizes: numbers of bytes, as people write them."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final, Self

from ..errors import UsageError

UNITS: Final = {
    **{name: 1000**power for power, name in enumerate(("B", "kB", "MB", "GB", "TB"))},
    **{name: 1024**power for power, name in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)},
}
"""Each unit, in bytes."""
_LARGEST: Final = 2**63 - 1
_BY_NAME: Final = {
    short: count for name, count in UNITS.items() for short in (name.lower(), name.lower().removesuffix("b")) if short
}
_FORM: Final = re.compile(r"(\d{1,30}(?:\.\d{1,30})?) ?([A-Za-z]*)", re.ASCII)


class Size(int):
    """A number of bytes, from 0 to 2**63 - 1; as a text it is written in the largest unit that says it in full."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the size that ``text`` spells: ``2GB``, ``500 MB``, ``1.5 GiB``, or bytes without a unit.

        Raises:
            UsageError: it spells none; units are taken in any case.
        """
        form = _FORM.fullmatch(text.strip())
        unit = _BY_NAME.get(form[2].lower() or "b") if form else None
        if form is None or unit is None:
            raise UsageError(f"`{text[:100]}` is no size", hints=("write 2GB, 500 MB, 1GiB, or a number of bytes",))
        count = int(Decimal(form[1]) * unit)
        if count > _LARGEST:
            raise UsageError(f"`{text[:100]}` is more than any file holds")
        return cls(count)

    def __str__(self) -> str:
        count = int(self)
        largest, unit = max((bytes_, name) for name, bytes_ in UNITS.items() if count % bytes_ == 0)
        return f"{count // largest}{unit}" if count and largest > 1 else str(count)
