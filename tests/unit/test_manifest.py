"""Manifests: a wrong field is told by its path."""

from __future__ import annotations

import pytest

from inferry.catalog.errors import InvalidManifest
from inferry.catalog.fields import line_of, lines
from inferry.catalog.manifest import read_manifest
from inferry.catalog.values.location import UrlLocation

GOOD = (
    """
name = "acme/thing"
version = "1.0.0"
summary = "A thing"
task = "image-classification"
license = "MIT"

[[inputs]]
name = "image"
dtype = "float32"
shape = ["batch", 1, 28, 20]
picture = { size = [28, 20], color = "gray", polarity = "light-on-dark", margin = 4, crop = CROP }

[[outputs]]
name = "logits"
dtype = "float32"
shape = ["batch", 2]
labels = ["a", "b"]

[card]
path = "card.md"
media_type = "text/markdown"
digest = "sha256:DIGEST"
size_bytes = 7

[license_text]
path = "LICENSE"
media_type = "text/plain"
digest = "sha256:DIGEST"
size_bytes = 8

[[golden]]
inputs = { path = "in.npz", media_type = "application/zip", digest = "sha256:DIGEST", size_bytes = 5 }
outputs = { path = "out.npz", media_type = "application/zip", digest = "sha256:DIGEST", size_bytes = 6 }

[[variants]]
name = "fp32"
precision = "fp32"
accuracy_loss = 0.25
artifact = { path = "thing.onnx", media_type = "x/onnx", digest = "sha256:DIGEST", size_bytes = 9, locations = [
  { kind = "hugging-face", repo = "Acme/Thing", revision = "COMMIT", path = "onnx/a thing.onnx" },
  { kind = "python-index", project = "acme-thing", version = "1.0.0+cu13", file = "acme_thing-1.0.0-py3-none-any.whl" },
  { kind = "url", url = "https://example.org:8443/thing.onnx?v=1" },
], redistribution = "allowed" }
graph = { ir_version = 8, opsets = { "" = 17, acme = 2 }, operators = ["Conv@17", "acme:F@2", "b:C"], external = ["w"] }
""".replace("DIGEST", 64 * "a")
    .replace("COMMIT", 40 * "c")
    .replace(
        "CROP", '{ shrink = 112, median = 3, flatten = "plane", threshold = "otsu", drop_below = 0.06, dilate = 2 }'
    )
)

