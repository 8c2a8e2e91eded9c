"""Values become tensors: as they are, or by the pipeline that the model declares."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

import numpy as np

from ..catalog.errors import InvalidInput
from . import arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..catalog.values.model import Input
    from .ort import Tensor

TEXT: Final = "string"
_JSON: Final = frozenset(bytes([each]) for each in b"[{-0123456789")
"""What arrays in JSON begin with, and no picture does."""
_KINDS: Final = {TEXT: "U", "bool": "b", "int": "iu", "uint": "iu", "float": "iuf"}
"""The kinds of numpy's dtypes that Python's own values may have for a dtype: whole numbers where floats are wanted."""


def to_tensor(value: Any, told: Tensor, declared: Input | None) -> NDArray[Any]:  # noqa: ANN401 - what the user has
    """Return ``value`` as a tensor for the input that the model calls ``told``.

    A path and the bytes of a file are read by what is in the file: npy, npz, JSON; a picture where ``declared`` says
    how one becomes the input; text for an input of texts. So are a Pillow image and uint8 pixels of shape (height,
    width[, channels]). Lists and numbers take the input's dtype, if it can hold them; a text fills an input of texts,
    with every axis 1. Any other value is an array, and is taken as it is.

    Raises:
        InvalidInput: the value cannot be read or held, or is a picture where the model declares none.
        LibraryMissing: it is a picture, and Pillow is not installed.
    """
    what = f"input `{told.name}`"
    picture = declared.picture if declared else None
    if "(" in told.dtype:  # a sequence or a map: nobody but ONNX Runtime knows what it takes
        return cast("NDArray[Any]", value)
    if _is_path(value) and not (isinstance(value, str) and told.dtype == TEXT):
        what = f"{what}: {os.fspath(value)}"
        value = _read(Path(value), what)
    if isinstance(value, bytes):
        value = _decoded(value, told, what, is_picture=picture is not None)
    if isinstance(value, str):
        return np.full((1,) * len(told.shape), value, object)
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


def from_words(words: str, told: Tensor, stdin: bytes | None) -> Any:  # noqa: ANN401 - whatever `to_tensor` takes
    """Return what ``words`` mean on a command line, for ``to_tensor``.

    They are a file; ``-``, which is ``stdin``; or ``random[:SEED]``, which is an array of the input's dtype and shape.
    For an input of texts they are the text itself, or ``@FILE``.

    Raises:
        InvalidInput: the seed is no number, or the dtype is one that cannot be drawn.
    """
    if words == "-":
        return stdin
    if told.dtype == TEXT:
        return Path(words[1:]) if words.startswith("@") else words
    kind, _, seed = words.partition(":")
    if kind != "random":
        return Path(words).expanduser()
    if seed and not seed.isdecimal():
        raise InvalidInput(f"input `{told.name}`: `{words}`: a seed is a whole number")
    return _random(told, int(seed or 0))


def _random(told: Tensor, seed: int) -> NDArray[Any]:
    """Return floats from 0 up to 1, and else 0 and 1, which are in range of almost any index; free axes are 1 long."""
    chance = np.random.default_rng(seed)
    shape = [side if isinstance(side, int) else 1 for side in told.shape]
    kind = told.dtype.rstrip("0123456789")
    if kind == "float":
        return chance.random(shape).astype(told.dtype)
    if kind not in {"bool", "int", "uint"} or not told.dtype.isalnum():
        raise InvalidInput(f"input `{told.name}` takes {told.told()}, which cannot be drawn", hints=("give a file",))
    return chance.integers(2, size=shape).astype(told.dtype)


def _decoded(data: bytes, told: Tensor, what: str, *, is_picture: bool) -> Any:  # noqa: ANN401 - as above
    """Return the array or the text in a file; the bytes of what must be a picture as they are."""
    # A text may well begin like JSON does.
    json = data[:1000].lstrip()[:1] in _JSON and (told.dtype != TEXT or what.endswith(".json"))
    if json or data.startswith((arrays.NPY, arrays.NPZ)):
        found = arrays.decode(data, told.name, what)
        return arrays.numbers(found) if told.dtype.startswith("float") else found
    if is_picture:
        return data
    if told.dtype == TEXT:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{what} is no text in UTF-8: {error}") from error
    raise InvalidInput(
        f"{what} is no array, and the model does not say how any other file becomes this input",
        hints=(f"give a file in {', '.join(arrays.SUFFIXES)}",),
    )


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
        array = found.astype(object if kind == TEXT else told.dtype)
    lost = ~np.isfinite(array) & np.isfinite(found) if kind == "float" else array != found
    if lost.any():
        raise InvalidInput(f"{what} takes {told.told()}, which cannot hold {found[lost][0]}")
    return array


def _is_path(value: object) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(value, str | os.PathLike)


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        words = "it is a folder" if path.is_dir() else error.strerror or error
        raise InvalidInput(f"{what} cannot be read: {words}", hints=("give the path of a file",)) from error
