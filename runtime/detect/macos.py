"""macOS, as far as Python's standard library goes: graphics and the Neural Engine are not looked for yet."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING

import msgspec

from .generic import Generic

if TYPE_CHECKING:
    from ...catalog.values.host import Platform


class MacOs(Generic):
    """Adds the version of macOS."""

    def platform(self, origins: dict[str, str]) -> Platform:
        """Return the operating system; under Rosetta its architecture is the emulated one."""
        told = super().platform(origins)
        origins["platform.version"] = "platform.mac_ver"
        version = platform.mac_ver()[0]
        return msgspec.structs.replace(
            told, name="macOS", version=version if re.fullmatch(r"\d+(\.\d+)*", version) else None
        )
