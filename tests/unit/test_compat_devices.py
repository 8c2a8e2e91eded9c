"""Bounds of devices that vendors publish in more than one way: drivers in two numberings, sets of API levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from inferry.catalog.compat import check
from inferry.catalog.values.host import Device, Driver, Host, Platform
from inferry.catalog.values.requirement import DeviceRule, DriverBound, OsRule, Requirement

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


def test_the_rule_for_the_devices_own_kind_and_vendor_speaks_however_much_it_lacks() -> None:
    either = Requirement(
        source="here",
        devices=(
            DeviceRule(kind="cpu"),
            DeviceRule(kind="gpu", vendor_ids=("8086",)),
            DeviceRule(
                kind="gpu",
                vendor_ids=("10de",),
                device_ids=("2684",),
                drivers=(DriverBound(scheme="wddm", at_least="1"),),
                apis={"d3d12": "12.0"},
            ),
        ),
    )
    verdict = check(either, HOST, Device(kind="gpu", vendor_id="10de", device_id="1e04"))
    assert [reason.rule for reason in verdict.against] == ["device-id", "driver", "api-d3d12"]


@pytest.mark.parametrize(
    ("libc", "version", "outcome", "observed"),
    [
        ("glibc", "2.28", "fits", "2.28"),
        ("glibc", "2.27", "no", "2.27"),
        ("glibc", None, "unknown", "unknown"),
        ("musl", "1.2.5", "no", "musl 1.2.5"),
        ("musl", None, "no", "musl"),
        (None, "2.39", "unknown", "unknown"),
    ],
)
def test_another_c_library_is_not_an_unknown_one(
    libc: str | None, version: str | None, outcome: str, observed: str
) -> None:
    host = Host(platform=Platform(os="linux", libc=libc, libc_version=version))
    verdict = check(
        Requirement(source="here", os=(OsRule(os="linux", glibc_at_least="2.28"),)), host, Device(kind="cpu")
    )
    assert (verdict.outcome, verdict.reasons[-1].observed) == (outcome, observed)
