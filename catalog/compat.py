"""Compatibility: a requirement held against a host, rule by rule; what is not known is never taken for granted."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from .processors import intel_generation
from .values.requirement import level_bound, numbers
from .values.verdict import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .values.host import Device, Host, Node
    from .values.requirement import Bound, DeviceRule, DriverBound, OsRule, Requirement, Workload
    from .values.verdict import Outcome

UNKNOWN: Final = "unknown"
TIGHT: Final = 0.8
"""The share of a memory above which a run fits tightly: what else runs wants some too."""
_TELL: Final = "tell it in a host profile (inferry devices --save)"
_ELSEWHERE: Final = {"os": 2, "device-kind": 2, "vendor": 1}
"""Where a rule that is for other machines ends."""
_SYSTEMS: Final = {"windows": "Windows", "macos": "macOS", "linux": "Linux", "other": "another system"}


class _Rule(NamedTuple):
    name: str
    required: str
    origin: str
    fix: str = ""

    def says(self, observed: str | None, *, holds: bool = False) -> Reason:
        """Return the reason that follows from what was observed; ``None`` is what is not known."""
        if observed is None:
            return Reason(self.name, "unknown", UNKNOWN, self.required, self.origin, _TELL)
        return Reason(
            self.name, "fits" if holds else "no", observed, self.required, self.origin, "" if holds else self.fix
        )


def check(requirement: Requirement, host: Host, device: Device, workload: Workload | None = None) -> Verdict:
    """Return what each rule of ``requirement`` says of ``device`` in ``host``, for ``workload``.

    Of rules that are alternatives, the one that comes nearest speaks for all of them.
    """
    return Verdict((*_host(requirement, host), *_device(requirement, host, device), *_workload(requirement, workload)))


def shut(device: Device) -> Iterator[tuple[Node, Reason]]:
    """Yield each node of ``device`` that is known to be missing, or closed to the user, and what would help."""
    for node in device.nodes or ():
        if node.access in {"denied", "missing"}:
            observed = f"{node.path} is {'missing' if node.access == 'missing' else 'closed to this user'}"
            driver = device.driver.name if device.driver else None
            origin = f"the driver {driver}" if driver else "its driver"
            yield node, Reason("device-node", "no", observed, f"read and write {node.path}", origin, _opens(node))


def _opens(node: Node) -> str:
    """Return what gives a program a node that it lacks."""
    folder = node.path.rpartition("/")[0]
    of_nvidia = node.path.startswith("/dev/nvidia")
    if node.access == "missing":
        given = "--gpus all" if of_nvidia else f"--device {node.path if folder == '/dev' else folder}"
        return f"run the container with {given}"
    # NVIDIA's are for everybody, unless its module was told otherwise.
    return "set NVreg_DeviceFileMode=0666 for the module nvidia" if of_nvidia else "usermod -aG render $USER"


def _host(asked: Requirement, host: Host) -> Iterator[Reason]:
    origin = asked.source
    if asked.os:
        yield from min((list(_os(rule, host, origin)) for rule in asked.os), key=_distance)
    if asked.architectures:
        have = host.platform.architecture
        rule = _Rule("architecture", " or ".join(asked.architectures), origin)
        yield rule.says(have, holds=have in asked.architectures)
    if asked.python:
        python = host.python.version if host.python else None
        yield _Rule("python", asked.python, origin).says(python, holds=within(python, asked.python))
    if asked.onnxruntime:
        yield _onnxruntime(asked.onnxruntime, host, origin)
    if asked.cpu_features:
        features = host.cpu.features
        lacking = [each for each in asked.cpu_features if features is not None and each not in features]
        observed = None if features is None else f"no {', '.join(lacking)}" if lacking else "all of them"
        yield _Rule("cpu-features", ", ".join(asked.cpu_features), origin).says(observed, holds=not lacking)
    if asked.memory_bytes is not None:
        yield _memory("memory", _system_memory(host), host.memory.free_bytes, asked.memory_bytes, origin)


def _os(rule: OsRule, host: Host, origin: str) -> Iterator[Reason]:
    system = _SYSTEMS[rule.os]
    have = host.platform.os
    yield _Rule("os", system, origin).says(_SYSTEMS[have], holds=have == rule.os)
    if have != rule.os:
        return
    if rule.build_at_least is not None:
        build = host.platform.build
        holds = build is not None and build >= rule.build_at_least
        required = f"{system} build {rule.build_at_least} or later"
        yield _Rule("os-build", required, origin, f"update to {required}").says(_text(build), holds=holds)
    if rule.version_at_least is not None:
        yield _version("os-version", system, host.platform.version, rule.version_at_least, origin)
    if rule.glibc_at_least is not None:
        libc, version = host.platform.libc, host.platform.libc_version
        if libc in {None, "glibc"}:
            yield _version("libc", "glibc", version if libc else None, rule.glibc_at_least, origin)
        else:
            observed = " ".join(filter(None, (libc, version)))
            yield _Rule("libc", f"glibc {rule.glibc_at_least} or later", origin).says(observed)


def _version(name: str, what: str, version: str | None, least: str, origin: str) -> Reason:
    fits = version is not None and numbers(version) >= numbers(least)
    required = f"{what} {least} or later"
    return _Rule(name, required, origin, f"update to {required}").says(version, holds=fits)


def within(version: str | None, specifier: str) -> bool:
    """Return whether a version is one of those that a specifier of PEP 440 takes, pre-releases among them."""
    from packaging.specifiers import SpecifierSet

    return version is not None and SpecifierSet(specifier).contains(version, prereleases=True)


def _onnxruntime(specifier: str, host: Host, origin: str) -> Reason:
    told = host.onnxruntime
    fix = f'pip install "onnxruntime{specifier}"'
    if told.module is False:
        return Reason("onnxruntime", "no", "none installed", specifier, origin, fix)
    return _Rule("onnxruntime", specifier, origin, fix).says(told.version, holds=within(told.version, specifier))


def _device(asked: Requirement, host: Host, device: Device) -> Iterator[Reason]:
    if asked.devices:
        found = [list(_rule(rule, host, device, rule.source or asked.source)) for rule in asked.devices]
        yield from min(found, key=_distance)


def _rule(rule: DeviceRule, host: Host, device: Device, origin: str) -> Iterator[Reason]:
    yield _Rule("device-kind", rule.kind, origin).says(device.kind, holds=device.kind == rule.kind)
    if device.kind != rule.kind:
        return
    if rule.vendor_ids:
        vendor = device.vendor_id
        yield _Rule("vendor", " or ".join(rule.vendor_ids), origin).says(vendor, holds=vendor in rule.vendor_ids)
        if vendor is not None and vendor not in rule.vendor_ids:
            return
    if rule.device_ids:
        have = device.device_id
        holds = have is not None and rule.has_id(have)
        yield _Rule("device-id", " or ".join(rule.device_ids), origin).says(have, holds=holds)
    if rule.names:
        name = device.name
        holds = name is not None and any(fnmatchcase(name.lower(), each.lower()) for each in rule.names)
        yield _Rule("device-name", " or ".join(rule.names), origin).says(name, holds=holds)
    if rule.intel_generation_at_least is not None:
        yield _generation(rule.intel_generation_at_least, host, origin)
    if rule.memory_bytes is not None:
        yield _device_memory(rule.memory_bytes, host, device, origin)
    scheme = device.driver.scheme if device.driver else None
    for bound in [each for each in rule.drivers if each.scheme == scheme] or rule.drivers:
        yield _driver(bound, device, origin)
    yield from _apis(rule, device, origin)


def _generation(least: int, host: Host, origin: str) -> Reason:
    have = intel_generation(host.cpu)
    observed = "another maker's" if have == 0 else _text(have)
    required = f"Intel generation {least} or later"
    return _Rule("processor", required, origin).says(observed, holds=have is not None and have >= least)


def _apis(rule: DeviceRule, device: Device, origin: str) -> Iterator[Reason]:
    for api, level in rule.apis.items():
        have = device.apis.get(api)
        fits = have is not None and numbers(have) >= numbers(level)
        yield _Rule(f"api-{api}", f"{level} or later", origin).says(have, holds=fits)
    for api, levels in rule.apis_one_of.items():
        have = device.apis.get(api)
        bounds = [level_bound(level) for level in levels]
        fits = have is not None and any(holds(bound, have) for bound in bounds)
        yield _Rule(f"api-{api}", " or ".join(words(bound) for bound in bounds), origin).says(have, holds=fits)


def _driver(bound: DriverBound, device: Device, origin: str) -> Reason:
    required = f"{bound.scheme} driver {words(bound)}"
    have = device.driver
    if have and have.name == "":
        return _Rule("driver", required, origin, f"install {required}").says("no driver")
    version = have.version if have and have.scheme == bound.scheme else None
    observed = None if version is None else f"{bound.scheme} driver {version}"
    fits = version is not None and holds(bound, version)
    return _Rule("driver", required, origin, f"install {required}").says(observed, holds=fits)


def _device_memory(needed: int, host: Host, device: Device, origin: str) -> Reason:
    if device.integrated or device.kind == "cpu":
        return _memory("device-memory", _system_memory(host), host.memory.free_bytes, needed, origin)
    return _memory("device-memory", device.memory_bytes, None, needed, origin)


def _system_memory(host: Host) -> int | None:
    """Return what programs may use of the system's memory, in bytes."""
    told = [each for each in (host.memory.total_bytes, host.memory.limit_bytes) if each is not None]
    return min(told) if told else None


