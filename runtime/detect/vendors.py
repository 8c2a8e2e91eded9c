"""Vendors by their PCI ids, as the pci.ids list has them; ONNX Runtime tells devices by the same numbers."""

from __future__ import annotations

from typing import Final

CPU_VENDORS: Final = {
    # What x86 processors call their vendor.
    "GenuineIntel": "8086",
    "AuthenticAMD": "1022",
    "HygonGenuine": "1d94",
    "Shanghai": "1d17",
    # Who designed an Arm core; Qualcomm by the id that ONNX Runtime and ACPI have for it.
    "ARM": "13b5",
    "Ampere": "1def",
    "Apple": "106b",
    "Broadcom": "14e4",
    "HiSilicon": "19e5",
    "Microsoft": "1414",
    "NVIDIA": "10de",
    "Qualcomm": "5143",
}
