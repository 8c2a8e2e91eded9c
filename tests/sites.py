"""Indexes behind a web server, and a user who has set them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from inferry import Client
from inferry.catalog.settings import Effective, Layer, parse_settings
from inferry.cli import inferry as group
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.settings import Machine
from inferry.index.signing.lifecycle import mark
from inferry.index.signing.site import Site as Signed
from inferry.tests.indexes import NOW, World
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

    from inferry.catalog.values.document import Status
    from inferry.catalog.values.source import SourceSpec
    from inferry.tests.servers import Answering, Served

NAME = "acme/add"


class Site:
    """An index behind a web server, and a user's home."""

    def __init__(self, world: World, served: Served, home: Path) -> None:
        self.world = world
        self.served = served
        self.home = home
        self.url = f"{served.url}/"
        self.machine = Machine(home.parent / "machine")

    @property
    def client(self) -> Client:
        """A client that begins anew."""
        return Client(home=self.home, machine=self.machine)

    @property
    def asked(self) -> list[str]:
        """What the server was asked since this was told last."""
        told = [each.path for each in self.served.asked]
        self.served.asked.clear()
        return told

    def sources(self, settings: str = "") -> SourceList:
        layer = Layer("machine policy", parse_settings(settings, where="policy.toml"), "policy.toml")
        return SourceList(self.machine, lambda: Effective([layer]), self.home)

    def add(self, **wish: Any) -> SourceSpec:
        told: dict[str, Any] = {"url": self.url, "name": "site", "fingerprint": self.fingerprint} | wish
        return self.sources().add(Wish(**told), Transport(wait=lambda _: None)).spec

    @property
    def fingerprint(self) -> str:
        return self.world.repository.status(NOW).fingerprint

    def mark(self, version: str, status: Status) -> None:
        mark(Signed(self.world.site, self.world.keys), f"{NAME}@={version}", status, NOW, "because")

    def publish(self, version: str, **more: Any) -> None:
        self.world.repository.add(publish(self.world.model.parent / f"v{version}", version=version, **more), NOW)


def hand_out(folder: Path, request: Answering) -> None:
    """Answer with a file of a folder, as any web server does."""
    path = folder / request.path.lstrip("/")
    if path.is_file():
        request.send(path.read_bytes())
    else:
        request.send(b"no such file", 404)


def run(site: Site, *arguments: str, input: str | None = None) -> Result:  # noqa: A002 - as click has it
    return CliRunner(env={"INFERRY_HOME": str(site.home)}).invoke(group, arguments, prog_name="inferry", input=input)
