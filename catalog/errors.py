"""Every error that Inferry raises, in one tree; families by blame, exit codes by family.

Error (1: a bug of ours when nothing below fits)
├── UsageError (2)              what the caller asked is malformed
│   ├── InvalidName             a name that does not parse
│   └── InvalidInput            an input's name or value is wrong
├── NotFoundError (3)
│   ├── ModelNotFound           no source knows the model
│   └── VersionNotFound         no release of the model is of the version that was asked for
├── NothingFits (4)             a model has no variant of the kind that was asked for
├── VerificationError (5)       bytes differ from what a manifest names, or nobody who is trusted signed them
├── NetworkError (6)            a server cannot be reached, refuses, or ends too soon
├── RuntimeFailure (7)
│   ├── OnnxRuntimeMissing      no usable ONNX Runtime in this environment
│   ├── LibraryMissing          an optional library that a model's declared input needs
│   ├── SessionError            ONNX Runtime refused to open or to run
│   ├── ChildFailed             a child process gave no answer: it crashed, ended, or could not be started
│   │   └── ChildTimedOut       it gave none in time
│   └── Closed                  a closed model was used
├── Refused (8)                 it could be done, and may not
│   └── NotInstalled            what is asked for is not here, and fetching it was ruled out
├── InvalidDocument (9)
│   ├── InvalidManifest         a manifest's syntax or field
│   ├── InvalidProfile          a host profile's syntax or field
│   ├── InvalidSettings         a settings file's syntax or key, or a variable of the environment
│   └── InvalidModel            bytes that are no model, or none that ONNX Runtime can read
│       └── UnknownOperator     it needs an operator that this ONNX Runtime does not have
├── MachineError (10)           a file that cannot be read or written
└── Cancelled (130)             the caller's `cancel` was set
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class Error(Exception):
    """Base of all: a message, and hints that say what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hints: Iterable[str] = ()) -> None:
        """Keep the message and the hints apart, so that each face words them its own way."""
        super().__init__(message)
        self.message = message
        self._hints = tuple(hints)

    def hints(self) -> tuple[str, ...]:
        """Return what the user can do, most useful first."""
        return self._hints


class UsageError(Error):
    """What the caller asked is malformed."""

    exit_code = 2


class InvalidName(UsageError, ValueError):
    """A name does not follow its grammar."""


class InvalidInput(UsageError, ValueError):
    """An input of a model has a wrong name or value."""


class NotFoundError(Error, LookupError):
    """Something named does not exist in any source."""

    exit_code = 3


class ModelNotFound(NotFoundError):
    """No source knows the model."""


class VersionNotFound(NotFoundError):
    """No release of a model is of the version that was asked for."""


class NothingFits(Error):
    """A model has no variant of the kind that was asked for."""

    exit_code = 4


class VerificationError(Error):
    """Bytes differ from the digest or size that a manifest names."""

    exit_code = 5


class NetworkError(Error):
    """A server cannot be reached, refuses, or ends before it has sent all; ``status`` is what it answers, as 404."""

    exit_code = 6

    def __init__(self, message: str, *, status: int | None = None, hints: Iterable[str] = ()) -> None:
        """Keep the status beside the words."""
        super().__init__(message, hints=hints)
        self.status = status


class RuntimeFailure(Error):
    """ONNX Runtime, or what stands around it, failed."""

    exit_code = 7


class OnnxRuntimeMissing(RuntimeFailure):
    """No usable ONNX Runtime can be imported here."""


class LibraryMissing(RuntimeFailure):
    """An optional library is not here that a model's declared input needs, or the place where a file lies."""


class SessionError(RuntimeFailure):
    """ONNX Runtime refused to open a model or to run it."""


class ChildFailed(RuntimeFailure):
    """A child process gave no answer: it crashed, ended, or could not be started.

    ``ended`` says how, with the signal's name or the exit code; ``tail`` is the end of what it printed to stderr.
    """

    def __init__(self, message: str, *, ended: str = "", tail: str = "", hints: Iterable[str] = ()) -> None:
        """Keep how it ended and what it printed beside the words."""
        super().__init__(message, hints=hints)
        self.ended = ended
        self.tail = tail


class ChildNotStarted(ChildFailed):
    """A child process could not be started, so that nothing was asked at all."""


class ChildTimedOut(ChildFailed):
    """A child process gave no answer within ``limit_s`` seconds, and was ended."""

    def __init__(
        self, message: str, *, ended: str = "", tail: str = "", limit_s: float = 0, hints: Iterable[str] = ()
    ) -> None:
        """Keep the limit beside what is known of each that failed."""
        super().__init__(message, ended=ended, tail=tail, hints=hints)
        self.limit_s = limit_s


class Closed(RuntimeFailure):
    """A closed model was used."""


class Refused(Error):
    """It could be done, and may not be."""

    exit_code = 8


class NotInstalled(Refused):
    """What is asked for is not on this machine, and fetching it was ruled out."""


class InvalidDocument(Error):
    """A manifest or a model is invalid."""

    exit_code = 9


class InvalidManifest(InvalidDocument, ValueError):
    """A manifest's syntax or field is wrong; ``field`` is its path, like ``variants[0].artifact.digest``, or empty."""

    def __init__(self, message: str, *, field: str = "", fields: Iterable[str] = (), hints: Iterable[str] = ()) -> None:
        """Keep the paths of all fields that are wrong beside the words; ``field`` is the first."""
        super().__init__(message, hints=hints)
        self.field = field
        self.fields: tuple[str, ...] = tuple(fields) or ((field,) if field else ())


class InvalidProfile(InvalidDocument, ValueError):
    """A host profile's syntax or field is wrong; ``field`` is its path, like ``host.devices[1].name``, or empty."""

    def __init__(self, message: str, *, field: str = "", hints: Iterable[str] = ()) -> None:
        """Keep the field's path beside the words."""
        super().__init__(message, hints=hints)
        self.field = field


class InvalidSettings(InvalidDocument, ValueError):
    """A settings file's syntax or key, or a variable of the environment, is wrong; ``field`` is the key, or empty."""

    def __init__(self, message: str, *, field: str = "", fields: Iterable[str] = (), hints: Iterable[str] = ()) -> None:
        """Keep all keys that are wrong beside the words; ``field`` is the first."""
        super().__init__(message, hints=hints)
        self.field = field
        self.fields: tuple[str, ...] = tuple(fields) or ((field,) if field else ())


class InvalidModel(InvalidDocument, ValueError):
    """Bytes that are no model, or none that ONNX Runtime can read."""


class UnknownOperator(InvalidModel):
    """A model needs an operator that this ONNX Runtime does not have."""


class MachineError(Error):
    """This machine's disk or permissions stand in the way."""

    exit_code = 10


class StaleSource(UserWarning):
    """An index has expired, and is used all the same, as its owner's user wants it: it may hold back what is new."""


class Cancelled(Error):
    """The caller's ``cancel`` was set; what was whole by then is kept."""

    exit_code = 130
