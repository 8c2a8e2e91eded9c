"""GPUs and NPUs of systems on a chip, which are on no bus that could be asked: from the devicetree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ....catalog.values.host import Device
from ..found import Found, Seen
from .drivers import driver
from .nodes import nodes

if TYPE_CHECKING:
    from ....catalog.values.host import DeviceKind
    from .tree import Tree

DEVICES: Final = "sys/bus/platform/devices"
BASE: Final = "sys/firmware/devicetree/base"


class Binding(NamedTuple):
    """What a devicetree calls a device of ours."""

    compatible: re.Pattern[str]
    kind: DeviceKind
    vendor_id: str


BINDINGS: Final = (
    # Linux's Documentation/devicetree/bindings: display/msm/gpu.yaml and gpu/*.yaml.
    Binding(re.compile(r"qcom,adreno"), "gpu", "5143"),
    Binding(re.compile(r"arm,mali-(?:[34][0-9]0|t[0-9]{3}|bifrost|valhall-[a-z]+)"), "gpu", "13b5"),
    Binding(re.compile(r"brcm,[a-z0-9]+-v3d"), "gpu", "14e4"),
    Binding(re.compile(r"nvidia,(?:gk20a|gm20b|gp10b|gv11b|ga10b)"), "gpu", "10de"),
    Binding(re.compile(r"apple,agx-[a-z0-9]+"), "gpu", "106b"),
    # npu/arm,ethos.yaml; remoteproc/qcom,sm8550-pas.yaml: the Hexagon NPU of the Snapdragon X is its compute DSP.
    Binding(re.compile(r"arm,ethos-u[0-9]+"), "npu", "13b5"),
    Binding(re.compile(r"qcom,x1e80100-cdsp-pas"), "npu", "5143"),
)


def look(tree: Tree) -> Found:
    """Return the GPUs and NPUs that the devicetree of this system has, if it has one."""
    if not tree.is_folder(BASE):
        return Found()
    seen = (_seen(tree, name) for name in tree.names(DEVICES))
    return Found(tuple(filter(None, seen)), ("gpu", "npu"))


def _seen(tree: Tree, name: str) -> Seen | None:
    path = f"{DEVICES}/{name}"
    compatible = tree.strings(f"{path}/of_node/compatible")
    for binding in BINDINGS:
        if any(binding.compatible.fullmatch(each) for each in compatible):
            break
    else:
        return None
    origins = {"": f"/{path}/of_node/compatible"}
    bound = driver(tree, path, origins)
    # The most specific string comes first.
    device = Device(
        kind=binding.kind,
        vendor_id=binding.vendor_id,
        name=compatible[0],
        integrated=True,
        driver=bound,
        nodes=nodes(tree, path, bound.name, origins),
    )
    return Seen(device, origins)
