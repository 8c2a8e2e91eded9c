"""Faces: the inputs and outputs of a release that is composed, the same in all of its ONNX files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import Problem, is_list, is_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...catalog.values.model import Input, Output
    from ...registry.inspect import Inspected
    from .parts import Parts, Table


def merge(data: Table, parts: Parts) -> None:
    """Complete inputs and outputs from the first variant's file; note what other files or the manifest say else."""
    if not parts.inspected:
        return
    first, *others = _ordered(data, parts.inspected)
    it = first[1]
    differ = [(name, each) for name, each in others if not _same(it, each)]
    if differ:
        told = "".join(f"\n  {name}: {_told(each)}" for name, each in [first, *differ])
        parts.problems.append(
            Problem(
                "variants",
                f"variants of a release take and return the same, and these do not:{told}",
                hints=("publish them as releases of several models",),
            )
        )
    for key, found in (("inputs", it.inputs), ("outputs", it.outputs)):
        stated = data.setdefault(key, [])
        if is_list(stated):
            _complete(stated, found, key, parts)


def _ordered(data: Table, inspected: dict[str, Inspected]) -> list[tuple[str, Inspected]]:
    """Return the files in the order of the variants that they are."""
    artifacts = [each.get("artifact") for each in data["variants"] if is_table(each)]
    paths = [str(each.get("path")) for each in artifacts if is_table(each)]
    return [(path, inspected[path]) for path in dict.fromkeys(paths) if path in inspected]


def _complete(stated: list[Any], found: Sequence[Input | Output], key: str, parts: Parts) -> None:
    by_name = {each.name: each for each in found}
    for place, each in enumerate(stated):
        if not is_table(each) or not isinstance(name := each.get("name"), str):
            continue
        if not (told := by_name.pop(name, None)):
            names = ", ".join(f"`{one.name}`" for one in found) or "none"
            parts.problems.append(Problem(f"{key}[{place}].name", f"it says `{name}`, and the file has {names}"))
            continue
        if each.setdefault("dtype", told.dtype) != told.dtype:
            parts.disagree(f"{key}[{place}].dtype", each["dtype"], told.dtype)
        shape = each.setdefault("shape", [*told.shape])
        if is_list(shape) and not _narrower(shape, told.shape):
            parts.disagree(f"{key}[{place}].shape", shape, [*told.shape])
    stated += [{"name": each.name, "dtype": each.dtype, "shape": [*each.shape]} for each in by_name.values()]


def _narrower(stated: Sequence[Any], told: Sequence[int | str]) -> bool:
    """Return whether a shape is the file's, or one of those that it lets be; of no axes it says as of unknown ones."""
    if not told:
        return True
    return len(stated) == len(told) and all(
        one == other if isinstance(other, int) else True for one, other in zip(stated, told, strict=True)
    )


def _same(one: Inspected, other: Inspected) -> bool:
    """Return whether two files take and return the same; what their free axes are called does not matter."""
    return _faces(one) == _faces(other)


def _faces(it: Inspected) -> list[tuple[str, str, tuple[int | None, ...]]]:
    every: list[Input | Output] = [*it.inputs, *it.outputs]
    return [
        (each.name, each.dtype, tuple(side if isinstance(side, int) else None for side in each.shape)) for each in every
    ]


def _told(it: Inspected) -> str:
    """Return inputs and outputs for people."""
    sides = [
        ", ".join(f"{each.name} {each.dtype} [{', '.join(map(str, each.shape))}]" for each in told)
        for told in (it.inputs, it.outputs)
    ]
    return " -> ".join(sides)
