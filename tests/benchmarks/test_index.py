"""Figures of signed indexes: what a look-up asks for and what a change costs, at 1,000, 10,000 and 100,000 models."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from inferry.catalog.settings import Effective
from inferry.catalog.values.names import parse_request
from inferry.index.client.library import Library
from inferry.index.client.source import Asked
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.settings import Machine
from inferry.index.signing.repository import Repository
from inferry.tests.indexes import NOW
from inferry.tests.make.large_index import KNOWN, make
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.figures
SIZES = (1_000, 10_000, 100_000)
CHANGES = 5
SERVER = """
import os, sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
class Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def __init__(self, *given):
        super().__init__(*given, directory=sys.argv[1])
    def log_message(self, *told):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
Figures = dict[str, dict[str, Any]]


class Count(NamedTuple):
    """What was asked for."""

    requests: int
    bytes: int
    ms: float


class Counted(Transport):
    """A transport that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = self.bytes = 0

    def document(self, url: str, limit_bytes: int) -> bytes:
        self.requests += 1
        data = super().document(url, limit_bytes)
        self.bytes += len(data)
        return data


class User:
    """Somebody with a source."""

    def __init__(self, url: str, fingerprint: str, home: Path) -> None:
        self.home = home
        self.listed = SourceList(Machine(home / "machine"), Effective, home)
        self.listed.add(Wish(url, name="it", fingerprint=fingerprint), Transport())

    def look_up(self, name: str) -> Count:
        """Return what a new process asks for to find a release, its document among it."""
        library = Library((), lambda: self.home / "data", self.listed.allowed)
        counted = Counted()
        library.__dict__["_transport"] = counted
        begun = time.perf_counter()
        assert library.find(Asked(parse_request(name), anew=True))
        return Count(counted.requests, counted.bytes, 1000 * (time.perf_counter() - begun))


@pytest.mark.parametrize("size", SIZES)
def test_what_a_look_up_and_a_change_cost(figures: Figures, tmp_path: Path, size: int) -> None:
    site, keys = tmp_path / "site", tmp_path / "keys"
    fingerprint = make(site, keys, size)
    with subprocess.Popen([sys.executable, "-c", SERVER, site], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
            user = User(url, fingerprint, tmp_path / "home")
            cold = User(url, fingerprint, tmp_path / "cold").look_up(KNOWN[0])
            user.look_up(KNOWN[0])
            warm = min((user.look_up(KNOWN[0]) for _ in range(5)), key=lambda each: each.ms)
            repository, took = Repository(site, keys), list[float]()
            for place in range(CHANGES):
                model = publish(tmp_path / "model", "acme/changed", f"1.{place}.0")
                begun = time.perf_counter()
                repository.add(model, NOW)
                took.append(1000 * (time.perf_counter() - begun))
            news = user.look_up(KNOWN[0])
        finally:
            server.kill()
    (listing,) = sorted((site / "targets/models/-").iterdir(), key=lambda path: path.stat().st_mtime_ns)[-1:]
    figures[f"a signed index of {size:,} models"] = {
        "cold_look_up": cold._asdict() | {"ms": round(cold.ms, 1)},
        "warm_look_up_without_news": warm._asdict() | {"ms": round(warm.ms, 1)},
        "warm_look_up_after_a_change_elsewhere": news._asdict() | {"ms": round(news.ms, 1)},
        "signing_one_change_ms": round(median(took), 1),
        "listing_bytes_a_model": round(listing.stat().st_size / size, 1),
        "limit": {"warm_look_up_without_news": {"requests": 2}, "listing_bytes_a_model": 200},
    }
    assert warm.requests == 2
    assert listing.stat().st_size <= 200 * size
