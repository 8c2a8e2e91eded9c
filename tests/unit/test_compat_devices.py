"""Bounds of devices that vendors publish in more than one way: drivers in two numberings, sets of API levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inferry.catalog.compat import check
from inferry.catalog.values.host import Device, Driver, Host, Platform
from inferry.catalog.values.requirement import DeviceRule, DriverBound, Requirement

if TYPE_CHECKING:
    from inferry.catalog.values.host import DriverScheme

HOST = Host(platform=Platform(os="windows"))
TWICE = Requirement(
    source="here",
    devices=(
        DeviceRule(
            kind="npu",
            drivers=(
                DriverBound(scheme="wddm", at_least="32.0.203.280", at_most="32.0.203.297"),
                DriverBound(scheme="vendor-package", at_least="25.6.3", at_most="25.9.1"),
            ),
        ),
    ),
)
SET = Requirement(
    source="here", devices=(DeviceRule(kind="gpu", apis_one_of={"cuda-compute": ("8.6", "8.9", "12.0+")}),)
)


@pytest.mark.parametrize(
    ("scheme", "version", "outcomes"),
    [
        ("wddm", "32.0.203.297", ["fits"]),
        ("vendor-package", "25.9.1", ["fits"]),
        ("wddm", "32.0.203.300", ["no"]),
        ("vendor-package", "25.6.2", ["no"]),
        ("wddm", None, ["unknown"]),
        ("linux", "6.14", ["unknown", "unknown"]),
    ],
)
def test_of_a_bound_in_two_schemes_the_drivers_own_is_asked(
    scheme: DriverScheme, version: str | None, outcomes: list[str]
) -> None:
    npu = Device(kind="npu", driver=Driver(scheme=scheme, version=version))
    assert [each.outcome for each in check(TWICE, HOST, npu).reasons if each.rule == "driver"] == outcomes


@pytest.mark.parametrize("scheme", ["wddm", "vendor-package", "linux"])
def test_a_device_without_a_driver_does_not_fit_in_any_scheme(scheme: DriverScheme) -> None:
    verdict = check(TWICE, HOST, Device(kind="npu", driver=Driver(scheme=scheme, name="")))
    assert verdict.outcome == "no"
    assert {reason.observed for reason in verdict.against} == {"no driver"}
    assert verdict.against[0].fix.startswith("install ")


@pytest.mark.parametrize(
    ("level", "outcome"),
    [("8.5", "no"), ("8.6", "fits"), ("8.7", "no"), ("8.9", "fits"), ("9.0", "no"), ("12", "fits"), ("12.1", "fits")],
)
def test_a_level_of_a_set_is_exact_unless_it_has_a_plus(level: str, outcome: str) -> None:
    verdict = check(SET, HOST, Device(kind="gpu", apis={"cuda-compute": level}))
    assert verdict.outcome == outcome
    assert verdict.reasons[-1].required == "exactly 8.6 or exactly 8.9 or 12.0 or later"
