"""Small catalogs and hosts, made of what a test names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inferry.catalog.values.digest import Digest
from inferry.catalog.values.host import Cpu, Device, DeviceKind, Distribution, Driver, Host, Memory, OrtFacts, Platform
from inferry.catalog.values.model import Artifact, Precision, Variant
from inferry.catalog.values.names import PackageName
from inferry.catalog.values.package import Build, EpPackage, EpRelease, Fact
from inferry.catalog.values.plan import Subject
from inferry.catalog.values.requirement import DeviceRule, Requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

GB = 10**9
CPU = Device(kind="cpu", vendor_id="8086", name="A processor")
DISCRETE = Device(kind="gpu", vendor_id="10de", device_id="2684", name="A card", memory_bytes=24 * GB, integrated=False)
SHARED = Device(kind="gpu", vendor_id="8086", device_id="7d55", name="Its own graphics", integrated=True)
NPU = Device(
    kind="npu", vendor_id="8086", device_id="643e", name="Its NPU", driver=Driver(scheme="wddm", version="32.0")
)


def host(*devices: Device, ort: str | None = "1.31.1", **more: Any) -> Host:
    """Return a host with a processor and ``devices``, and the stock ONNX Runtime of that version."""
    brought = (Distribution(name="onnxruntime", version=ort),) if ort else ()
    return Host(
        platform=more.pop("platform", Platform(os="linux", version="6.8", architecture="x64", libc="glibc")),
        cpu=Cpu(vendor="GenuineIntel", family=6, model=0xAA),
        memory=more.pop("memory", Memory(total_bytes=32 * GB, free_bytes=20 * GB)),
        devices=(CPU, *devices),
        searched=("cpu", "gpu", "npu"),
        onnxruntime=OrtFacts(module=ort is not None, distributions=brought, version=ort),
        **more,
    )


def variant(name: str, precision: Precision = "fp32", size: int = 1000, **more: Any) -> Variant:
    artifact = Artifact(
        path=f"{name}.onnx", media_type="application/vnd.onnx", digest=Digest.of(name.encode()), size_bytes=size
    )
    return Variant(name=name, precision=precision, artifact=artifact, **more)


def model(*variants: Variant, limit: float | None = None) -> Subject:
    return Subject("acme/thing", "1.0.0", variants, limit)


def package(
    name: str,
    ep: str,
    kinds: Sequence[DeviceKind],
    *,
    vendors: Sequence[str] = (),
    versions: Sequence[str] = ("1.0.0",),
    size: int = 10,
    requires: Requirement | None = None,
    **more: Any,
) -> EpPackage:
    """Return a package whose releases all have one build, for devices of ``kinds`` by ``vendors``."""
    if requires is None:
        rules = tuple(DeviceRule(kind=kind, vendor_ids=tuple(vendors)) for kind in kinds)
        requires = Requirement(source=f"the vendor of {name}", devices=rules)
    build = Build(kinds=tuple(kinds), requires=requires, size_bytes=size)
    return EpPackage(
        name=PackageName(f"acme/{name}"),
        ep=ep,
        summary="",
        vendor="Acme",
        reach=more.pop("reach", "generic"),
        delivery=more.pop("delivery", "plugin"),
        license="MIT",
        releases=tuple(
            EpRelease(version=version, builds=(build,), channel=more.get("channel", "stable")) for version in versions
        ),
        facts=(Fact(says="It is made here", source="here"),),
        aliases=tuple(more.pop("aliases", ())),
        support=more.pop("support", "supported"),
        distribution=more.pop("distribution", None),
    )


STOCK = package(
    "onnxruntime",
    "CPUExecutionProvider",
    ["cpu"],
    reach="cpu",
    delivery="engine",
    distribution="onnxruntime",
    aliases=["cpu"],
    versions=["1.31.1"],
    size=24_000_000,
)
CARDS = package("cards", "CardsExecutionProvider", ["gpu"], vendors=["10de"], reach="vendor", aliases=["cards"])
ANY_GPU = package("webgpu", "WebGpuExecutionProvider", ["gpu"], aliases=["webgpu"])
NPUS = package("npus", "NpuExecutionProvider", ["npu"], vendors=["8086"], reach="vendor")
ALL = (STOCK, CARDS, ANY_GPU, NPUS)
