"""Folders of models, as sources have them, and what a store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inferry.catalog.values.digest import Digest
from inferry.tests.models import add, with_external_data

if TYPE_CHECKING:
    from pathlib import Path

    from inferry import Client

ONES = {"a": [[1, 2]], "b": [[3, 4]]}
_HEAD = """name = "{name}"
version = "{version}"
license = "MIT"
summary = "Adds"
task = "arithmetic"
"""
_TENSORS = """
[[inputs]]
name = "a"
dtype = "float32"
shape = ["n", 2]

[[inputs]]
name = "b"
dtype = "float32"
shape = ["n", 2]

[[outputs]]
name = "sum"
dtype = "float32"
shape = ["n", 2]
"""


def artifact(path: str, data: bytes, more: str = "") -> str:
    """Return an artifact as an inline table."""
    return (
        f'{{ path = "{path}", media_type = "application/octet-stream", digest = "{Digest.of(data)}", '
        f"size_bytes = {len(data)}{more} }}"
    )


def at(url: str) -> str:
    """Return a location as an inline table."""
    return f'{{ kind = "url", url = "{url}" }}'


def publish(
    folder: Path,
    name: str = "acme/add",
    version: str = "1.0.0",
    *,
    precisions: tuple[str, ...] = ("fp32",),
    files: dict[str, bytes] | None = None,
    head: str = "",
    locations: str = "",
    redistribution: str = "allowed",
) -> Path:
    """Write a model that adds into ``folder``, its variants told apart by a word in each; return ``folder``.

    ``files`` are more files beside it, of which the card is one; ``locations`` and ``redistribution`` are those of the
    variants, and the latter of the files too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = _HEAD.format(name=name, version=version) + head
    may = f', redistribution = "{redistribution}"'
    for path, data in (files or {}).items():
        (folder / path).write_bytes(data)
        text += f"card = {artifact(path, data, may)}\n"
    for precision in precisions:
        data = labelled(f"{name} {version} {precision}")
        (folder / f"{precision}.onnx").write_bytes(data)
        more = may + (f", locations = [{locations}]" if locations else "")
        text += f'\n[[variants]]\nname = "{precision}"\nprecision = "{precision}"\n'
        text += f"artifact = {artifact(f'{precision}.onnx', data, more)}\n"
    (folder / "manifest.toml").write_text(text + _TENSORS, encoding="utf-8", newline="\n")
    return folder


def laid_beside(folder: Path) -> Path:
    """Write ``acme/shift``, which adds 1.5, into ``folder``: it keeps that in a file of its own; return ``folder``."""
    folder.mkdir()
    path, weights = with_external_data(folder, "weights.bin"), np.full(2, 1.5, np.float32).tobytes()
    (folder / "weights.bin").write_bytes(weights)
    text = f"""name = "acme/shift"
version = "1.0.0"
license = "MIT"
summary = "Adds what it holds"
task = "arithmetic"
[[variants]]
name = "fp32"
precision = "fp32"
artifact = {artifact(path.name, path.read_bytes())}
external_data = [{artifact("weights.bin", weights)}]
[[inputs]]
name = "x"
dtype = "float32"
shape = [2]
[[outputs]]
name = "y"
dtype = "float32"
shape = [2]
"""
    (folder / "manifest.toml").write_text(text, encoding="utf-8")
    return folder


def labelled(word: str) -> bytes:
    """Return a model that adds, and that differs by ``word`` from others."""
    import onnx

    made = onnx.ModelProto.FromString(add())
    made.doc_string = word
    data: bytes = made.SerializeToString()
    return data


def held(home: Path) -> dict[str, bytes]:
    """Return every file that a home holds of models, by its path; without locks, records of use and what is partial."""
    skipped = {"locks", "leases", "partial"}
    return {
        str(file.relative_to(home)): file.read_bytes()
        for file in sorted((home / "data").rglob("*"))
        if file.is_file()
        and not file.name.startswith(".")
        and not skipped & {*file.relative_to(home).parts}
        and file.name not in {"lock", "serial"}
    }


def adds(client: Client, name: str = "acme/add") -> bool:
    """Return whether a model that adds runs without anything being fetched."""
    with client.load(name, install="never") as model:
        return bool(np.array_equal(model.run(ONES)["sum"], [[4, 6]]))
