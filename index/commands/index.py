"""``inferry index``."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ...catalog.errors import UsageError, VerificationError
from ...catalog.values.answer import Answer
from . import options
from .flags import flags, path as path_of
from .namespace import namespace
from .status import deprecate, revoke, unyank, yank
from .upkeep import rotate, sign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..signing.checking import Checked


@click.group()
def index() -> None:
    """Make an index of models: a folder of signed files that any web server can serve."""


@index.command()
@options.folder
@options.keys
@click.option(
    "--passphrase-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Holds the passphrase of the offline keys; without it you are asked in a terminal, else a random one is made.",
)
def init(folder: Path, *, keys: Path | None, passphrase_file: Path | None) -> Answer:
    """Make an index without models in DIR, and its keys elsewhere.

    For example: inferry index init site
    """
    from ..signing.repository import Repository

    made = Repository(folder, keys).init(datetime.now(UTC), ask=options.ask(passphrase_file, new=True))
    return Answer(
        lines=(f"fingerprint {made.fingerprint}", f"keys        {made.keys}"),
        document={
            "fingerprint": made.fingerprint,
            "keys": str(made.keys),
            "passphrase": str(made.passphrase) if made.passphrase else None,
        },
        notes=(f"the passphrase of root.pem and targets.pem lies in {made.passphrase}: keep all three elsewhere",)
        if made.passphrase
        else (),
    )


@index.command()
@options.folder
@path_of
@flags
@options.keys
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The key of the owner of an EP package's namespace; without it the one beside the other keys.",
)
@options.passphrase_file
def add(
    folder: Path, path: Path, *, keys: Path | None, key: Path | None, passphrase_file: Path | None, **said: str | None
) -> Answer:
    """Add the release in FILE or FOLDER to the index in DIR.

    An ONNX file needs --name, --version and --license; in a folder a manifest.toml may say them, and whatever its
    files tell may be left out of it. The flags hold over it. Files are copied where others may hand them on: where the
    manifest says so, or where there is none and --license does. A release that is there already changes nothing.

    A manifest that names an EP is an EP package: its releases are signed by the owner of its namespace.

    For example: inferry index add site add
    """
    from ..composing.compose import Flags
    from ..signing.namespaces import is_package, publish_package
    from ..signing.repository import Repository
    from ..signing.site import Site

    added: NamedTuple
    if is_package(path):
        if given := [name for name, value in said.items() if value is not None]:
            raise UsageError(f"--{given[0]} is said of a model: {path} tells all of an EP package")
        added = publish_package(Site(folder, keys), path, datetime.now(UTC), options.ask(passphrase_file), key)
    elif key:
        raise UsageError("--key is for EP packages: models are signed by the online key")
    else:
        added = Repository(folder, keys).add(path, datetime.now(UTC), Flags(**said))
    done = "added" if added.new else "is there already"
    return Answer(
        lines=(f"{added.name}@={added.version} {done}: serial {added.serial}",),
        document={**added._asdict()},
        told="words",
    )


@index.command()
@options.folder
@click.argument("named", metavar="NAME[@V]")
@options.keys
def remove(folder: Path, named: str, *, keys: Path | None) -> Answer:
    """Take a release, or the whole model, out of the index in DIR, and delete the files that nothing else names.

    To keep a release from being chosen, rather yank or revoke it: who has it is told that, and not that it is gone.

    For example: inferry index remove site acme/add@1.0.0
    """
    from ..signing.removal import remove as take_out
    from ..signing.site import Site

    it = take_out(Site(folder, keys), named, datetime.now(UTC))
    what = ", ".join(f"{it.name}@={version}" for version in it.versions)
    return Answer(
        lines=(f"{what} removed, {it.blobs} files, {it.freed_bytes:,} bytes: serial {it.serial}",),
        document={**it._asdict(), "versions": list(it.versions)},
        told="words",
    )


@index.command()
@options.folder_or
@options.data_or
def status(folder: Path | None, *, data: Path | None) -> Answer:
    """Show the fingerprint and the serial of the index in DIR, and when what was signed expires.

    For example: inferry index status site
    """
    from ..signing.repository import Repository

    told = Repository(options.either(folder, data)).status(datetime.now(UTC))
    rows = {
        "fingerprint": told.fingerprint,
        "serial": f"{told.serial}",
        "models": f"{told.models:,}",
        "root key": told.root_key,
        **{f"{role} until": options.day(end) for role, end in told.expires.items()},
    }
    return Answer(
        lines=tuple(f"{name:<16}  {value}" for name, value in rows.items()),
        document={
            "fingerprint": told.fingerprint,
            "serial": told.serial,
            "expires": options.times(told.expires),
            "root_key": told.root_key,
            "models": told.models,
        },
        notes=tuple(f"{role} has expired: clients refuse what it signs" for role in told.expired),
    )


@index.command()
@options.folder_or
@options.data_or
def verify(folder: Path | None, *, data: Path | None) -> Answer:
    """Check the index in DIR as a client would, and more: signatures, versions, expiry, every document and file.

    No key is needed, and nothing is changed. The exit code is 5 where something is wrong.

    For example: inferry index verify site
    """
    from ..signing.checking import check

    found = check(options.either(folder, data), datetime.now(UTC))
    wrong = f"{len(found.problems)} wrong" if found.problems else "all as it was signed"
    return Answer(
        lines=(
            *(f"{each.file}: {each.message}" for each in found.problems),
            f"{', '.join(_counted(found))}: {wrong}",
        ),
        document={
            "models": found.models,
            "packages": found.packages,
            "files": found.files,
            "problems": [each._asdict() for each in found.problems],
            "unnamed": list(found.unnamed),
        },
        notes=tuple(f"{each}: nothing names it" for each in found.unnamed),
        code=VerificationError.exit_code if found.problems else 0,
        told="words",
    )


def _counted(found: Checked) -> Iterator[str]:
    for what, number in (("model", found.models), ("EP package", found.packages), ("file", found.files)):
        if number or what == "model":
            yield f"{number:,} {what}{'s' * (number != 1)}"


for _each in (namespace, sign, rotate, yank, unyank, deprecate, revoke):
    index.add_command(_each)
