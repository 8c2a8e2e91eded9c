"""Values become tensors: as they are, or by the pipeline that the model declares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from ..catalog.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..catalog.values.model import Input
    from .ort import Tensor

_KINDS: Final = {"string": "U", "bool": "b", "int": "iu", "uint": "iu", "float": "iuf"}
"""The kinds of numpy's dtypes that Python's own values may have for a dtype: whole numbers where floats are wanted."""


def to_tensor(value: Any, told: Tensor, declared: Input | None) -> NDArray[Any]:  # noqa: ANN401 - what the user has
    """Return ``value`` as a tensor for the input that the model calls ``told``.

    A path, the bytes of a picture file, a Pillow image, and uint8 pixels of shape (height, width[, channels]) become
    what ``declared`` says of pictures. Lists and numbers take the input's dtype, if it can hold them; a text fills an
    input of texts, with every axis 1. Any other value is an array, and is taken as it is.

    Raises:
        InvalidInput: the value cannot be read or held, or is a file where the model declares no picture.
        LibraryMissing: it is a picture, and Pillow is not installed.
    """
    what = f"input `{told.name}`"
    if "(" in told.dtype:  # a sequence or a map: nobody but ONNX Runtime knows what it takes
        return cast("NDArray[Any]", value)
    if isinstance(value, str) and told.dtype == "string":
        return np.full((1,) * len(told.shape), value, object)
    if isinstance(value, str | os.PathLike):
        what = f"{what}: {os.fspath(value)}"
        value = _read(Path(value), what)
    picture = declared.picture if declared else None
    if isinstance(value, bytes) and not picture:
        raise InvalidInput(f"{what}: the model does not say how a file becomes this input", hints=("give an array",))
    if isinstance(value, list | tuple | bool | int | float):
        return _held(value, told, what)
    if picture and not (isinstance(value, bytes) or type(value).__module__.startswith("PIL.")):
        array = value = np.asarray(value)
        if array.dtype != np.uint8 or array.ndim not in {2, 3}:
            return array
    if not picture:
        return np.asarray(value)
    from . import picture as door

    return door.read(value, picture, what=what)


def _held(value: Any, told: Tensor, what: str) -> NDArray[Any]:  # noqa: ANN401 - as above
    """Return Python's own values in the input's dtype."""
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"{what}: {error}", hints=("give lists of equal length",)) from error
    kind = told.dtype.rstrip("0123456789")
    if found.size and found.dtype.kind not in _KINDS.get(kind, ""):
        raise InvalidInput(f"{what} takes {told.told()}, got values that become {found.dtype}")
    with np.errstate(over="ignore"):
        array = found.astype(object if kind == "string" else told.dtype)
    lost = ~np.isfinite(array) & np.isfinite(found) if kind == "float" else array != found
    if lost.any():
        raise InvalidInput(f"{what} takes {told.told()}, which cannot hold {found[lost][0]}")
    return array


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{what} cannot be read: {error.strerror or error}", hints=("give the path of a file",)
        ) from error
