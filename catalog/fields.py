"""Fields: where a document is wrong, from what msgspec says of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import msgspec


def wrong(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the path of the field that is wrong, such as ``variants[0].artifact.digest``, and what is wrong."""
    message, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    # A value's own check names its field first, as in "margin: twice …".
    if named := re.match(r"([a-z_]+): ", message):
        return f"{field}.{named[1]}".lstrip("."), message[named.end() :]
    if named := re.search(r"(?:required|unknown) field `(\w+)`", message):
        field = f"{field}.{named[1]}".lstrip(".")
    return field, message
