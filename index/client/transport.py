"""Transport: the bytes of files over http and https. The one door of requests."""

from __future__ import annotations

import re
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ...catalog.errors import NetworkError, VerificationError
from ...catalog.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    import requests

TRIES: Final = 5
"""How often in a row nothing may come before it is given up."""
AT_ONCE: Final = 8
"""How many connections to one server are kept."""
PATIENCE_S: Final = 30.0
"""The longest wait between two tries, whatever the server asks for."""
_CHUNK: Final = 1 << 20
_PIECE: Final = 1 << 16
_TIMEOUT_S: Final = (10, 60)
"""To connect; and between two bytes."""
_DOCUMENT_S: Final = 120
"""How long a document may take to come, of which a server may send a byte now and then."""
_now = time.monotonic
_PLAIN: Final = frozenset({"identity"})
_PACKED: Final = frozenset({"identity", "gzip"})
_AGAIN: Final = frozenset({408, 429, 502, 503, 504})
_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class _AgainError(Exception):
    """Another try may do."""

    def __init__(self, words: str, after_s: float = 0) -> None:
        super().__init__(words)
        self.after_s = after_s


class Transport:
    """Gets files from servers, each in one stream that goes on where a connection ended.

    Proxies are those of the environment, and certificates are checked by the system's own trust store. Names and
    passwords of a ``.netrc`` are sent to nobody.
    """

    def __init__(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Nothing is asked yet; ``wait`` is how seconds pass between two tries."""
        self._wait = wait

    def stream(
        self, url: str, done: int, *, size_bytes: int, headers: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Yield the bytes of a file that has ``size_bytes``, from the one at ``done`` on; nobody has verified them.

        ``headers`` go with each request; an ``Authorization`` among them goes to no other server that it sends on to.

        Raises:
            NetworkError: the server cannot be reached, or it does not have the file, or sends less of it.
            VerificationError: what it has is of another size.
        """
        failed = 0
        while done < size_bytes:
            before = done
            try:
                for chunk in self._once(url, done, size_bytes, headers or {}):
                    done += len(chunk)
                    yield chunk
                if done < size_bytes:
                    raise _AgainError(f"it ended after {done:,} of {size_bytes:,} bytes")  # noqa: TRY301 - as a cut
            except _AgainError as error:
                failed = 1 if done - before >= _CHUNK else failed + 1
                if failed >= TRIES:
                    hint = "what came is kept: the next try goes on from there"
                    raise NetworkError(f"{plain(url)}: {error}", hints=(hint,)) from error
                self._wait(min(PATIENCE_S, max(error.after_s, 0.25 * 2**failed)))

    def document(self, url: str, limit_bytes: int) -> bytes:
        """Return a whole small file, of which nothing is known but how large it may be; it may come packed by gzip.

        Raises:
            NetworkError: the server cannot be reached, is too slow, cuts it short, or does not have it: then ``status``
                tells its answer.
            VerificationError: it is larger.
        """
        for turn in range(1, TRIES + 1):
            try:
                response = self._get(url, {"Accept-Encoding": "gzip"}, encodings=_PACKED)
                with response:
                    return _whole(response, url, limit_bytes)
            except _AgainError as error:
                if turn == TRIES:
                    raise NetworkError(f"{plain(url)}: {error}") from error
                self._wait(min(PATIENCE_S, max(error.after_s, 0.25 * 2**turn)))
        raise AssertionError

    def _once(self, url: str, done: int, size_bytes: int, headers: Mapping[str, str]) -> Iterator[bytes]:
        from urllib3.exceptions import HTTPError

        response = self._get(url, {**headers, "Range": f"bytes={done}-"} if done else headers)
        with response:
            passed = _begin(response, done)
            length = response.headers.get("Content-Length", "")
            if length.isdecimal() and int(length) + done - passed != size_bytes:
                kind = response.headers.get("Content-Type", "unnamed content")
                raise VerificationError(
                    f"{plain(url)}: the server has {int(length) + done - passed:,} bytes ({kind}), and not the file of"
                    f" {size_bytes:,}",
                    hints=("a network that asks for a login answers so, too: open any page in a browser",),
                )
            try:
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    rest = chunk[passed:] if passed else chunk
                    passed -= len(chunk) - len(rest)
                    if rest:
                        yield rest
            except (HTTPError, OSError) as error:
                raise _AgainError(f"the connection was cut: {error}") from error

    def _get(self, url: str, headers: Mapping[str, str], encodings: Collection[str] = _PLAIN) -> requests.Response:
        import requests

        try:
            response = self._session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_S)
        except requests.exceptions.SSLError as error:
            hint = "whom this system trusts is set up in it; a company's proxy needs its certificate there"
            raise NetworkError(f"{plain(url)}: its certificate is not trusted: {error}", hints=(hint,)) from error
        except (requests.ConnectionError, requests.Timeout) as error:
            raise _AgainError(f"it cannot be reached: {error}") from error
        except requests.RequestException as error:
            raise NetworkError(f"{plain(url)}: {error}") from error
        try:
            _check(response, url, encodings)
        except BaseException:
            response.close()
            raise
        return response

    @cached_property
    def _session(self) -> requests.Session:
        import ssl

        import requests
        import truststore
        from requests.adapters import HTTPAdapter

        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

        class Adapter(HTTPAdapter):
            def init_poolmanager(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as urllib3 has them
                super().init_poolmanager(*given, **named, ssl_context=context)

            def proxy_manager_for(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
                return super().proxy_manager_for(*given, **named, ssl_context=context)

            def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:  # noqa: ANN401 - as above
                if verify is not True:  # a file that the environment names
                    super().cert_verify(conn, url, verify, cert)  # type: ignore[no-untyped-call]

        class Session(requests.Session):
            def get_redirect_target(self, resp: requests.Response) -> str | None:
                target = super().get_redirect_target(resp)
                if target and str(resp.url).startswith("https:") and target.startswith("http:"):
                    raise requests.RequestException("it sends on to an address without encryption")
                return target

            def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
                ours, theirs = str(response.request.url), str(prepared_request.url)
                if self.should_strip_auth(ours, theirs):  # type: ignore[no-untyped-call]
                    prepared_request.headers.pop("Authorization", None)

        session = Session()
        session.mount("https://", Adapter(pool_maxsize=AT_ONCE))
        session.mount("http://", Adapter(pool_maxsize=AT_ONCE))
        session.headers.clear()
        session.headers.update({"User-Agent": f"inferry/{VERSION}", "Accept-Encoding": "identity"})
        session.auth = _nobody  # or requests would look into .netrc
        return session


def plain(url: str) -> str:
    """Return an address without what follows a question mark, which may be secret."""
    return url.partition("?")[0]


def _nobody(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _check(response: requests.Response, url: str, encodings: Collection[str]) -> None:
    """Refuse an answer that is not the file."""
    if response.status_code in _AGAIN:
        told = response.headers.get("Retry-After", "")
        after_s = float(told) if told.isdecimal() else 0.0
        raise _AgainError(f"it answers {response.status_code} {response.reason}", after_s)
    if response.status_code not in {200, 206}:
        host = urlsplit(response.url).netloc
        more = response.headers.get("X-Error-Message", "")[:200]  # as Hugging Face says why
        words = f"{plain(url)}: {host} answers {response.status_code} {response.reason}{more and f': {more}'}"
        hints = ("a file that is not for everybody needs a token",) * (response.status_code in {401, 403})
        raise NetworkError(words, hints=hints, status=response.status_code)
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding not in encodings:
        raise NetworkError(f"{plain(url)}: it is sent as {encoding}, though that was not asked for")


def _begin(response: requests.Response, done: int) -> int:
    """Return how many bytes come that are here already: all of them, from a server that knows no ranges."""
    if response.status_code == 200:  # noqa: PLR2004 - OK
        return done
    told = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if not told or int(told[1]) != done:
        raise NetworkError(f"{plain(response.url)}: it sends another range than the one from byte {done:,}")
    return 0


def _whole(response: requests.Response, url: str, limit_bytes: int) -> bytes:
    """Return what is sent, unpacked no further than ``limit_bytes``."""
    import zlib

    from urllib3.exceptions import HTTPError

    packed = response.headers.get("Content-Encoding") == "gzip"
    unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    end, data = _now() + _DOCUMENT_S, bytearray()
    try:
        # What has come, however little: `stream` waits until a piece is whole.
        while chunk := response.raw.read1(_PIECE, decode_content=False):
            data += unpack.decompress(chunk, limit_bytes + 1 - len(data)) if packed else chunk
            if len(data) > limit_bytes:
                raise VerificationError(f"{plain(url)}: it sends more than the {limit_bytes:,} bytes that it may have")
            if _now() > end:
                raise NetworkError(f"{plain(url)}: it is too slow: {len(data):,} bytes in {_DOCUMENT_S} s")
    except (HTTPError, OSError) as error:
        raise _AgainError(f"the connection was cut: {error}") from error
    except zlib.error as error:
        raise NetworkError(f"{plain(url)}: what it sends is not gzip, as it says: {error}") from error
    if packed and not unpack.eof:
        raise _AgainError(f"it ended after {len(data):,} bytes, in the middle of gzip")
    return bytes(data)
