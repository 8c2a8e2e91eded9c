"""Figures of fetching over http on loopback: what it costs over a loop by hand, and over the peer's client."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import disk_usage, rmtree
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
import requests

from inferry.catalog.values.location import UrlLocation
from inferry.catalog.values.model import Artifact
from inferry.index.client.fetch import Reach, fetch
from inferry.index.client.transport import Transport
from inferry.index.files import hash_file
from inferry.index.store import FolderStore

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = pytest.mark.figures
ROUNDS = 7
MIB = 1 << 20
FETCHED_MIB = 1024
COMMIT = "0123456789abcdef0123456789abcdef01234567"
REPO = "acme/large"
Figures = dict[str, dict[str, Any]]
SERVER = """
import os, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
path, tag, commit = sys.argv[1:]
size = os.path.getsize(path)
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self):
        told = re.fullmatch(r"bytes=(\\d+)-(\\d*)", self.headers.get("Range", ""))
        start = int(told[1]) if told else 0
        end = int(told[2]) + 1 if told and told[2] else size
        self.send_response(206 if told else 200)
        if told:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        for name, value in {"Content-Length": end - start, "ETag": f'"{tag}"', "X-Repo-Commit": commit}.items():
            self.send_header(name, str(value))
        self.end_headers()
        return start, end
    def do_GET(self):
        start, end = self.do_HEAD()
        self.wfile.flush()
        with open(path, "rb") as file:
            while start < end:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, end - start)
    def log_message(self, *told):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""
PEER = """
import sys, time
from huggingface_hub import hf_hub_download
repo, commit, folder = sys.argv[1:]
begun = time.perf_counter()
hf_hub_download(repo, "model.onnx", revision=commit, cache_dir=folder)
print(time.perf_counter() - begun)
"""


@contextmanager
def server(file: Path, tag: str) -> Generator[str]:
    """Serve one file under every address, in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", SERVER, file, tag, COMMIT], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout
        try:
            yield f"http://127.0.0.1:{int(it.stdout.readline())}"
        finally:
            it.kill()


def ours(url: str, digest: Any, size: int, folder: Path) -> float:
    store, location = FolderStore(folder / "store"), UrlLocation(url=f"{url}/model.onnx")
    it = Artifact(path="model.onnx", media_type="a/b", digest=digest, size_bytes=size, locations=(location,))
    os.sync()
    begun = time.perf_counter()
    fetch([it], store, Reach(None, Transport()), item="it")
    took = time.perf_counter() - begun
    assert store.has(digest)
    rmtree(folder / "store")
    return took


def by_hand(url: str, digest: Any, folder: Path) -> float:
    os.sync()
    begun = time.perf_counter()
    hashed = sha256()
    with requests.get(f"{url}/model.onnx", stream=True, timeout=60) as answer, (folder / "it").open("wb") as file:
        for chunk in answer.iter_content(MIB):
            hashed.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    assert f"sha256:{hashed.hexdigest()}" == digest
    took = time.perf_counter() - begun
    (folder / "it").unlink()
    return took


def peer(url: str, folder: Path) -> float:
    """Return what huggingface-hub's own download takes, which checks the size alone; its imports are not counted."""
    told = {
        "HF_ENDPOINT": url,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": str(folder / "home"),
    }
    command = [sys.executable, "-c", PEER, REPO, COMMIT, str(folder / "cache")]
    took = float(subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=True).stdout)
    rmtree(folder / "cache")
    return took


def test_a_verified_fetch_costs_little_and_beats_the_peer(figures: Figures, tmp_path: Path) -> None:
    """In memory, as the store's own figure: a disk's times vary by half."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    steady = memory.is_dir() and disk_usage(memory).free > 4 * FETCHED_MIB * MIB
    with TemporaryDirectory(dir=memory if steady else tmp_path) as name:
        folder = Path(name)
        with (folder / "source").open("wb") as file:
            for _ in range(FETCHED_MIB):
                file.write(os.urandom(MIB))
        digest = hash_file(folder / "source")
        with server(folder / "source", digest.partition(":")[2]) as url:
            times: dict[str, list[float]] = {"ours": [], "by hand": [], "peer": []}
            for turn in range(ROUNDS):
                for who in (*times,)[:: 1 if turn % 2 else -1]:
                    if who == "ours":
                        took = ours(url, digest, FETCHED_MIB * MIB, folder)
                    else:
                        took = by_hand(url, digest, folder) if who == "by hand" else peer(url, folder)
                    times[who].append(took)
    middle = {who: median(each) for who, each in times.items()}
    hand, hub = middle["by hand"] / middle["ours"], middle["peer"] / middle["ours"]
    figures["fetching 1 GiB over loopback / requests, sha256, write, fsync by hand"] = {
        "speed_ratio": round(hand, 3),
        "limit": 0.9,
        "in": "memory" if steady else "a disk",
        **{f"{who.replace(' ', '_')}_mb_s": round(FETCHED_MIB * MIB / each / 1e6) for who, each in middle.items()},
    }
    figures["fetching 1 GiB over loopback, verified / hf_hub_download, by size alone"] = {
        "speed_ratio": round(hub, 3),
        "limit": 2,
    }
    assert hand >= 0.9
    assert hub >= 2
