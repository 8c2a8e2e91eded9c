"""Blobs: bytes that are handed on only after they matched their digest, and files that are written as a whole."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..catalog.errors import MachineError, VerificationError
from ..catalog.values.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import BinaryIO

    from ..catalog.values.model import Artifact


class Blob(NamedTuple):
    """What a store tells of a blob without reading it."""

    digest: Digest
    size_bytes: int
    used: float
    """When it was last used, or written, in seconds since 1970."""


class BlobStore(Protocol):
    """Keeps blobs by their digest. What every store promises is written down in ``tests/contract/test_blob_store.py``.

    All raise ``InvalidName`` for what is no digest, and ``MachineError`` where the store's place refuses.
    """

    def add(self, chunks: Iterable[bytes], digest: Digest, size_bytes: int) -> object:
        """Store the blob of which ``chunks`` are the bytes; they are not read where it is there already.

        Raises:
            VerificationError: they are not what ``digest`` and ``size_bytes`` name; nothing is stored.
        """
        ...

    def open(self, digest: Digest, size_bytes: int) -> BinaryIO | None:
        """Return the verified blob, to be read and to seek in, or ``None`` where it is absent or was damaged.

        Raises:
            VerificationError: the blob is of another size.
        """
        ...

    def remove(self, digest: Digest) -> None:
        """Remove a blob, if it is there."""
        ...

    def blobs(self) -> list[Blob]:
        """Return all blobs, by digest."""
        ...


def read_verified(path: Path, artifact: Artifact) -> bytes:
    """Return the bytes of the file at ``path``, which are those that ``artifact`` names.

    Raises:
        VerificationError: their size or digest is another.
        MachineError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            # One byte more than is right tells a longer file without reading all of it.
            data = file.read(artifact.size_bytes + 1)
    except OSError as error:
        raise MachineError(
            f"{path} cannot be read: {error.strerror or error}", hints=("install inferry again",)
        ) from error
    if len(data) != artifact.size_bytes or Digest.of(data) != artifact.digest:
        raise VerificationError(
            f"{path} is not the file that its manifest names: {artifact.size_bytes} bytes with {artifact.digest}",
            hints=("it was changed or cut short: install inferry again",),
        )
    return data


def write_whole(path: Path, data: bytes, *, durably: bool = False) -> None:
    """Write a file as a whole: an earlier one is replaced, or left as it is; ``MachineError`` where it cannot be.

    ``durably``: after a power cut too.
    """
    from threading import get_ident

    if not path.name:
        raise MachineError(f"{path} cannot be written: it is a folder")
    partial = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        with partial.open("wb") as file:
            file.write(data)
            if durably:
                file.flush()
                os.fsync(file)
        partial.replace(path)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            partial.unlink()
