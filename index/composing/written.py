"""Written: a release as the TOML of a manifest, every field in it that is not what it would be anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import tomlkit

from ...catalog.errors import Refused
from ...catalog.values import canonical
from ...catalog.values.model import Release
from ..files import explained
from .compose import MANIFEST
from .parts import is_list, is_table

if TYPE_CHECKING:
    from pathlib import Path

    from .parts import Table


def write(release: Release, folder: Path) -> Path:
    """Write the manifest of a release into ``folder``, and return where it lies.

    Raises:
        Refused: there is one.
        MachineError: it cannot be written.
    """
    path = folder / MANIFEST
    with explained(path, done="written"):
        try:
            file = path.open("x", encoding="utf-8", newline="\n")
        except FileExistsError as error:
            hint = "move it away, or complete it by hand: --json tells what it leaves out"
            raise Refused(f"{path} is there: it is never written over", hints=(hint,)) from error
        with file:
            file.write(manifest(release))
    return path


def manifest(release: Release) -> str:
    """Return the manifest that reads as ``release``, in the order in which the reference lists its fields."""
    told: Table = msgspec.json.decode(canonical.encode(release))
    names = [field.encode_name for field in msgspec.structs.fields(Release) if field.encode_name in told]
    document = tomlkit.document()
    for name in [each for each in names if not _holds_tables(told[each])]:
        document.add(name, told[name])
    for name in [each for each in names if _holds_tables(told[each])]:
        value = told[name]
        if is_table(value):
            document.add(name, _inline(value))
    for name in [each for each in names if is_list(told[each]) and _holds_tables(told[each])]:
        tables = tomlkit.aot()
        for each in told[name]:
            tables.append(_table(each))
        document.add(name, tables)
    return tomlkit.dumps(document)


def _holds_tables(value: object) -> bool:
    return is_table(value) or (is_list(value) and any(map(is_table, value)))


def _table(value: Table) -> Any:  # noqa: ANN401 - tomlkit's
    """Return a table whose own tables stand in its lines: so nothing that follows belongs to one of them."""
    table = tomlkit.table()
    for name, held in sorted(value.items(), key=lambda pair: (_holds_tables(pair[1]), pair[0] != "name")):
        table.add(name, _inline(held))
    return table


def _inline(value: Any) -> Any:  # noqa: ANN401 - whatever a field holds
    if is_table(value):
        table = tomlkit.inline_table()
        for name, held in sorted(value.items(), key=lambda pair: pair[0] != "path"):
            table.add(tomlkit.key(name), _inline(held))
        return table
    if is_list(value):
        array = tomlkit.array()
        for each in value:
            array.append(_inline(each))
        return array.multiline(_holds_tables(value))
    return value
