"""The release's files, and the manifest that names them."""

from __future__ import annotations

import hashlib
import io
import json
import re
from pathlib import Path

import numpy as np

from inferry.catalog.operators import read_graph
from inferry.tests.make.digits.pictures import MANIFEST

RELEASE = MANIFEST.parent

CARD = Path(__file__).with_name("card.md")
"""What the card says, but for the figures."""


def write(path: str, data: bytes) -> None:
    """Write a file of the release, and its digest and size into the manifest."""
    (RELEASE / path).write_bytes(data)
    entry = rf'(path = "{re.escape(path)}"\nmedia_type = .+\n)digest = .+\nsize_bytes = .+\n'
    _fill(entry, f'\\g<1>digest = "sha256:{hashlib.sha256(data).hexdigest()}"\nsize_bytes = {len(data)}\n')


def write_loss(variant: str, loss: float) -> None:
    """Write what a variant loses against the first one into the manifest."""
    _fill(rf'(name = "{variant}"\nprecision = .+\naccuracy_loss = ).+\n', f"\\g<1>{loss:.4f}\n")


def write_graph(path: str, data: bytes) -> None:
    """Write what the ONNX file ``data``, a variant's, needs of a runtime into the manifest."""
    graph = read_graph(data)
    opsets = ", ".join(f"{json.dumps(domain)} = {version}" for domain, version in graph.opsets.items())
    told = f"""
[variants.graph]
ir_version = {graph.ir_version}
opsets = {{ {opsets} }}
operators = {json.dumps(graph.operators)}
"""
    entry = rf'(path = "{re.escape(path)}"\n(?:.+\n)+)(?:\n\[variants\.graph\]\n(?:.+\n)+)?'
    _fill(entry, rf"\g<1>{told}")


def _fill(entry: str, told: str) -> None:
    text, count = re.subn(entry, told, MANIFEST.read_text(encoding="utf-8"))
    assert count == 1, entry
    MANIFEST.write_text(text, encoding="utf-8", newline="\n")


def packed(**arrays: np.ndarray) -> bytes:
    """Return the arrays as npz: stored, not compressed, so that the bytes are the same each time."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def table(rows: dict[str, list[str]], *head: str) -> str:
    """Return a table in Markdown."""
    lines = [list(head), ["---"] * len(head), *([name, *cells] for name, cells in rows.items())]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
