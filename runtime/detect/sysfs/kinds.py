"""What a PCI function is to us: its kind by class and ids, or why it is none to run on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ....catalog.values.host import DeviceKind

PCI_DEVICES: Final = "sys/bus/pci/devices"
DISPLAY: Final = 0x03
PROCESSING_ACCELERATOR: Final = 0x12
"""Base classes, as PCI-SIG's Code and ID Assignment Specification has them."""

AMD_GPU: Final = "1002"
AMD: Final = "1022"
INTEL: Final = "8086"
NVIDIA: Final = "10de"

NPUS: Final = frozenset({(AMD, "1502"), (AMD, "17f0")})
"""AMD XDNA, which has the class of a signal processor: the ids that Linux's drivers/accel/amdxdna binds to."""
FPGA: Final = frozenset({"10ee"})
"""Of AMD Xilinx: what such a card computes depends on what was loaded into it."""
MANAGEMENT: Final = frozenset(
    {("1a03", "2000"), ("19e5", "1711")}  # ASPEED (drm/ast), HiSilicon's iBMC (drm/hisilicon/hibmc)
    # Matrox G200 in servers: Linux's drm/mgag200.
    | {("102b", device) for device in ("0522", "0524", "0530", "0532", "0533", "0534", "0536", "0538")}
)
EMULATED: Final = frozenset(
    {
        ("1013", "00b8"),  # Cirrus Logic GD 5446 in QEMU
        ("1234", "1111"),  # QEMU's standard VGA, Bochs
        ("1414", "5353"),  # Hyper-V
        ("15ad", "0405"),  # VMware SVGA II
        ("1af4", "1050"),  # virtio-gpu
        ("1b36", "0100"),  # QXL
        ("1d0f", "1111"),  # Amazon EC2
        ("80ee", "beef"),  # VirtualBox
    }
)
"""Displays that a hypervisor plays."""


class Function(NamedTuple):
    """One PCI function, as /sys shows it."""

    address: str
    code: int
    """Its class: base, sub-class, programming interface, a byte each."""
    vendor: str
    device: str
    kind: DeviceKind | None
    """``None`` where it is something else: a bridge, a network card."""

    @property
    def path(self) -> str:
        """Return its folder."""
        return f"{PCI_DEVICES}/{self.address}"

    @property
    def slot(self) -> str:
        """Return its address without the function's number: all functions of one chip or card have it."""
        return self.address.partition(".")[0]

    @property
    def on_root_bus(self) -> bool:
        """Return whether it sits on bus 0, where only what is part of the processor or the chip set does."""
        return self.slot.split(":")[-2] == "00"


def kind_of(code: int, vendor: str, device: str, *, accelerator: bool) -> DeviceKind | None:
    """Return the kind of a function with the class ``code``, of 24 bits; ``None`` where it is no device of ours.

    ``accelerator`` says whether Linux lists it below /sys/class/accel, where the drivers of NPUs register.
    """
    base = code >> 16
    if base == DISPLAY:
        return "gpu"
    if base == PROCESSING_ACCELERATOR:
        # The Instinct cards without display outputs have this class.
        return "gpu" if vendor == AMD_GPU else "npu"
    return "npu" if accelerator or (vendor, device) in NPUS else None


def reason_against(vendor: str, device: str, *, virtual_function: bool, driver: str | None) -> str | None:
    """Return why a function with the class of a device is none to run on, or ``None``."""
    if (vendor, device) in MANAGEMENT:
        return "the display of a management controller"
    if vendor in FPGA:
        return "an FPGA: what it computes depends on what was loaded into it"
    if virtual_function:
        return "a virtual function, for a guest"
    if driver in {"vfio-pci", "pci-stub", "xen-pciback"}:
        return f"kept for a guest by {driver}"
    return None
