"""Locations: where an artifact's bytes lie beside its release. Whatever comes from there must match its digest."""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from .names import HuggingFaceName
from .version import CANONICAL

Redistribution = Literal["allowed", "forbidden", "unknown"]
"""Whether others may hand a file on: bundle, mirror or serve it. Only what is ``allowed`` is."""

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_PROJECT: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LOCAL: Final = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*")
_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,254}")
_URL: Final = re.compile(
    r"(?P<scheme>[a-z]+)://(?P<host>\[[0-9a-f:.]+\]|[A-Za-z0-9.-]*)(?::[0-9]{1,5})?(?P<path>/[!-~]+)"
)
_ELSEWHERE: Final = re.compile(r"//|.*%(?:2f|5c)", re.IGNORECASE)
"""A path that Windows may read as another machine's."""
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_LONGEST: Final = 2000


class HuggingFaceLocation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="hugging-face"
):
    """A file of a repository on Hugging Face; ``kind = "hugging-face"``."""

    repo: HuggingFaceName
    """``org/repo``, as its address spells it."""
    revision: str
    """The commit, 40 hexadecimal digits: a branch or a tag can be moved, and would then lead to other bytes."""
    path: str
    """Within the repository, with ``/``."""

    def __post_init__(self) -> None:
        """Refuse what is no commit, and a path that leaves the repository; raise ``ValueError`` naming the field."""
        if not _COMMIT.fullmatch(self.revision):
            raise ValueError(f"revision: `{self.revision[:100]}` is no commit: write 40 lower-case hexadecimal digits")
        parts = self.path.split("/")
        if {"", ".", ".."} & set(parts) or re.search(r"[\x00-\x1f\x7f\\]", self.path) or len(self.path) > _LONGEST:
            raise ValueError(f"path: `{self.path[:100]}` is not a path within a repository, as onnx/model.onnx")


class PythonIndexLocation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="python-index"
):
    """A file of a project on the Python package index that whoever asks is set up for; ``kind = "python-index"``."""

    project: str
    """Its name, normalised as PEP 503 has it: ``onnxruntime-gpu``."""
    version: str
    """In the normal form of PEP 440."""
    file: str
    """The name of the file: of a wheel, say."""

    def __post_init__(self) -> None:
        """Refuse what an index cannot have; raise ``ValueError`` naming the field."""
        if not _PROJECT.fullmatch(self.project):
            raise ValueError(f"project: `{self.project[:100]}` is no normalised name, as onnxruntime-gpu")
        public, plus, local = self.version.partition("+")
        if not CANONICAL.fullmatch(public) or (plus and not _LOCAL.fullmatch(local)):
            raise ValueError(f"version: `{self.version[:100]}` is no version in the normal form of PEP 440, as 1.2.0")
        if not _FILE.fullmatch(self.file):
            raise ValueError(f"file: `{self.file[:100]}` is not a file's name")


class UrlLocation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="url"):
    """An address of the file itself; ``kind = "url"``."""

    url: str
    """``https:``; ``http:`` of this machine alone; or ``file:///`` and an absolute path, percent-encoded."""

    def __post_init__(self) -> None:
        """Refuse other addresses, and names and passwords in one; raise ``ValueError`` naming the field.

        The words do not repeat the address: it may hold what is secret.
        """
        url = _URL.fullmatch(self.url)
        if "@" in self.url.partition("://")[2].partition("/")[0]:
            raise ValueError("url: it holds a name or password, which everybody would read")
        if not url or "#" in self.url or "\\" in self.url or len(self.url) > _LONGEST:
            raise ValueError("url: it is no address of a file, as https://example.org/model.onnx: ASCII, without `#`")
        scheme, host = url["scheme"], url["host"].lower()
        if scheme == "file" and (host not in {"", "localhost"} or _ELSEWHERE.match(url["path"])):
            raise ValueError("url: a file: address is of this machine: file:/// and an absolute path")
        if scheme != "file" and (not host or scheme not in {"http", "https"}):
            raise ValueError("url: it must be https:, or file: for a file of this machine")
        if scheme == "http" and not _LOOPBACK.fullmatch(host):
            raise ValueError("url: http: is for this machine alone (localhost); use https:")


Location = HuggingFaceLocation | PythonIndexLocation | UrlLocation
