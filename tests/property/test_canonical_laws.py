"""Laws of the canonical form: equal values have equal bytes, and the bytes are read back as the value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from inferry.catalog.errors import InvalidDocument
from inferry.catalog.manifest import read_manifest
from inferry.catalog.values import canonical
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.location import UrlLocation
from inferry.catalog.values.model import Release
from inferry.tests.strategies import RELEASES

if TYPE_CHECKING:
    import random


laws = settings(deadline=None, max_examples=100)


@laws
@given(RELEASES)
def test_it_is_read_back_as_the_value(release: Release) -> None:
    data = canonical.encode(release)
    again = canonical.decode(data, Release)
    assert again == release
    assert (canonical.encode(again), again.digest) == (data, release.digest)
    assert release.digest == Digest.of(data)


@laws
@given(RELEASES, RELEASES)
def test_equal_values_have_equal_bytes_and_others_others(one: Release, other: Release) -> None:
    assert (canonical.encode(one) == canonical.encode(other)) == (one == other)
    assert canonical.encode(one) == canonical.encode(msgspec.structs.replace(one))


@laws
@given(RELEASES, st.randoms(use_true_random=False))
def test_the_order_of_keys_in_a_document_is_nothing(release: Release, chance: random.Random) -> None:
    def shuffled(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return dict(chance.sample(pairs, len(pairs)))

    data = json.loads(msgspec.json.encode(release, enc_hook=str), object_pairs_hook=shuffled)
    assert msgspec.convert(data, Release, dec_hook=canonical.from_text).digest == release.digest


@laws
@given(RELEASES)
def test_it_is_json_with_sorted_keys_and_no_defaults(release: Release) -> None:
    data = canonical.encode(release)

    def in_order(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        assert keys == sorted(keys)
        return dict(pairs)

    plain = json.loads(data, object_pairs_hook=in_order)
    assert data == msgspec.json.encode(msgspec.json.decode(data))  # which writes no white space
    assert ("channel" in plain) == (release.channel != "stable")
    assert None not in plain.values()


def test_what_the_form_is_written_out() -> None:
    """These bytes are a promise: digests that people wrote down hang on them."""
    manifest = f"""
summary = 'Ü "thing" </a>'
version = "1.0.0"
name = "Acme/Thing"
license = "MIT"
task = "t"
accuracy_limit = 0.010
channel = "stable"
inputs = []
outputs = []
[[variants]]
precision = "fp32"
name = "fp32"
accuracy_loss = 1.0
[variants.artifact]
path = "a.onnx"
size_bytes = 9
media_type = "m"
digest = "sha256:{64 * "a"}"
locations = [{{ url = "https://a/b", kind = "url" }}]
"""
    release = read_manifest(manifest, where="here")
    assert canonical.encode(release).decode() == (
        '{"accuracy_limit":0.01,"inputs":[],"license":"MIT","name":"acme/thing","outputs":[],'
        '"summary":"Ü \\"thing\\" </a>","task":"t","variants":[{"accuracy_loss":1,"artifact":{"digest":"sha256:'
        f'{64 * "a"}","locations":[{{"kind":"url","url":"https://a/b"}}],"media_type":"m","path":"a.onnx",'
        '"size_bytes":9},"name":"fp32","precision":"fp32"}],"version":"1.0.0"}'
    )


@pytest.mark.parametrize("data", [b"", b"{}", b"[", b"\xff", b'{"kind":"url","url":"ftp://a/b"}', b'{"url":7}'])
def test_what_is_no_value_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidDocument, match="no UrlLocation in canonical form"):
        canonical.decode(data, UrlLocation)
