"""What every detector promises, on this machine and on recorded ones."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from inferry.catalog.profile import read_profile, write_profile
from inferry.catalog.values.host import Host, Memory
from inferry.runtime.detect.detector import detector
from inferry.runtime.detect.generic import Generic
from inferry.runtime.detect.linux import Linux
from inferry.tests.fakes.hosts import NAMES, recorded

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from inferry.runtime.detect.detector import Detector


def _of(name: str) -> Callable[[Path], Detector]:
    return lambda root: Linux(recorded(name, root).root)


DETECTORS: dict[str, Callable[[Path], Detector]] = {
    "this system": lambda _: detector(),
    "generic": lambda _: Generic(),
    "Linux here": lambda _: Linux(),
    "an empty folder": Linux,
    # PCI addresses are no file names on Windows.
    **({name: _of(name) for name in NAMES} if sys.platform != "win32" else {}),
}


@pytest.fixture(params=list(DETECTORS))
def any_detector(request: pytest.FixtureRequest, tmp_path: Path) -> Detector:
    return DETECTORS[str(request.param)](tmp_path)


def test_the_processor_comes_first_and_once(any_detector: Detector) -> None:
    host = any_detector.host()
    assert [device.kind for device in host.devices].index("cpu") == 0
    assert sum(device.kind == "cpu" for device in host.devices) == 1


def test_devices_are_of_kinds_that_were_looked_for(any_detector: Detector) -> None:
    host = any_detector.host()
    assert {device.kind for device in host.devices} <= set(host.searched)
    assert len(set(host.searched)) == len(host.searched)


def test_every_known_fact_has_an_origin_and_every_origin_a_fact(any_detector: Detector) -> None:
    host = any_detector.host()
    for part in ("platform", "cpu", "memory", "onnxruntime", "python"):
        value = getattr(host, part)
        for fact, known in msgspec.structs.asdict(value).items() if value else ():
            assert known is None or host.origin(f"{part}.{fact}"), f"{part}.{fact}"
    for index, device in enumerate(host.devices):
        for fact, known in msgspec.structs.asdict(device).items():
            # That a device is the processor needs no reading; what is empty is not known.
            path = f"devices[{index}].{fact}"
            assert known in [None, False, "cpu", {}] or host.origin(path), path
    indices = {int(path[len("devices[") : path.index("]")]) for path in host.origins if path.startswith("devices[")}
    assert indices <= set(range(len(host.devices)))


def test_two_looks_see_the_same(any_detector: Detector) -> None:
    first, second = (msgspec.structs.replace(any_detector.host(), memory=Memory()) for _ in range(2))
    assert first == second


def test_a_host_survives_json_and_a_profile(any_detector: Detector) -> None:
    host = any_detector.host()
    assert msgspec.json.decode(msgspec.json.encode(host), type=Host) == host
    loaded = read_profile(write_profile(host), where="x")
    assert read_profile(write_profile(loaded), where="x") == loaded
    assert (loaded.cpu, loaded.memory, loaded.platform) == (host.cpu, host.memory, host.platform)


def test_ids_are_printable_lines(any_detector: Detector) -> None:
    for device in any_detector.host().devices:
        for text in (device.name, device.driver.name if device.driver else None):
            assert text is None or (text.isprintable() and len(text) <= 200)


def test_it_is_quick(any_detector: Detector) -> None:
    any_detector.host()
    spans: list[float] = []
    for _ in range(3):
        begun = time.perf_counter()
        any_detector.host()
        spans.append(time.perf_counter() - begun)
    assert min(spans) < 0.15
