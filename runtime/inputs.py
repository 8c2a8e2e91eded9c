"""Values become tensors: as they are, or by the pipeline that the model declares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..catalog.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..catalog.values.model import Input


def to_tensor(value: Any, declared: Input | None, name: str) -> NDArray[Any]:  # noqa: ANN401 - what the user has
    """Return ``value`` as a tensor for the input ``name``.

    A path, the bytes of a picture file, a Pillow image, and uint8 pixels of shape (height, width[, channels]) become
    what ``declared`` says of pictures; any other value is taken as an array.

    Raises:
        InvalidInput: the value cannot be read, or is a file where the model declares no picture.
        LibraryMissing: it is a picture, and Pillow is not installed.
    """
    what = f"input `{name}`"
    if isinstance(value, str | os.PathLike):
        what = f"{what}: {os.fspath(value)}"
        value = _read(Path(value), what)
    picture = declared.picture if declared else None
    if picture is None:
        if isinstance(value, bytes):
            raise InvalidInput(
                f"{what}: the model does not say how a file becomes this input", hints=("give an array",)
            )
        return np.asarray(value)
    if not (isinstance(value, bytes) or type(value).__module__.startswith("PIL.")):
        array = value = np.asarray(value)
        if array.dtype != np.uint8 or array.ndim not in {2, 3}:
            return array
    from . import picture as door

    return door.read(value, picture, what=what)


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"{what} cannot be read: {error.strerror or error}", hints=("give the path of a file",)
        ) from error