def _memory(rule: str, have: int | None, free: int | None, needed: int, origin: str) -> Reason:
    """Judge memory in bytes; what is free at the moment can make it tight, and no more than that."""
    required = f"{needed} bytes"
    if have is None:
        return _Rule(rule, required, origin).says(None)
    outcome: Outcome = "fits"
    if needed > have:
        outcome = "no"
    elif needed > TIGHT * have or (free is not None and needed > free):
        outcome = "tight"
    observed = f"{have} bytes" + (f", {free} of them free" if free is not None else "")
    return Reason(rule, outcome, observed, required, origin)


def _workload(asked: Requirement, workload: Workload | None) -> Iterator[Reason]:
    if workload is not None and asked.not_for:
        fits = workload not in asked.not_for
        yield _Rule("workload", f"none of {', '.join(asked.not_for)}", asked.source).says(workload, holds=fits)


def holds(bound: Bound, version: str) -> bool:
    """Return whether ``version``, numbers with dots, is within ``bound``."""
    have = numbers(version)
    if bound.exactly is not None:
        return have == numbers(bound.exactly)
    least, most = bound.at_least, bound.at_most
    return (least is None or have >= numbers(least)) and (most is None or have <= numbers(most))


def words(bound: Bound) -> str:
    """Return ``bound`` in words: ``exactly 1.2``, ``1.2 or later``, ``1.2 or earlier``, ``from 1.2 to 1.4``."""
    if bound.exactly is not None:
        return f"exactly {bound.exactly}"
    if bound.at_least is not None and bound.at_most is not None:
        return f"from {bound.at_least} to {bound.at_most}"
    return f"{bound.at_least} or later" if bound.at_least is not None else f"{bound.at_most} or earlier"


def _text(fact: int | None) -> str | None:
    return None if fact is None else str(fact)


def _distance(reasons: list[Reason]) -> tuple[int, int, int, int]:
    """Return how far a rule is from fitting: one for other machines is farthest, then what fails and is unknown count.

    Of equals the one that got farther is nearer.
    """
    last = reasons[-1]
    elsewhere = _ELSEWHERE.get(last.rule, 0) if last.outcome == "no" else 0
    failed = sum(reason.outcome == "no" for reason in reasons)
    unknown = sum(reason.outcome == "unknown" for reason in reasons)
    return elsewhere, failed, unknown, -len(reasons)
