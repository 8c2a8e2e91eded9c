"""Host profiles: a host in a file, to plan for a machine from another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ..catalog.errors import MachineError
from ..catalog.profile import read_profile, write_profile
from ..index.blobs import write_whole

if TYPE_CHECKING:
    import os

    from ..catalog.values.host import Host


class HostProfile(NamedTuple):
    """A machine's facts, frozen in a file of JSON that may be edited: what it says is what is planned for.

    The memory that is free is the one that was free when it was saved.
    """

    host: Host

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a profile.

        Raises:
            InvalidProfile: the file is no profile; the error names the field that is wrong.
            MachineError: it cannot be read.
        """
        file = Path(path)
        try:
            data = file.read_bytes()
        except OSError as error:
            raise MachineError(f"{file} cannot be read: {error.strerror or error}") from error
        return cls(read_profile(data, where=str(file)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the facts without their origins, and without what lives one boot only.

        An earlier file is replaced as a whole, or left as it is; ``MachineError`` where it cannot be written.
        """
        write_whole(Path(path), write_profile(self.host))


def host_of(told: Host | HostProfile | None) -> Host | None:
    """Return the host that a profile is of, or the host itself."""
    return told.host if isinstance(told, HostProfile) else told
