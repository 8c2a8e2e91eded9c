"""Digests: how content is named."""

from __future__ import annotations

import re
from typing import Final, Self

from ..errors import InvalidName

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


class Digest(str):
    """``sha256:`` and 64 lower-case hexadecimal digits, the OCI specification's ``algorithm:encoded``."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the digest that ``text`` spells; raise ``InvalidName`` for any other form."""
        if not _DIGEST.fullmatch(text):
            raise InvalidName(f"`{text[:100]}` is not a digest: write sha256: and 64 lower-case hexadecimal digits")
        return cls(text)

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Return the digest of ``data``."""
        from hashlib import sha256

        return cls(f"sha256:{sha256(data).hexdigest()}")
