"""``inferry index sign`` and ``rotate``: what keeps an index alive once it is made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...catalog.values.answer import Answer
from . import options

if TYPE_CHECKING:
    from ..signing.rotation import Rotated

_ROLES = ("root", "targets", "online")


@click.command()
@options.folder
@options.keys
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="An offline key in PEM: what it signs, root or targets, is renewed, near its expiry or not.",
)
@options.passphrase_file
def sign(folder: Path, *, keys: Path | None, key: Path | None, passphrase_file: Path | None) -> Answer:
    """Renew what the online key signs in the index in DIR and is near its expiry: let it run daily or weekly.

    Timestamp and snapshot are renewed when less than half of their life is left, the rest when less than a third is.

    For example: inferry index sign site
    """
    from ..signing.renewal import renew, renew_offline
    from ..signing.site import Site

    site, now = Site(folder, keys), datetime.now(UTC)
    it = renew_offline(site, key, now, options.ask(passphrase_file)) if key else renew(site, now)
    what = f"renewed {', '.join(it.renewed)}" if it.renewed else "nothing is near its expiry"
    return Answer(
        lines=(f"{what}: serial {it.serial}",),
        document={"serial": it.serial, "renewed": list(it.renewed), "expires": options.times(it.expires)},
        notes=tuple(
            f"{role} expires {options.day(end)}: inferry index sign {folder} --key {role}.pem renews it"
            for role, end in it.soon.items()
        ),
        told="words",
    )


@click.command()
@options.folder
@click.argument("role", type=click.Choice(_ROLES))
@options.keys
@options.passphrase_file
def rotate(folder: Path, role: Rotated, *, keys: Path | None, passphrase_file: Path | None) -> Answer:
    """Replace the key of ROLE, root, targets or online, in the index in DIR by a new one.

    Whoever knows an older root follows. What was interrupted is gone on with when the same is asked for again. The key
    of root is needed; for online that of targets too; for targets the online one.

    For example: inferry index rotate site online
    """
    from ..signing.rotation import rotate as turn
    from ..signing.site import Site

    it = turn(Site(folder, keys), role, datetime.now(UTC), options.ask(passphrase_file))
    return Answer(
        lines=(f"new {it.role} key: serial {it.serial}, fingerprint {it.fingerprint}",),
        document=it._asdict(),
        told="words",
    )
