"""Names and versions as they are asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import inferry
from inferry.catalog.errors import InvalidName, ModelNotFound, VersionNotFound
from inferry.catalog.values.digest import Digest
from inferry.catalog.values.names import HuggingFaceName, ModelName, PackageName, Wanted, is_path, parse_request
from inferry.catalog.values.version import CANONICAL, CHANNELS, VersionSpec
from inferry.index.client.source import FolderSource

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/names.md"

TAKEN: dict[str, tuple[list[str], list[str]]] = {
    "1.2": (["1.2", "1.2.0", "1.2.9"], ["1.3", "1.20", "2.0", "1.2.1rc1"]),
    "1": (["1", "1.9.9"], ["2", "10"]),
    "=1.2.0": (["1.2.0", "1.2"], ["1.2.1"]),
    "==1.2.0": (["1.2.0"], ["1.2.1"]),
    ">=1,<2": (["1.0", "1.9"], ["2.0", "0.9"]),
    "~=1.2": (["1.2", "1.3"], ["2.0", "1.1"]),
    "=2.0rc1": (["2.0rc1"], ["2.0"]),
    "2.0rc1": (["2.0rc1"], ["2.0"]),
}


@pytest.mark.parametrize(("spec", "versions"), TAKEN.items(), ids=TAKEN)
def test_which_versions_are_asked_for(spec: str, versions: tuple[list[str], list[str]]) -> None:
    wanted = parse_request(f"Acme/Thing@{spec}")
    asked = wanted.versions
    assert asked
    assert wanted == Wanted(ModelName("acme/thing"), asked, spelled=spec)
    for taken, each in zip((True, False), versions, strict=True):
        assert {version: asked.takes(version) for version in each} == dict.fromkeys(each, taken)


@pytest.mark.parametrize("spec", ["", " ", "x", "1.x", "=", ">=", "1..2", "1,2", "@1", "latest", "Preview", "main"])
def test_what_is_no_version(spec: str) -> None:
    with pytest.raises(InvalidName, match="does not say which version"):
        parse_request(f"acme/thing@{spec}")


def test_a_version_that_is_not_there() -> None:
    for spec in ("1", "1.0", "=1.0.0", ">=1,<2"):
        with inferry.load(f"inferry/digits@{spec}") as model:
            assert model.release
    with pytest.raises(VersionNotFound, match="`@>=2` asks for") as caught:
        inferry.load("inferry/digits@>=2")
    assert (caught.value.exit_code, caught.value.hints()) == (3, ("there is inferry/digits@=1.0.0",))


def test_the_normal_form_is_that_of_pep_440() -> None:
    for version in ("0", "1.2.0", "1!2.0", "1.0a1", "1.0rc1.post2.dev3"):
        assert CANONICAL.fullmatch(version)
    for version in ("v1.0", "01.2", "1.0-1", "1.0alpha1", "1.0+local", ""):
        assert not CANONICAL.fullmatch(version)


DIGEST = f"sha256:{64 * 'a'}"


def test_a_digest_or_a_channel_is_asked_for() -> None:
    name = ModelName("acme/thing")
    assert parse_request("acme/thing") == Wanted(name)
    assert parse_request(f"acme/thing@{DIGEST}") == Wanted(name, digest=Digest(DIGEST), spelled=DIGEST)
    for channel in CHANNELS:
        assert parse_request(f"acme/thing@{channel}") == Wanted(name, channel=channel, spelled=channel)
    for spelled in ("sha256:", DIGEST[:-1], DIGEST.upper().replace("SHA", "sha"), f"{DIGEST}0"):
        with pytest.raises(InvalidName, match="is not a digest"):
            parse_request(f"acme/thing@{spelled}")


@pytest.mark.parametrize(("spec", "exact"), {"=1.2.0": True, "==1.2": True, "===1.2": True, "2.0rc1": True}.items())
@pytest.mark.parametrize("more", ["", ",<2"])
def test_which_versions_are_exact(spec: str, more: str, *, exact: bool) -> None:
    assert VersionSpec.parse(spec + more).exact is (exact and not more)
    assert not any(VersionSpec.parse(each).exact for each in ("1.2", "==1.*", ">=1", "~=1.2", "!=1"))


@pytest.mark.parametrize("repo", ["Qwen/Qwen3-0.6B", "_a/b_", "a/b", f"{96 * 'A'}/{96 * 'b'}", "org/x.gitx"])
def test_a_repository_of_hugging_face_keeps_its_spelling(repo: str) -> None:
    for prefix in ("hf:", "HF:"):
        wanted = parse_request(f"{prefix}{repo}@1.2")
        assert isinstance(wanted.name, HuggingFaceName)
        assert (wanted.name, str(wanted.versions)) == (repo, "==1.2.*")
        assert wanted.name.folded == HuggingFaceName.parse(repo.swapcase()).folded


@pytest.mark.parametrize(
    "repo",
    [
        "",
        "gpt2",
        "a/b/c",
        "-a/b",
        "a/b-",
        "a/.b",
        "a/b--c",
        "a/b..c",
        "a/b.git",
        "a/b c",
        "a/ü",
        f"a/{97 * 'b'}",
        "a/b\n",
    ],
)
def test_what_is_no_repository_of_hugging_face(repo: str) -> None:
    with pytest.raises(InvalidName, match="not the name of a repository of Hugging Face") as caught:
        parse_request(f"hf:{repo}")
    assert "org/repo" in caught.value.hints()[0]


def test_the_page_says_how_names_are_read() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.*?) ?\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == 11
    kinds = {"a model's name": ModelName, "a repository of Hugging Face": HuggingFaceName}
    for written, what in rows:
        assert is_path(written) is (what == "a path"), written
        if what in kinds:
            assert type(parse_request(written).name) is kinds[what]
        elif not is_path(written):
            wanted = parse_request(written)
            told = {"versions": wanted.versions, "digest": wanted.digest, "channel": wanted.channel}
            assert [name for name, value in told.items() if value] == ([what] if what else []), written


def test_no_source_knows_hugging_face() -> None:
    with pytest.raises(ModelNotFound, match="no source knows the model `hf:Acme/Thing`") as caught:
        inferry.load("hf:Acme/Thing")
    assert caught.value.exit_code == 3
    assert "give the path" in caught.value.hints()[0]


def test_an_ep_package_is_named_as_a_model_is() -> None:
    assert PackageName.parse("Inferry/onnxruntime-GPU") == "inferry/onnxruntime-gpu"
    for text in ("onnxruntime-gpu", "inferry/onnx runtime", "inferry/", "/x"):
        with pytest.raises(InvalidName, match="is not an EP package's name"):
            PackageName.parse(text)


def test_a_release_document_of_the_built_in_index() -> None:
    found = FolderSource().find(ModelName("inferry/digits"))
    assert found
    assert found.release
    digest = found.release.digest
    with inferry.load(f"inferry/digits@{digest}") as model:
        assert model.release == found.release
    with inferry.load("inferry/digits@stable", channel="preview") as model:
        assert model.release == found.release
    with pytest.raises(VersionNotFound, match="no version that `@sha256:a") as caught:
        inferry.load(f"inferry/digits@{DIGEST}")
    assert caught.value.hints() == (f"there is inferry/digits@=1.0.0, {digest}",)
    with pytest.raises(VersionNotFound, match="`@preview`"):
        inferry.plan("inferry/digits@preview")


def test_a_plain_name_is_found_without_the_library_of_versions(tmp_path: Path) -> None:
    script = "import sys, inferry; inferry.Client().find('inferry/digits'); print('packaging' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert told.stdout.split() == ["False"]
