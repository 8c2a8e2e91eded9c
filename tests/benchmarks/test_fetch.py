"""Figures of pulling from an index over http on loopback: what it costs over a loop by hand, and the peer's client."""

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
from onnx import TensorProto

from inferry import Client
from inferry.catalog.settings import Effective
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.composing.compose import Flags
from inferry.index.files import hash_file
from inferry.index.settings import Machine
from inferry.index.signing.repository import Repository
from inferry.tests.graphs import node, of
from inferry.tests.indexes import NOW
from inferry.tests.models import saved

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
large, site, tag, commit = sys.argv[1:]
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_HEAD(self):
        self.file = large if self.path.endswith("/model.onnx") else site + self.path
        if not os.path.isfile(self.file):
            self.send_error(404)
            return 0, 0
        size = os.path.getsize(self.file)
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
        if start == end:
            return
        with open(self.file, "rb") as file:
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
def server(file: Path, site: Path, tag: str) -> Generator[str]:
    """Serve an index, and one of its files as every model.onnx, in a process of its own."""
    command: list[str | Path] = [sys.executable, "-c", SERVER, file, site, tag, COMMIT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout
        try:
            yield f"http://127.0.0.1:{int(it.stdout.readline())}"
        finally:
            it.kill()


def published(folder: Path) -> tuple[Path, str]:
    """Make an index with a model of 1 GiB in ``folder``; return it and its fingerprint. The model stays there alone."""
    model = folder / "model"
    model.mkdir()
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[FETCHED_MIB * MIB // 4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights")
    (model / "model.onnx").write_bytes(saved(of(node("Abs"), weights=(tensor,))))
    with (model / "weights").open("wb") as file:
        for _ in range(FETCHED_MIB):
            file.write(os.urandom(MIB))
    site = Repository(folder / "site", folder / "keys")
    made = site.init(NOW)
    site.add(model / "model.onnx", NOW, Flags(name=REPO, version="1.0.0", license="MIT"))
    rmtree(model)
    return folder / "site", made.fingerprint


def ours(url: str, fingerprint: str, folder: Path) -> float:
    """Return what a pull takes of somebody new, who knows the machine and the fingerprint: look-up, files, records."""
    home, machine = folder / "home", Machine(folder / "machine")
    SourceList(machine, Effective, home).add(Wish(f"{url}/", name="it", fingerprint=fingerprint), Transport())
    client = Client(home=home, machine=machine)
    client.devices()
    os.sync()
    begun = time.perf_counter()
    (it,) = client.prepare([REPO])
    took = time.perf_counter() - begun
    assert it.fetched_bytes > FETCHED_MIB * MIB
    rmtree(home)
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
    command: list[str | Path] = [sys.executable, "-c", PEER, REPO, COMMIT, str(folder / "cache")]
    took = float(subprocess.run(command, env=os.environ | told, capture_output=True, text=True, check=True).stdout)
    rmtree(folder / "cache")
    return took


def test_a_verified_fetch_costs_little_and_beats_the_peer(figures: Figures, tmp_path: Path) -> None:
    """In memory, as the store's own figure: a disk's times vary by half."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    steady = memory.is_dir() and disk_usage(memory).free > 4 * FETCHED_MIB * MIB
    with TemporaryDirectory(dir=memory if steady else tmp_path) as name:
        folder = Path(name)
        site, fingerprint = published(folder)
        large = max((site / "blobs").rglob("*"), key=lambda path: path.stat().st_size)
        digest = hash_file(large)
        with server(large, site, digest.partition(":")[2]) as url:
            times: dict[str, list[float]] = {"ours": [], "by hand": [], "peer": []}
            for turn in range(ROUNDS):
                for who in (*times,)[:: 1 if turn % 2 else -1]:
                    if who == "ours":
                        took = ours(url, fingerprint, folder)
                    else:
                        took = by_hand(url, digest, folder) if who == "by hand" else peer(url, folder)
                    times[who].append(took)
    middle = {who: median(each) for who, each in times.items()}
    hand, hub = middle["by hand"] / middle["ours"], middle["peer"] / middle["ours"]
    figures["pulling 1 GiB from an index over loopback / requests, sha256, write, fsync by hand"] = {
        "speed_ratio": round(hand, 3),
        "limit": 0.9,
        "in": "memory" if steady else "a disk",
        **{f"{who.replace(' ', '_')}_mb_s": round(FETCHED_MIB * MIB / each / 1e6) for who, each in middle.items()},
    }
    figures["pulling 1 GiB from an index over loopback, verified / hf_hub_download, by size alone"] = {
        "speed_ratio": round(hub, 3),
        "limit": 2,
    }
    assert hand >= 0.9
    assert hub >= 2
