"""EP packages in an index: their manifest, who signs them, and what clients find."""

# pyright: reportPrivateImportUsage=false

from __future__ import annotations

from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from securesystemslib.signer import CryptoSigner

from inferry.catalog.settings import Effective
from inferry.catalog.values.document import EpDocument
from inferry.index import wire
from inferry.index.client.sources import SourceList, Wish
from inferry.index.client.transport import Transport
from inferry.index.client.trust import Trust
from inferry.index.settings import Machine
from inferry.index.signing.namespaces import Published, add_namespace, publish_package
from inferry.tests.clients import updater
from inferry.tests.indexes import NOW, PACKAGE, PASSPHRASE, World, empty_index

PATH: Final = "ep/acme/fast.json"
FORGED: Final = b'{"name": "acme/fast"}'


def phrase() -> str:
    return PASSPHRASE


def manifest(world: World, version: str = "1.0.0", *, like: str = PACKAGE) -> Path:
    path = world.model.parent / "fast.toml"
    path.write_text(like.replace("VERSION", version), encoding="utf-8")
    return path


def put(world: World, version: str = "1.0.0", *, key: Path | None = None) -> Published:
    return publish_package(world.signer, manifest(world, version), NOW, phrase, key)


def owned_index(root: Path) -> World:
    """Make an index with a model, and an EP package whose owner's key lies beside the others."""
    world = empty_index(root, bins=2)
    world.repository.add(world.model, NOW)
    add_namespace(world.signer, "acme", NOW, phrase)
    put(world)
    return world


def found(world: World, home: Path, path: str = PATH) -> bytes | None:
    """Return what TUF's own client finds, one that has never asked before unless ``home`` has something."""
    client = updater(world.site, home)
    told = client.get_targetinfo(path)
    return Path(client.download_target(told)).read_bytes() if told else None


def package(world: World, home: Path) -> EpDocument:
    data = found(world, home)
    assert data
    return wire.decode(data, EpDocument)


def ours(world: World, home: Path) -> Trust:
    """Return our client, set up with the index."""
    pin = Wish(str(world.site), name="site", root=world.site / "metadata/1.root.json")
    spec = SourceList(Machine(home / "machine"), Effective, home).add(pin, Transport()).spec
    trust = Trust(spec, home / "data", Transport())
    trust.pin((world.site / "metadata/1.root.json").read_bytes())
    return trust


def key_file(path: Path, *, public: bool) -> Path:
    key = CryptoSigner.generate_ed25519()
    path.write_bytes(key.private_bytes)
    if public:
        private = load_pem_private_key(key.private_bytes, None)
        path.with_suffix(".pub").write_bytes(
            private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
    return path.with_suffix(".pub") if public else path
