"""Device policies: which kind of device is preferred where several would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .errors import UsageError

if TYPE_CHECKING:
    from .values.host import Device

POLICIES: Final = {
    "default": ("discrete gpu", "npu", "integrated gpu", "cpu"),
    "prefer-cpu": ("cpu", "discrete gpu", "npu", "integrated gpu"),
    "prefer-gpu": ("discrete gpu", "integrated gpu", "npu", "cpu"),
    "prefer-npu": ("npu", "discrete gpu", "integrated gpu", "cpu"),
    "max-performance": ("discrete gpu", "integrated gpu", "npu", "cpu"),
    "max-efficiency": ("npu", "integrated gpu", "cpu", "discrete gpu"),
    "min-power": ("npu", "cpu", "integrated gpu", "discrete gpu"),
}
"""Each policy: the classes of device, best first. A graphics device of which it is not known counts as integrated."""
_SPELLINGS: Final = {"min-overall-power": "min-power"}


def policy(text: str) -> str:
    """Return the policy that ``text`` names, in any case, also as ONNX Runtime spells it: ``PREFER_GPU``.

    Raises:
        UsageError: there is no such policy.
    """
    name = text.lower().replace("_", "-")
    name = _SPELLINGS.get(name, name)
    if name not in POLICIES:
        raise UsageError(f"there is no device policy `{text[:100]}`", hints=(f"there are {', '.join(POLICIES)}",))
    return name


def place(name: str, device: Device) -> int:
    """Return the place of ``device`` in the policy ``name``, 0 for the best."""
    return POLICIES[name].index(device_class(device))


def device_class(device: Device) -> str:
    """Return the class that policies speak of."""
    if device.kind != "gpu":
        return device.kind
    return "discrete gpu" if device.integrated is False else "integrated gpu"
