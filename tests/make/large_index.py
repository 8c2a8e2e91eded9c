"""Makes an index of many models, for figures: signed as ever, with the documents of a few."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from inferry.catalog.values.digest import Digest
from inferry.catalog.values.document import ModelDocument, ModelEntry
from inferry.catalog.values.link import Link
from inferry.catalog.values.listing import Listing
from inferry.catalog.values.names import ModelName
from inferry.index import wire
from inferry.index.listing import PATH, encode_listing, listed
from inferry.index.signing import roles
from inferry.index.signing.keys import KeyFolder
from inferry.index.signing.place import Place
from inferry.index.signing.repository import Repository
from inferry.tests.indexes import NOW
from inferry.tests.shelves import publish

if TYPE_CHECKING:
    from pathlib import Path

KNOWN: Final = ("acme/known",)
"""The models whose documents are there."""
TASKS: Final = ("text-generation", "image-classification", "feature-extraction", "object-detection", "speech-to-text")
WORDS: Final = (
    *("small", "large", "fast", "tiny", "base", "vision", "language", "audio", "speech", "encoder", "decoder"),
    *("multilingual", "english", "instruct", "chat", "code", "embedding", "retrieval", "segmentation", "depth"),
    *("pose", "quantised", "distilled", "sparse", "mobile", "edge", "server", "reasoning", "medical"),
)
LICENCES: Final = ("MIT", "Apache-2.0", "BSD-3-Clause", "CC-BY-4.0", "LicenseRef-community")


def documents(count: int) -> list[ModelDocument]:
    """Return the package documents of so many models, by name."""
    random = Random(count)
    made: dict[str, ModelDocument] = {}
    while len(made) < count:
        words = random.choices(WORDS, k=3)
        name = f"{random.choice(WORDS)}{random.randrange(count // 20 + 1)}/{'-'.join(words)}-{random.randrange(100)}"
        summary = " ".join(random.choices(WORDS, k=9)).capitalize()
        releases = tuple(_entry(random, f"{major}.{random.randrange(9)}.0") for major in (2, 1))
        made[name] = ModelDocument(name=ModelName(name), task=random.choice(TASKS), summary=summary, releases=releases)
    return [made[name] for name in sorted(made)]


def make(site: Path, keys: Path, count: int) -> str:
    """Make an index with so many models, and ``KNOWN`` beside them, in ``site``; return its fingerprint."""
    bins = next(each for each in (2**bits for bits in range(4, 13)) if each * 256 >= count or each == 4096)
    repository = Repository(site, keys)
    made = repository.init(NOW, bins=bins)
    online, place = KeyFolder(keys).online(), Place(site)
    state = roles.load(place.metadata, online)
    told = documents(count)
    targets = {f"models/{each.name}.json": wire.encode(each) for each in told}
    targets[PATH] = encode_listing(Listing(models=tuple(found for each in told if (found := listed(each)))))
    spread = roles.spread(state.bins, ())
    for path, data in targets.items():
        spread[state.bins.get_role_for_target(path)].targets[path] = roles.target(path, data)
    place.write_target(PATH, targets[PATH])
    place.write_metadata(roles.change(state, spread, roles.Signing(online, NOW)))
    for name in KNOWN:
        repository.add(publish(site.parent / "known", name), NOW)
    return made.fingerprint


def _entry(random: Random, version: str) -> ModelEntry:
    return ModelEntry(
        version=version,
        document=Link(digest=Digest.of(random.randbytes(8)), size_bytes=random.randrange(500, 9_000)),
        license=random.choice(LICENCES),
        precisions=tuple(random.sample(("fp32", "fp16", "int8", "int4"), k=random.randrange(1, 4))),
        size_bytes=random.randrange(10**5, 10**10),
    )
