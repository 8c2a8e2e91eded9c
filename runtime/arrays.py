"""Arrays in files: npy, npz and JSON, in and out."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from ..catalog.errors import InvalidInput, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

NPY: Final = b"\x93NUMPY"
NPZ: Final = b"PK\x03\x04"
SUFFIXES: Final = (".npy", ".npz", ".json")
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""How JSON spells the numbers that it does not have, as Protocol Buffers' JSON mapping does."""


def decode(data: bytes, name: str, what: str) -> Any:  # noqa: ANN401 - JSON holds Python's own values
    """Return the array in an npy file, or the one called ``name`` in an npz or JSON file, or the only one in it.

    JSON becomes Python's own lists and numbers. An array there is lists in lists, or an object whose ``data`` they are.

    Raises:
        InvalidInput: the file is damaged, or holds several arrays and none called ``name``; ``what`` names it.
    """
    try:
        if data.startswith(NPY):
            return np.load(io.BytesIO(data), allow_pickle=False)
        if data.startswith(NPZ):
            with np.load(io.BytesIO(data), allow_pickle=False) as held:
                return held[_pick(held.files, name, what)]
        import json

        found = json.loads(data, parse_constant=_WORDS.__getitem__)
    except InvalidInput:
        raise
    except (Exception, MemoryError) as error:  # zipfile, zlib and numpy raise whatever a damaged file leads them to
        raise InvalidInput(f"{what} cannot be read: {error}") from error
    if _is_dict(found) and "data" not in found:
        found = found[_pick(list(found), name, what)]
    return found["data"] if _is_dict(found) and "data" in found else found


def encode(arrays: Mapping[str, Any], suffix: str) -> bytes:
    """Return the file of that suffix, one of ``SUFFIXES``, that holds ``arrays``.

    Raises:
        UsageError: it cannot hold them, or the suffix is another.
    """
    if suffix == ".json":
        import json

        return json.dumps({name: described(value) for name, value in arrays.items()}, allow_nan=False).encode()
    if suffix not in SUFFIXES:
        raise UsageError(f"no file ending in `{suffix}` can be written", hints=(f"end it in {', '.join(SUFFIXES)}",))
    for name, value in arrays.items():
        if not isinstance(value, np.ndarray):
            raise UsageError(f"the output `{name}` is no array, and {suffix} holds nothing else", hints=("use .json",))
    if suffix == ".npy" and len(arrays) != 1:
        raise UsageError(f"the model has {len(arrays)} outputs, and .npy holds one", hints=("use .npz or .json",))
    files = {name: _npy(value) for name, value in arrays.items()}
    if suffix == ".npy":
        return next(iter(files.values()))
    file = io.BytesIO()
    # Not by numpy.savez, whose own arguments are names that an output cannot have, `file` for one.
    import zipfile

    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), data)
    return file.getvalue()


def is_array(value: object) -> TypeGuard[NDArray[Any]]:
    """Return whether ``value`` is a numpy array; ONNX Runtime also has lists and dicts."""
    return isinstance(value, np.ndarray)


def dtype(array: NDArray[Any]) -> str:
    """Return the dtype as numpy names it, or ``string``."""
    return "string" if array.dtype.kind in "OU" else str(array.dtype)


def numbers(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return Python's lists and numbers with JSON's words for NaN and the infinite replaced by them."""
    if _is_list(value):
        return [numbers(each) for each in value]
    return _WORDS.get(value, value) if isinstance(value, str) else value


def described(value: Any) -> dict[str, Any]:  # noqa: ANN401 - ONNX Runtime returns sequences and maps too
    """Return ``shape``, ``dtype`` and ``data`` as JSON has them; only ``data`` of what is no array."""
    if not is_array(value):
        return {"shape": None, "dtype": None, "data": spelled(value)}
    return {"shape": list(value.shape), "dtype": dtype(value), "data": spelled(value)}


def _pick(names: list[str], name: str, what: str) -> str:
    if name in names:
        return name
    if len(names) == 1:
        return names[0]
    held = ", ".join(f"`{each}`" for each in names) or "nothing"
    raise InvalidInput(f"{what} holds {held}, and nothing called `{name}`")


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    return isinstance(value, dict)


def spelled(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return a value as JSON can hold it: what is no number there is a word."""
    if isinstance(value, np.ndarray | np.generic):
        return spelled(value.tolist())
    if _is_list(value):
        return [spelled(each) for each in value]
    if _is_dict(value):
        return {str(key): spelled(each) for key, each in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, complex):
        return [value.real, value.imag]
    return value if isinstance(value, str | int | float | bool) else str(value)


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array.astype(str) if array.dtype == np.dtype(object) else array, allow_pickle=False)
    return file.getvalue()
