"""Mending: a large file that came damaged is fetched anew in the pieces that are wrong, and in no others."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from ..catalog.values.document import PIECE_BYTES
from .files import explained

if TYPE_CHECKING:
    from io import BufferedRandom
    from pathlib import Path

    from ..catalog.values.document import PieceList
    from .partial import Fetch


def mend(partial: Path, fetch: Fetch, listed: PieceList) -> bool:
    """Write the wrong pieces of a whole file anew, as ``fetch`` gives them; return whether all are right then.

    Where more than half of them are wrong it is another file, and nothing is fetched. Raises what ``fetch`` raises, and
    ``MachineError`` where the file cannot be read or written.
    """
    with explained(partial, done="written"):
        file = partial.open("r+b")
    with file:
        wrong = [place for place, digest in enumerate(listed.sha256) if _digest(file, partial, place) != digest]
        if 2 * len(wrong) > len(listed.sha256):
            return False
        for place in wrong:
            data = _piece(fetch, place * PIECE_BYTES)
            if sha256(data).hexdigest() != listed.sha256[place]:
                return False
            with explained(partial, done="written"):
                file.seek(place * PIECE_BYTES)
                file.write(data)
                file.flush()
    return True


def _digest(file: BufferedRandom, path: Path, place: int) -> str:
    with explained(path, done="read"):
        file.seek(place * PIECE_BYTES)
        return sha256(file.read(PIECE_BYTES)).hexdigest()


def _piece(fetch: Fetch, start: int) -> bytes:
    """Return what comes from ``start`` on, up to one piece of it."""
    data = bytearray()
    chunks = iter(fetch(start))
    for chunk in chunks:
        data += chunk
        if len(data) >= PIECE_BYTES:
            break
    if callable(close := getattr(chunks, "close", None)):
        close()
    return bytes(data[:PIECE_BYTES])