AT = "variants[0].artifact.locations"
CASES = {
    "not TOML": ('name = "acme/thing"', "name = ", ""),
    "missing": ('version = "1.0.0"', "", "version"),
    "version": ('version = "1.0.0"', 'version = "v1"', "version"),
    "unknown": ('version = "1.0.0"', 'version = "1.0.0"\nflavour = 1', "flavour"),
    "unknown below": ("margin = 4", "border = 4", "inputs[0].picture.border"),
    "wrong type": ('version = "1.0.0"', "version = 1", "version"),
    "name": ("acme/thing", "acme thing", "name"),
    "name's type": ('"acme/thing"', "7", "name"),
    "precision": ('precision = "fp32"', 'precision = "fp33"', "variants[0].precision"),
    "digest": (
        f'sha256:{64 * "a"}", size_bytes = 9',
        f'sha256:{64 * "A"}"',
        "variants[0].artifact.digest",
    ),
    "a loss of more than all": ("= 0.25", "= 25", "variants[0].accuracy_loss"),
    "a gain": ("= 0.25", "= -0.25", "variants[0].accuracy_loss"),
    "a card that leaves": ("card.md", "../card.md", "card.path"),
    "a license's size": ("size_bytes = 8", "size_bytes = -8", "license_text.size_bytes"),
    "golden outputs only": ('inputs = { path = "in.npz"', 'input = { path = "in.npz"', "golden[0].input"),
    "a golden path that leaves": ("out.npz", "../out.npz", "golden[0].outputs.path"),
    "a path that leaves": ("thing.onnx", "../thing.onnx", "variants[0].artifact.path"),
    "an absolute path": ("thing.onnx", "/thing.onnx", "variants[0].artifact.path"),
    "a drive": ("thing.onnx", "C:thing.onnx", "variants[0].artifact.path"),
    "negative size": ("size_bytes = 9", "size_bytes = -9", "variants[0].artifact.size_bytes"),
    "no variant": (GOOD[GOOD.index("[[variants") :], "[variants]", "variants"),
    "a target without pixels": ("[28, 20]", "[28, 0]", "inputs[0].picture.size"),
    "three sides": ("[28, 20]", "[28, 20, 3]", "inputs[0].picture.size"),
    "a margin that leaves nothing": ("margin = 4", "margin = 10", "inputs[0].picture.margin"),
    "a threshold of no kind": ('"otsu"', "0.3", "inputs[0].picture.crop.threshold"),
    "light of no kind": ('"plane"', '"sphere"', "inputs[0].picture.crop.flatten"),
    "a copy of next to nothing": ("shrink = 112", "shrink = 7", "inputs[0].picture.crop.shrink"),
    "a copy without bound": ("shrink = 112", "shrink = 99999", "inputs[0].picture.crop.shrink"),
    "an even median": ("median = 3", "median = 4", "inputs[0].picture.crop.median"),
    "no median": ("median = 3", "median = -1", "inputs[0].picture.crop.median"),
    "a median without bound": ("median = 3", "median = 99", "inputs[0].picture.crop.median"),
    "specks larger than all": ("drop_below = 0.06", "drop_below = 1.5", "inputs[0].picture.crop.drop_below"),
    "too much around": ("dilate = 2", "dilate = 17", "inputs[0].picture.crop.dilate"),
    "less around than none": ("dilate = 2", "dilate = -1", "inputs[0].picture.crop.dilate"),
    "no threshold": ('threshold = "otsu", ', "", "inputs[0].picture.crop.threshold"),
    "an IR version below all": ("ir_version = 8", "ir_version = -8", "variants[0].graph.ir_version"),
    "an opset beyond all": ("acme = 2", "acme = 2147483648", "variants[0].graph.opsets[...]"),
    "an opset that is no number": ("acme = 2", 'acme = "2"', "variants[0].graph.opsets[...]"),
    "a domain with a blank": ("acme = 2", '"ac me" = 2', "variants[0].graph.opsets"),
    "ai.onnx in full": ('"" = 17', '"ai.onnx" = 17', "variants[0].graph.opsets"),
    "an operator that is none": ("acme:F@2", "acme F", "variants[0].graph.operators[1]"),
    "an operator's type": ('"Conv@17"', "17", "variants[0].graph.operators[0]"),
    "an operator of a later set": ("Conv@17", "Conv@18", "variants[0].graph.operators"),
    "an operator of no set": ("acme = 2", "other = 2", "variants[0].graph.operators"),
    "operators in disorder": ("Conv@17", "z:Conv", "variants[0].graph.operators"),
    "a file twice": ('["w"]', '["w", "w"]', "variants[0].graph.external"),
    "a graph of no versions": ("ir_version = 8, ", "", "variants[0].graph.ir_version"),
    "a range by hand": ("ir_version = 8, ", 'onnxruntime = ">=1.2", ir_version = 8, ', "variants[0].graph.onnxruntime"),
    "labels of no place": ('["a", "b"]', '["a"]', "outputs[0].labels"),
    "a limit beyond all": ('version = "1.0.0"', 'version = "1.0.0"\naccuracy_limit = nan', "accuracy_limit"),
    "a channel of no kind": ('version = "1.0.0"', 'version = "1.0.0"\nchannel = "beta"', "channel"),
    "redistribution of no kind": ('"allowed"', '"maybe"', "variants[0].artifact.redistribution"),
    "a location of no kind": ('"hugging-face"', '"ftp"', f"{AT}[0].kind"),
    "a location without a kind": ('kind = "url", ', "", f"{AT}[2].kind"),
    "a location's missing field": ('revision = "', 'version = "', f"{AT}[0].version"),
    "a repository without its owner": ("Acme/Thing", "Thing", f"{AT}[0].repo"),
    "a branch": (40 * "c", "main", f"{AT}[0].revision"),
    "a commit in part": (40 * "c", 39 * "c", f"{AT}[0].revision"),
    "a path out of a repository": ("onnx/a thing", "../a thing", f"{AT}[0].path"),
    "a folder of a repository": ("onnx/a thing.onnx", "onnx/", f"{AT}[0].path"),
    "a project not normalised": ("acme-thing", "Acme_Thing", f"{AT}[1].project"),
    "a version of an index": ("1.0.0+cu13", "v1", f"{AT}[1].version"),
    "a build of no version": ("1.0.0+cu13", "1.0.0+", f"{AT}[1].version"),
    "a file's path": ("acme_thing-1", "../acme_thing-1", f"{AT}[1].file"),
    "an address that is a secret": ("https://", "https://me:word@", f"{AT}[2].url"),
    "http": ("https:", "http:", f"{AT}[2].url"),
    "ftp": ("https:", "ftp:", f"{AT}[2].url"),
    "another machine's file": ("https:", "file:", f"{AT}[2].url"),
    "another machine's file for Windows": ("https://example.org:8443/", "file:////server/", f"{AT}[2].url"),
    "the same in disguise": ("https://example.org:8443/", "file:///%2Fserver/", f"{AT}[2].url"),
    "no address": ("https://example.org:8443/", "", f"{AT}[2].url"),
    "an address of no machine": ("example.org:8443", "", f"{AT}[2].url"),
    "an address with a blank": ("?v=1", "?v= 1", f"{AT}[2].url"),
    "a place in a file": ("?v=1", "#v1", f"{AT}[2].url"),
    "a scale of nothing": ("margin = 4", "scale = 0.0", "inputs[0].picture.scale"),
}


