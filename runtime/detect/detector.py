"""The one thing that a detector does, and which one serves this system."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...catalog.values.host import Host


class Detector(Protocol):
    """Something that tells what a machine is."""

    def host(self) -> Host:
        """Return what is known, with origins; never raises and never waits: what cannot be read is unknown."""
        ...


def detector() -> Detector:
    """Return the detector for the system that runs this program."""
    if sys.platform == "win32":
        from .windows import Windows

        return Windows()
    if sys.platform == "darwin":
        from .macos import MacOs

        return MacOs()
    if sys.platform == "linux":
        from .linux import Linux

        return Linux()
    from .generic import Generic

    return Generic()


def detect() -> Host:
    """Return what is known of this machine."""
    return detector().host()
