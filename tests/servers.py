"""A server on loopback that does to a file what servers do, and remembers what it was asked."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping


class Asked(NamedTuple):
    """One request."""

    path: str
    headers: Mapping[str, str]


class Served(NamedTuple):
    """A server that runs."""

    url: str
    """Without a slash at its end."""
    asked: list[Asked]


class Answering(BaseHTTPRequestHandler):
    """One request, as those see it who decide what is answered."""

    protocol_version = "HTTP/1.1"

    def send(self, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Answer with all of ``data``, unless ``headers`` tell another length."""
        told = {"Content-Length": str(len(data)), "Content-Type": "application/octet-stream"} | dict(headers or {})
        self.send_response(status)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def send_range(self, data: bytes, upto: int | None = None) -> None:
        """Answer with the range that was asked for; cut the connection after ``upto`` bytes of it."""
        told = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(told[1]) if told else 0
        ranged = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if told else {}
        rest = data[start:]
        self.close_connection = upto is not None
        self.send(rest[:upto], 206 if told else 200, {**ranged, "Content-Length": str(len(rest))})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has them
        """Say nothing."""


@contextmanager
def serving(answer: Callable[[Answering, int], None]) -> Generator[Served]:
    """Serve on loopback; ``answer`` is given each request and how many came before it."""
    asked: list[Asked] = []

    class Handler(Answering):
        def do_GET(self) -> None:
            place = len(asked)
            asked.append(Asked(self.path, dict(self.headers)))
            answer(self, place)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
