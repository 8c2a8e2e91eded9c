"""The release's files, and the manifest that names them."""

from __future__ import annotations

import hashlib
import re

from inferry.tests.make.digits.pictures import MANIFEST

RELEASE = MANIFEST.parent


def write(path: str, data: bytes) -> None:
    """Write a file of the release, and its digest and size into the manifest."""
    (RELEASE / path).write_bytes(data)
    entry = rf'(path = "{re.escape(path)}"\nmedia_type = .+\n)digest = .+\nsize_bytes = .+\n'
    _fill(entry, f'\\g<1>digest = "sha256:{hashlib.sha256(data).hexdigest()}"\nsize_bytes = {len(data)}\n')


def _fill(entry: str, told: str) -> None:
    text, count = re.subn(entry, told, MANIFEST.read_text(encoding="utf-8"))
    assert count == 1, entry
    MANIFEST.write_text(text, encoding="utf-8", newline="\n")
