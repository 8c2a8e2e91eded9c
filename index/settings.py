"""Where settings lie, read into layers; and how one key of a user's file is changed.

The folder of the machine's settings comes by an argument, never by a variable of the environment: whoever could move it
could step out of the machine policy.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..catalog.errors import InvalidSettings, MachineError
from ..catalog.settings import VARIABLES, Layer, from_environment, from_registry, parse_settings, plain
from .blobs import write_whole
from .files import explained
from .home import config_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from ..catalog.settings import Origin

REGISTRY: Final = r"HKLM\Software\Policies\Inferry"
"""Where Windows keeps what a group policy says: values that are called as the keys, ``limits.model_size``."""
POLICY: Final = "policy.toml"
CONFIG: Final = "config.toml"
SOURCES: Final = "sources.toml"
_LOCK_S: Final = 10


class GroupPolicy(NamedTuple):
    """What the registry holds."""

    values: Mapping[str, object] = {}
    """A text (REG_SZ), a list of texts (REG_MULTI_SZ) or a number (REG_DWORD) by its name."""
    modified: int | None = None
    """When it changed last, as Windows counts; ``None`` where nothing is there."""


class Machine(NamedTuple):
    """Where the settings of a machine lie."""

    folder: Path
    """Of ``policy.toml`` and ``config.toml``."""
    group_policy: Callable[[], GroupPolicy] = GroupPolicy


def this_machine() -> Machine:
    """Return where this system has them; nobody has looked whether anything is there."""
    if sys.platform == "win32":
        return Machine(_program_data() / "Inferry", _group_policy)
    if sys.platform == "darwin":
        return Machine(Path("/Library/Application Support/Inferry"))
    return Machine(Path("/etc/inferry"))


def user_file(home: Path | None = None) -> Path:
    """Return the file of the user's settings, which need not be there; raises what ``config_folder`` raises."""
    return config_folder(home) / CONFIG


def layers(machine: Machine, home: Path | None = None, environment: Mapping[str, str] = os.environ) -> list[Layer]:
    """Return what the machine policy, the environment, the user and the system set, highest first.

    Raises:
        InvalidSettings: a file, the registry or a variable is wrong.
        MachineError: a file is there and cannot be read.
    """
    found: list[Layer] = []
    values = machine.group_policy().values
    if values:
        found.append(Layer("machine policy", from_registry(values, where=REGISTRY), REGISTRY))
    for origin, file in _files(machine, home):
        text = read_text(file)
        if text is not None:
            found.append(Layer(origin, parse_settings(text, where=str(file)), str(file)))
    if variables(environment):
        found.append(Layer("environment", from_environment(environment)))
    return found


def states(machine: Machine, home: Path | None = None) -> list[tuple[str, int | None, int | None]]:
    """Return each file's path, size in bytes and time of its last change in nanoseconds; ``None`` where none is there.

    Of the registry, how many values there are, and when they changed last. As long as this and ``variables`` stay the
    same, so do the settings; nothing is parsed for it.
    """
    found: list[tuple[str, int | None, int | None]] = []
    files = [file for _, file in _files(machine, home)]
    for file in (*files, *(file.with_name(SOURCES) for file in files[1:])):
        try:
            state = file.stat()
            found.append((str(file), state.st_size, state.st_mtime_ns))
        except OSError:
            found.append((str(file), None, None))
    policy = machine.group_policy()
    return [*found, (REGISTRY, len(policy.values), policy.modified)]


def variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that set something, by their names."""
    return {name: environment[name] for name in VARIABLES.values() if environment.get(name)}


def change(file: Path, key: str, value: object) -> None:
    """Set a key of ``catalog.settings.KEYS`` in a file, or with ``None`` take it out; all else in it stays as it is.

    Raises:
        InvalidSettings: the file is wrong already.
        MachineError: it cannot be read or written.
    """
    import tomlkit

    with explained(file.parent, done="made"):
        file.parent.mkdir(parents=True, exist_ok=True)
    with held(file):
        text = read_text(file) or ""
        parse_settings(text, where=str(file))
        document: Any = tomlkit.parse(text)
        table, _, name = key.rpartition(".")
        if value is None:
            (document.get(table, {}) if table else document).pop(name, None)
        else:
            if table and table not in document:
                document[table] = tomlkit.table()
            (document[table] if table else document)[name] = plain(value)
        made = tomlkit.dumps(document)
        parse_settings(made, where=str(file))
        # A link to a file that is kept elsewhere stays one.
        write_whole(file.resolve(), made.encode())


@contextmanager
def held(file: Path) -> Generator[None]:
    """Keep other processes from changing a file meanwhile; raise ``MachineError`` where one does for too long."""
    from .locks import hold

    lock = file.with_name(f"{file.name}.lock")
    with explained(lock, done="written"):
        descriptor = hold(lock, limit_s=_LOCK_S)
    try:
        yield
    finally:
        os.close(descriptor)


def _files(machine: Machine, home: Path | None) -> list[tuple[Origin, Path]]:
    found: list[tuple[Origin, Path]] = [("machine policy", machine.folder / POLICY)]
    with suppress(MachineError):  # a user without any folder has no settings
        found.append(("user", user_file(home)))
    return [*found, ("system", machine.folder / CONFIG)]


def read_text(file: Path) -> str | None:
    """Return the text of a file, ``None`` where none is there; what is there and unreadable is never taken for that."""
    try:
        return file.read_bytes().decode("utf-8-sig")  # Notepad's files begin with a mark
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{file}: it is no UTF-8: {error.reason} at byte {error.start}") from error
    except OSError as error:
        hints = ("what it sets holds, so nothing is done without it: see to it that you may read it",)
        raise MachineError(f"{file} cannot be read: {error.strerror or error}", hints=hints) from error


def _program_data() -> Path:
    r"""Return Windows' ``%ProgramData%`` by the registry: a user can set the variable."""
    if sys.platform == "win32":
        import winreg

        shell = r"SOFTWARE\Microsoft\Windows\CurrentVersion\Explorer\Shell Folders"
        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, shell) as key:
                return Path(str(winreg.QueryValueEx(key, "Common AppData")[0]))
        except FileNotFoundError:
            pass
    return Path(r"C:\ProgramData")


def _group_policy() -> GroupPolicy:
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, REGISTRY.removeprefix("HKLM\\")) as key:
                _, count, modified = winreg.QueryInfoKey(key)
                named = [winreg.EnumValue(key, place) for place in range(count)]
        except FileNotFoundError:
            return GroupPolicy()
        except OSError as error:
            raise MachineError(f"{REGISTRY} cannot be read: {error.strerror or error}") from error
        return GroupPolicy({name: value for name, value, _ in named if name}, modified)
    return GroupPolicy()
