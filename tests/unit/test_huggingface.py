"""Files on Hugging Face: asked for by its own rules, at a server of ours, and verified by our digest."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from inferry import Client
from inferry.catalog.errors import LibraryMissing, NetworkError, Refused, VerificationError
from inferry.catalog.values.location import HuggingFaceLocation
from inferry.catalog.values.names import HuggingFaceName
from inferry.index.client.huggingface import address
from inferry.tests.servers import Answering, serving
from inferry.tests.shelves import adds, publish

if TYPE_CHECKING:
    from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
AT = f'{{ kind = "hugging-face", repo = "Acme/Add", revision = "{COMMIT}", path = "onnx/mödel.onnx" }}'
PATH = f"/Acme/Add/resolve/{COMMIT}/onnx/m%C3%B6del.onnx"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model whose file lies on Hugging Face alone; nobody is logged in."""
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return publish(tmp_path / "adder", locations=AT)


@pytest.fixture
def file(folder: Path) -> bytes:
    """Take the file away, and return its bytes."""
    data = (folder / "fp32.onnx").read_bytes()
    (folder / "fp32.onnx").unlink()
    return data


@pytest.mark.parametrize("token", ["", "hf_secret"])
def test_it_is_fetched_from_the_endpoint(
    token: str, folder: Path, file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(it: Answering, _: int) -> None:
        if it.path == PATH:  # large files lie elsewhere
            it.send(b"", 302, {"Location": f"{store.url}/blob?signature=1", "X-Repo-Commit": COMMIT})

    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    client = Client(home=tmp_path / "home")
    with serving(lambda it, _: it.send_range(file)) as store, serving(answer) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        assert client.prepare([folder])[0].fetched_bytes == len(file)
    assert [each.path for each in hub.asked] == [PATH]
    assert hub.asked[0].headers.get("Authorization") == (f"Bearer {token}" if token else None)
    assert "Authorization" not in store.asked[0].headers
    assert adds(client)


def test_other_bytes_are_refused(folder: Path, file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda it, _: it.send(b"x" * len(file))) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(VerificationError):
            Client(home=tmp_path / "home").prepare([folder])


@pytest.mark.usefixtures("file")
def test_what_is_not_for_everybody_is_told(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to model Acme/Add is restricted."}
    with serving(lambda it, _: it.send(b"", 403, told)) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        with pytest.raises(NetworkError, match="403 Forbidden: Access to model Acme/Add is restricted") as caught:
            Client(home=tmp_path / "home").prepare([folder])
    assert caught.value.hints() == ("a file that is not for everybody needs a token",)


@pytest.mark.usefixtures("file")
def test_without_the_network_and_without_the_library(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(home=tmp_path / "home")
    with pytest.raises(Refused) as refused:
        client.prepare([folder], offline=True)
    assert refused.value.hints() == ("it lies at hf:Acme/Add@0123456789ab/onnx/mödel.onnx",)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(LibraryMissing) as missing:
        client.prepare([folder])
    assert missing.value.hints() == ('pip install "inferry[hf]"',)


@pytest.mark.parametrize(
    ("endpoint", "sent"), [("https://hub.example", True), ("http://hub.example", False), ("http://[::1]:9", True)]
)
def test_a_token_is_sent_to_nobody_in_clear(endpoint: str, *, sent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    it = HuggingFaceLocation(repo=HuggingFaceName.parse("Acme/Add"), revision=COMMIT, path="a b.onnx")
    assert address(it) == (
        f"{endpoint}/Acme/Add/resolve/{COMMIT}/a%20b.onnx",
        {"Authorization": "Bearer hf_secret"} if sent else {},
    )
