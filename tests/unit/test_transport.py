"""Bytes over http, from servers of every manner."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from inferry.catalog.errors import NetworkError, VerificationError
from inferry.index.client.transport import PATIENCE_S, TRIES, Transport
from inferry.tests.servers import Answering, Served, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DATA = bytes(range(256)) * 20_000
SIZE = len(DATA)


class Clock(list[float]):
    """Seconds that passed between tries, without waiting for them."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def get(answer: Callable[[Answering, int], None], done: int = 0, size: int = SIZE) -> tuple[bytes, Served, Clock]:
    clock = Clock()
    with serving(answer) as server:
        data = b"".join(Transport(clock).stream(f"{server.url}/model.onnx?key=secret", done, size_bytes=size))
    return data, server, clock


def test_a_file_comes_whole_in_one_request() -> None:
    data, server, clock = get(lambda it, _: it.send_range(DATA))
    assert data == DATA
    (asked,) = server.asked
    assert asked.path == "/model.onnx?key=secret"
    assert asked.headers["Accept-Encoding"] == "identity"
    assert asked.headers["User-Agent"].startswith("inferry/")
    assert {name.lower() for name in asked.headers} <= {"host", "user-agent", "accept-encoding"}
    assert clock == []


def test_it_goes_on_from_what_is_here() -> None:
    data, server, _ = get(lambda it, _: it.send_range(DATA), done=1000)
    assert data == DATA[1000:]
    assert server.asked[0].headers["Range"] == "bytes=1000-"


@pytest.mark.parametrize("done", [1, 1000, SIZE - 1])
def test_a_server_without_ranges_sends_all_and_what_is_here_is_passed_over(done: int) -> None:
    assert get(lambda it, _: it.send(DATA), done=done)[0] == DATA[done:]


def test_it_goes_on_where_the_connection_is_cut() -> None:
    data, server, clock = get(lambda it, _: it.send_range(DATA, upto=2_000_000))
    assert data == DATA
    assert [each.headers.get("Range") for each in server.asked] == [None, "bytes=2000000-", "bytes=4000000-"]
    assert len(clock) == 2


def test_a_length_that_nobody_told_ends_where_it_ends() -> None:
    def answer(it: Answering, place: int) -> None:
        it.close_connection = True
        it.send_response(200)
        it.end_headers()
        it.wfile.write(DATA if place else DATA[:100])

    assert get(answer)[0] == DATA


def test_busy_servers_are_waited_for() -> None:
    def answer(it: Answering, place: int) -> None:
        if place < 3:
            it.send(b"later", (429, 503, 503)[place], {"Retry-After": ("2", "86400", "soon")[place]})
        else:
            it.send_range(DATA)

    data, _, clock = get(answer)
    assert data == DATA
    assert clock == [2, PATIENCE_S, 2.0]


def test_one_that_always_cuts_is_given_up_with_what_came() -> None:
    came: list[bytes] = []
    with serving(lambda it, _: it.send_range(DATA, upto=1)) as server:
        with pytest.raises(NetworkError, match=r"/model\.onnx: the connection was cut") as caught:
            came.extend(Transport(Clock()).stream(f"{server.url}/model.onnx?key=secret", 0, size_bytes=SIZE))
        assert len(server.asked) == TRIES
    assert b"".join(came) == DATA[:TRIES]
    assert caught.value.exit_code == 6
    assert caught.value.hints() == ("what came is kept: the next try goes on from there",)
    assert "secret" not in str(caught.value)


def test_nobody_there() -> None:
    with serving(lambda it, _: it.send(b"")) as server:
        pass
    clock = Clock()
    with pytest.raises(NetworkError, match="cannot be reached"):
        next(Transport(clock).stream(f"{server.url}/a", 0, size_bytes=1))
    assert clock == [0.5, 1, 2, 4]


def sends_on(it: Answering, place: int) -> None:
    if place:
        it.send_range(DATA)
    else:
        it.send(b"", 302, {"Location": "/elsewhere"})


def test_a_redirect_is_followed() -> None:
    data, server, _ = get(sends_on)
    assert data == DATA
    assert server.asked[1].path == "/elsewhere"


def other_range(it: Answering, _: int) -> None:
    it.send(DATA[7:], 206, {"Content-Range": f"bytes 7-{SIZE - 1}/{SIZE}"})


def packed(it: Answering, _: int) -> None:
    it.send(gzip.compress(DATA), headers={"Content-Encoding": "gzip"})


def portal(it: Answering, _: int) -> None:
    it.send(b"<html>Log in</html>", headers={"Content-Type": "text/html"})


def around(it: Answering, _: int) -> None:
    it.send(b"", 302, {"Location": "/again"})


BAD: dict[str, tuple[Callable[[Answering, int], None], type[Exception], str]] = {
    "not there": (lambda it, _: it.send(b"", 404), NetworkError, "answers 404 Not Found"),
    "forbidden": (lambda it, _: it.send(b"", 403), NetworkError, "answers 403 Forbidden"),
    "broken": (lambda it, _: it.send(b"", 500), NetworkError, "answers 500"),
    "no such range": (lambda it, _: it.send(b"", 416), NetworkError, "answers 416"),
    "another range": (other_range, NetworkError, "sends another range than the one from byte 10"),
    "packed": (packed, NetworkError, "it is sent as gzip, though that was not asked for"),
    "a portal": (portal, VerificationError, r"the server has 19 bytes \(text/html\), and not the file of 5,120,000"),
    "too long": (lambda it, _: it.send(DATA + b"x"), VerificationError, "the server has 5,120,001 bytes"),
    "around": (around, NetworkError, "Exceeded 30 redirects"),
}


@pytest.mark.parametrize(("answer", "kind", "words"), BAD.values(), ids=BAD)
def test_what_is_not_the_file_is_refused(
    answer: Callable[[Answering, int], None], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        get(answer, done=10)


def test_no_password_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    _, server, _ = get(lambda it, _: it.send_range(DATA))
    assert "Authorization" not in server.asked[0].headers


def test_no_password_and_no_token_is_sent_to_another_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text("default login me password secret\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    told = {"Authorization": "Bearer token"}
    with serving(lambda it, _: it.send_range(DATA)) as other:

        def on(it: Answering, _: int) -> None:
            it.send(b"", 302, {"Location": f"{other.url}/b" if it.path == "/a" else "/a"})

        with serving(on) as server:
            stream = Transport().stream(f"{server.url}/", 0, size_bytes=SIZE, headers=told)
            assert b"".join(stream) == DATA
    assert [each.headers.get("Authorization") for each in server.asked] == ["Bearer token"] * 2
    assert "Authorization" not in other.asked[0].headers


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda it, _: it.send_range(DATA)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert b"".join(Transport().stream("http://models.example/a.onnx", 0, size_bytes=SIZE)) == DATA
    assert [each.path for each in proxy.asked] == ["http://models.example/a.onnx"]
