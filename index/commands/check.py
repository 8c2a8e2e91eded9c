"""``inferry check``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ...catalog.errors import InvalidDocument, UsageError
from ...catalog.values.answer import Answer
from .flags import flags, path as path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ...catalog.values.model import Input, Output, Release
    from ...registry.inspect import Inspected
    from ..composing.compose import Composed


@click.command()
@path_of
@flags
@click.option("--write", is_flag=True, help="Write the whole manifest.toml beside the files; never over one.")
def check(path: Path, *, write: bool, **said: str | None) -> Answer:
    """Show what FILE or FOLDER would be as a release, and all that is wrong with it.

    An ONNX file needs --name, --version and --license; in a folder a manifest.toml may say them, and whatever its
    files tell may be left out of it. A folder without one is a release whose variants are its ONNX files.

    For example: inferry check model.onnx --name me/it --version 1 --license MIT
    """
    from ..composing.compose import Flags, compose
    from ..signing.namespaces import is_package

    if is_package(path):
        raise UsageError(
            f"{path} is the manifest of an EP package: check looks into models",
            hints=("inferry index add checks it, field by field, before it adds anything",),
        )
    it = compose(path, Flags(**said))
    written = None
    if write and it.release and not it.problems:
        from ..composing.written import write as write_manifest

        written = str(write_manifest(it.release, it.folder))
    hints = dict.fromkeys(hint for each in it.problems for hint in each.hints)
    return Answer(
        lines=tuple(_lines(it.release, it.inspected)) if it.release else (),
        document=_document(it, written),
        notes=(
            *(f"{each.field}: {each.message}" for each in it.problems),
            *(f"hint: {each}" for each in hints),
            *(_kept_back(it.release) if it.release else ()),
            *((f"{written} written",) if written else ()),
        ),
        code=InvalidDocument.exit_code if it.problems else 0,
        told="words",
    )


def _document(it: Composed, written: str | None) -> dict[str, Any]:
    from ...catalog.values import canonical

    return {
        "release": json.loads(canonical.encode(it.release)) if it.release else None,
        "variants": [
            {
                "name": each.name,
                "precision": each.precision,
                "size_bytes": each.size_bytes,
                "parameters": found.weighed.parameters if found else None,
                "memory_bytes": found.memory_bytes if found else None,
            }
            for each in (it.release.variants if it.release else ())
            for found in [it.inspected.get(each.artifact.path)]
        ],
        "problems": [{"field": each.field, "message": each.message} for each in it.problems],
        "manifest": written,
    }


def _lines(release: Release, inspected: dict[str, Inspected]) -> Iterator[str]:
    yield f"{release.name} {release.version}  {release.task}  {release.license}"
    yield release.summary
    yield "variants"
    yield from _columns(_variants(release, inspected))
    for title, told in (("inputs", release.inputs), ("outputs", release.outputs)):
        yield title
        yield from _columns(_faces(told))
    yield "files"
    every = {each.path: each for variant in release.variants for each in release.files(variant)}
    yield from _columns((each.path, f"{each.size_bytes:,} B", each.media_type) for each in every.values())


def _variants(release: Release, inspected: dict[str, Inspected]) -> Iterator[tuple[str, ...]]:
    from ...catalog.ort_versions import ort_range

    for each in release.variants:
        row = [each.name, each.precision, f"{each.size_bytes:,} B"]
        found = inspected.get(each.artifact.path)
        memory = found.memory_bytes if found else None
        row += [f"{found.weighed.parameters:,} parameters" if found else ""]
        row += [f"memory {memory:,} B" if memory is not None else ""]
        if each.graph:
            sets = [f"{domain or 'opset'} {version}" for domain, version in each.graph.opsets.items()]
            row += [", ".join([*sets, f"IR {each.graph.ir_version}"]), f"ONNX Runtime {ort_range(each.graph)}"]
        yield (*row, *[""] * (7 - len(row)))


def _faces(told: Sequence[Input | Output]) -> Iterator[tuple[str, ...]]:
    for each in told:
        yield each.name, f"{each.dtype} [{', '.join(map(str, each.shape))}]"


def _kept_back(release: Release) -> Iterator[str]:
    """Yield what an index would refuse to hand out."""
    every = {each.path: each for variant in release.variants for each in release.files(variant)}
    for each in every.values():
        if each.redistribution != "allowed" and not each.locations:
            yield f"no index takes {each.path}: its redistribution is `{each.redistribution}`, and it lies nowhere else"


def _columns(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Return each row as a line, its cells below each other."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width).rstrip()
        for row in rows
    ]
