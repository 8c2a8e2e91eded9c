"""Hugging Face: at which address a file of a repository lies, and what is told of who asks.

The one door of huggingface-hub, whose rules these are: ``HF_ENDPOINT`` is another server, ``HF_TOKEN`` (or what
``hf auth login`` kept) opens what is not for everybody, ``HF_HUB_DISABLE_IMPLICIT_TOKEN`` keeps that to itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ...catalog.errors import LibraryMissing

if TYPE_CHECKING:
    from ...catalog.values.location import HuggingFaceLocation

_HERE = frozenset({"localhost", "127.0.0.1", "::1"})


class Address(NamedTuple):
    """Where a file lies, and the headers to ask with."""

    url: str
    headers: dict[str, str]


def address(location: HuggingFaceLocation) -> Address:
    """Return where a location's file lies; raise ``LibraryMissing`` without huggingface-hub."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    try:
        from huggingface_hub import constants, get_token, hf_hub_url
    except ImportError as error:
        raise LibraryMissing(
            f"{words(location)} lies on Hugging Face, and huggingface-hub is not here",
            hints=('pip install "inferry[hf]"',),
        ) from error
    endpoint = os.environ.get("HF_ENDPOINT") or None  # it was read when huggingface-hub was imported, perhaps long ago
    url = hf_hub_url(str(location.repo), location.path, revision=location.revision, endpoint=endpoint)
    scheme, host = urlsplit(url).scheme, urlsplit(url).hostname
    unseen = scheme == "https" or host in _HERE
    token = get_token() if unseen and not constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else None
    return Address(url, {"Authorization": f"Bearer {token}"} if token else {})


def words(location: HuggingFaceLocation) -> str:
    """Return a location for people."""
    return f"hf:{location.repo}@{location.revision[:12]}/{location.path}"