def test_a_good_one_becomes_a_release() -> None:
    release = read_manifest(GOOD, where="here")
    assert release.name == "acme/thing"
    assert release.variants[0].artifact.digest == f"sha256:{64 * 'a'}"
    assert release.inputs[0].picture
    assert release.inputs[0].picture.size == (28, 20)
    assert release.outputs[0].labels == ("a", "b")
    assert release.variants[0].accuracy_loss == 0.25
    assert release.variants[0].graph
    assert [(each.domain, each.type, each.opset) for each in release.variants[0].graph.operators] == [
        ("", "Conv", 17),
        ("acme", "F", 2),
        ("b", "C", None),
    ]
    artifact = release.variants[0].artifact
    assert artifact.redistribution == "allowed"
    assert [type(each).__name__.removesuffix("Location") for each in artifact.locations] == [
        "HuggingFace",
        "PythonIndex",
        "Url",
    ]
    assert (release.channel, release.inputs[0].sample, release.card and release.card.redistribution) == (
        "stable",
        None,
        "unknown",
    )
    assert (release.golden[0].inputs.path, release.golden[0].outputs.path) == ("in.npz", "out.npz")
    assert release.card
    assert release.card.media_type == "text/markdown"
    assert release.license_text
    assert release.license_text.size_bytes == 8


@pytest.mark.parametrize(("old", "new", "field"), CASES.values(), ids=CASES)
def test_a_wrong_field_is_named(old: str, new: str, field: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidManifest) as caught:
        read_manifest(GOOD.replace(old, new, 1), where="here.toml")
    assert caught.value.field == field
    assert caught.value.message.startswith(f"here.toml: {field}")
    assert caught.value.exit_code == 9


def test_all_that_is_wrong_is_told_at_once_each_with_its_line() -> None:
    text = GOOD.replace('version = "1.0.0"', 'version = "v1"\nflavour = 1').replace("margin = 4", "margin = 99")
    text = text.replace('precision = "fp32"', 'precision = "fp33"').replace('task = "image-classification"\n', "")
    with pytest.raises(InvalidManifest) as caught:
        read_manifest(text, where="here.toml")
    assert sorted(caught.value.fields) == ["flavour", "inputs[0].picture.margin", "task", "variants[0].precision"]
    lines = text.splitlines()
    told = {line.split(":")[0].strip(): line for line in caught.value.message.removeprefix("here.toml: ").splitlines()}
    for field, words in (
        ("flavour", "flavour = 1"),
        ("inputs[0].picture.margin", "picture = {"),
        ("variants[0].precision", 'precision = "fp33"'),
    ):
        line = next(place for place, each in enumerate(lines, 1) if each.startswith(words))
        assert f"(line {line})" in told[field]
    assert "(line" not in told["task"]
    assert " and 3 more:" in caught.value.message


def test_a_type_and_a_check_across_fields_are_told_together() -> None:
    """What a value checks across its own fields waits for these alone, not for those of other values."""
    first = GOOD.replace("size_bytes = 9", 'size_bytes = "9"')
    second = GOOD[GOOD.index("[[variants]]") :].replace("= 0.25", "= 25")
    with pytest.raises(InvalidManifest) as caught:
        read_manifest(first + second, where="here.toml")
    assert caught.value.fields == ("variants[0].artifact.size_bytes", "variants[1].accuracy_loss")
    second = second.replace(40 * "c", "main").replace('"acme-thing"', "7").replace('"url", ', '"url", port = 1, ')
    with pytest.raises(InvalidManifest) as caught:
        read_manifest(first + second, where="here.toml")
    assert caught.value.fields == (
        "variants[0].artifact.size_bytes",
        "variants[1].artifact.locations[0].revision",
        "variants[1].artifact.locations[1].project",
        "variants[1].artifact.locations[2].port",
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/x",
        "http://127.0.0.1:8000/x/y.onnx",
        "http://[::1]:8000/x",
        "file:///srv/models/x.onnx",
        "file:///C:/models/a%20thing.onnx",
        "file://localhost/x",
    ],
)
def test_an_address_of_this_machine(url: str) -> None:
    assert UrlLocation(url=url).url == url
    with pytest.raises(ValueError, match="url: ") as caught:
        UrlLocation(url=url.replace("//", "//me:word@", 1))
    assert "word@" not in str(caught.value)


def test_lines_are_found_in_any_toml() -> None:
    text = """a = 1
[b]
"c d" = 2
[[e]]
f = '''
g = 3
[h]
'''
[[e]]
f = 1
[e.i]
j = 2
[[e.k]]
l = 3
[[e.k]]
l = 4
"""
    found = lines(text)
    assert found == {
        "a": 1,
        "b": 2,
        "b.c d": 3,
        "e[0]": 4,
        "e[0].f": 5,
        "e[1]": 9,
        "e[1].f": 10,
        "e[1].i": 11,
        "e[1].i.j": 12,
        "e[1].k[0]": 13,
        "e[1].k[0].l": 14,
        "e[1].k[1]": 15,
        "e[1].k[1].l": 16,
    }
    assert [line_of(field, found) for field in ("e[1].k[1].m[3].n", "z", "a.b")] == [15, None, 1]
