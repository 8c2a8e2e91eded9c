"""``inferry index sign``: what keeps an index alive once it is made."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from ...catalog.values.answer import Answer
from . import options


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
