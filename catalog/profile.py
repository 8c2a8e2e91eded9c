"""Host profiles: JSON becomes a host and a host JSON; what is wrong is told with the path of its field."""

from __future__ import annotations

from typing import Final

import msgspec

from .errors import InvalidProfile
from .fields import wrong
from .values.host import Host

SCHEMA_VERSION: Final = 1
ONE_BOOT: Final = ("pci", "luid")
"""What is true of a device until the machine starts again, so that no profile holds it."""


class _Header(msgspec.Struct):
    schema_version: int


class _Document(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    schema_version: int = SCHEMA_VERSION
    host: Host


def read_profile(data: bytes, *, where: str) -> Host:
    """Return the host that the JSON in ``data`` describes; ``where`` names the profile: it is the origin of each fact.

    Raises:
        InvalidProfile: the bytes are no JSON, of another schema version, or a field is missing, unknown or wrong.
    """
    try:
        version = msgspec.json.decode(data, type=_Header).schema_version
        if version != SCHEMA_VERSION:
            raise InvalidProfile(
                f"{where}: schema_version: {version} is not {SCHEMA_VERSION}, the one that can be read here",
                field="schema_version",
            )
        host = msgspec.json.decode(data, type=_Document).host
    except msgspec.ValidationError as error:
        field, message = wrong(error)
        raise InvalidProfile(f"{where}: {field}: {message}", field=field) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidProfile(f"{where}: {error}") from error
    _check(host, where)
    return msgspec.structs.replace(host, origins={"": where})


def write_profile(host: Host) -> bytes:
    """Return the host as JSON, without origins and without what lives one boot only."""
    document = msgspec.to_builtins(_Document(host=host))
    del document["host"]["origins"]
    for device in document["host"]["devices"]:
        for name in ONE_BOOT:
            del device[name]
    return msgspec.json.format(msgspec.json.encode(document)) + b"\n"


def _check(host: Host, where: str) -> None:
    """Refuse what a profile does not hold."""
    fields = [("host.origins", bool(host.origins))]
    for index, device in enumerate(host.devices):
        fields += [(f"host.devices[{index}].{name}", getattr(device, name) is not None) for name in ONE_BOOT]
    for field, there in fields:
        if there:
            raise InvalidProfile(
                f"{where}: {field}: is no part of a profile, which is true of more than one boot",
                field=field,
                hints=("inferry devices --save FILE writes one",),
            )
