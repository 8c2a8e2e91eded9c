"""Documents over http: whole, bounded, unpacked no further than they may be, from whom the system trusts."""

from __future__ import annotations

import datetime as dt
import gzip
import ipaddress
import ssl
import threading
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from inferry.catalog.errors import Error, NetworkError, VerificationError
from inferry.index.client import transport
from inferry.index.client.transport import TRIES, Transport
from inferry.tests.servers import Answering, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DATA = b'{"a": "document"}' * 100
PACKED = {"Content-Encoding": "gzip"}


def get(url: str, limit: int = 10_000) -> bytes:
    return Transport(wait=lambda _: None).document(url, limit)


def test_it_comes_packed_and_is_whole() -> None:
    with serving(lambda it, _: it.send(gzip.compress(DATA), headers=PACKED)) as served:
        assert get(f"{served.url}/a.json") == DATA
    assert served.asked[0].headers["Accept-Encoding"] == "gzip"
    with serving(lambda it, _: it.send(DATA)) as served:
        assert get(f"{served.url}/a.json", len(DATA)) == DATA
        with pytest.raises(VerificationError, match=f"more than the {len(DATA) - 1:,} bytes"):
            get(f"{served.url}/a.json", len(DATA) - 1)


def test_what_is_packed_small_is_not_unpacked_without_an_end() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    with (
        serving(lambda it, _: it.send(bomb, headers=PACKED)) as served,
        pytest.raises(VerificationError, match="more than the 10,000 bytes"),
    ):
        get(f"{served.url}/a.json")


def test_it_is_sent_without_an_end() -> None:
    def endless(it: Answering, _: int) -> None:
        it.send_response(200)
        it.end_headers()
        it.close_connection = True
        with suppress(OSError):
            while True:
                it.wfile.write(b"x" * 65_536)

    with serving(endless) as served, pytest.raises(VerificationError, match="more than the 10,000 bytes"):
        get(f"{served.url}/a.json")


BROKEN: dict[str, tuple[Callable[[Answering, int], None], type[Error], str]] = {
    "cut short": (lambda it, _: it.send_range(DATA, 50), NetworkError, "the connection was cut"),
    "cut short, packed": (
        lambda it, _: it.send(gzip.compress(DATA)[:-9], headers=PACKED),
        NetworkError,
        "in the middle of gzip",
    ),
    "not what it says": (lambda it, _: it.send(DATA, headers=PACKED), NetworkError, "is not gzip, as it says"),
    "packed otherwise": (
        lambda it, _: it.send(DATA, headers={"Content-Encoding": "br"}),
        NetworkError,
        "sent as br, though that was not asked for",
    ),
    "not there": (lambda it, _: it.send(b"", 404), NetworkError, "404 Not Found"),
    "never ready": (lambda it, _: it.send(b"", 503), NetworkError, "503 Service Unavailable"),
}


@pytest.mark.parametrize(("answer", "kind", "words"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_it_is_told(answer: Any, kind: type[Error], words: str) -> None:
    with serving(answer) as served, pytest.raises(kind, match=words):
        get(f"{served.url}/a.json")


def test_who_is_busy_is_asked_again_when_it_says() -> None:
    waits: list[float] = []

    def answer(it: Answering, place: int) -> None:
        if place < TRIES - 1:
            it.send(b"", 429, {"Retry-After": "7"})
        else:
            it.send(DATA)

    with serving(answer) as served:
        assert Transport(wait=waits.append).document(f"{served.url}/a.json", 10_000) == DATA
    assert waits == [7.0] * (TRIES - 1)


def test_the_answer_of_a_server_is_kept() -> None:
    with serving(lambda it, _: it.send(b"", 404)) as served, pytest.raises(NetworkError) as caught:
        get(f"{served.url}/a.json")
    assert caught.value.status == 404
    with pytest.raises(NetworkError) as caught:
        get(f"{served.url}/a.json")
    assert caught.value.status is None


def test_a_byte_now_and_then_is_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 100_000, 70))
    monkeypatch.setattr(transport, "_now", lambda: float(next(now)))

    def answer(it: Answering, _: int) -> None:
        it.send_response(200)
        it.send_header("Content-Length", "1000")
        it.end_headers()
        for _each in range(1000):
            it.wfile.write(b"x")
            it.wfile.flush()

    with serving(answer) as served, pytest.raises(NetworkError, match="it is too slow"):
        get(f"{served.url}/a.json")


def certificate(folder: Path) -> Path:
    """Write a certificate for this machine that nobody vouches for, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    plain = serialization.NoEncryption(), serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, plain[1], plain[0])
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return file


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_bytes(DATA)
    file = certificate(tmp_path)

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given, directory=str(tmp_path))

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has them
            """Say nothing."""

    class Deaf(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of who hangs up."""

    server = Deaf(("127.0.0.1", 0), Quiet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        url = f"https://127.0.0.1:{server.server_port}/a.json"
        with pytest.raises(NetworkError, match="its certificate is not trusted"):
            get(url)
        with pytest.raises(NetworkError, match="its certificate is not trusted"):
            b"".join(Transport(wait=lambda _: None).stream(url, 0, size_bytes=len(DATA)))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(file))
        assert get(url) == DATA
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
