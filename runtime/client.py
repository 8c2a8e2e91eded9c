"""The client: the Python face, the verbs in their order."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Unpack

from ..catalog.errors import ModelNotFound
from ..catalog.releases import choose
from ..catalog.settings import Effective, Layer, refuse_channel
from ..catalog.values.names import HuggingFaceName, is_path, parse_request
from ..catalog.values.plan import Subject
from ..index.client.source import FolderSource, Found, find_path
from ..index.settings import layers, this_machine
from .describe import Description, of_file, of_release
from .detect.detector import detect
from .detect.ep_devices import with_ep_devices
from .doctor import Finding, examine
from .plan import asked, make_plan, of_file as as_subject, with_module
from .profile import HostProfile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..catalog.values.host import Host
    from ..catalog.values.match import Match
    from ..index.settings import Machine
    from .model import Model
    from .outputs import Outputs
    from .plan import Pins, Plan


class Client:
    """Finds models by name in the built-in index, or by path; nothing global stands behind it."""

    def __init__(self, *, machine: Machine | None = None) -> None:
        """Look names up in the index that is part of the program.

        Args:
            machine: where the machine's settings and its policy lie; without it, where this system has them.
        """
        self._source = FolderSource()
        self._machine = machine or this_machine()

    def settings(self, **pins: Unpack[Pins]) -> Effective:
        """Return the settings that hold, read anew; ``pins`` are those of the command line.

        Raises:
            UsageError: a pin is malformed.
            Refused: a pin or the environment contradicts the machine policy.
            InvalidSettings: a file, or a variable of the environment, is wrong.
            MachineError: a file cannot be read.
        """
        return Effective([Layer("command line", asked(pins)), *layers(self._machine)])

    def find(self, name: str | os.PathLike[str], *, channel: str | None = None) -> Found:
        """Find a model, without opening it; raises what ``load`` does of names, paths and manifests.

        Args:
            name: as ``load`` takes it.
            channel: releases of this channel will do, too.
        """
        if not isinstance(name, str) or is_path(name):
            return find_path(os.fspath(name))
        wanted = parse_request(name)
        if isinstance(wanted.name, HuggingFaceName):
            raise ModelNotFound(
                f"no source knows the model `hf:{wanted.name}`: none that asks Hugging Face is set up",
                hints=("download its files, and give the path of the ONNX file or of its folder",),
            )
        found = self._source.find(wanted.name)
        if found is None:
            near = get_close_matches(wanted.name, self._source.names(), n=3)
            raise ModelNotFound(
                f"no source knows the model `{wanted.name}`", hints=[f"did you mean {match}?" for match in near]
            )
        settings = self.settings(channel=channel)
        if wanted.channel:
            refuse_channel(settings, name, wanted.channel)
        chosen = choose([found.release] if found.release else [], wanted, channel=settings.channels)
        refuse_channel(settings, name, chosen.channel)
        return found

    def search(
        self,
        query: str = "",
        *,
        task: str | None = None,
        precision: str | None = None,
        license: str | None = None,  # noqa: A002 - the field's name
    ) -> list[Match]:
        """Return the models that answer a query, best first.

        Args:
            query: words that each must begin a word of the name, the task or the summary; without any, all models.
            task: only models for this task.
            precision: only models with a variant in this precision.
            license: only models under this SPDX licence expression.
        """
        return [
            match
            for match in self._source.search(query)
            if task in {None, match.task} and license in {None, match.license}
            if precision is None or precision in match.precisions
        ]

    def devices(self, *, ask: bool = True) -> Host:
        """Return what is known of this machine and its devices; what cannot be read is ``None``.

        Args:
            ask: let a child process ask ONNX Runtime for its EP devices, unless that is known from before.
        """
        return with_ep_devices(detect()) if ask else detect()

    def describe(self, name: str | os.PathLike[str]) -> Description:
        """Tell what a model is; a file that no manifest names is opened for it. Raises what ``load`` raises."""
        found = self.find(name)
        if found.release:
            return of_release(os.fspath(name), found.release)
        with self.open(found) as model:
            return of_file(os.fspath(name), model, found.read_file())

    def plan(
        self, name: str | os.PathLike[str], *, host: Host | HostProfile | None = None, **pins: Unpack[Pins]
    ) -> Plan:
        """Return which variant would run on which execution provider and device, and why; nothing is opened.

        Args:
            name: as ``load`` takes it.
            host: the machine to plan for, or its profile; without one, this machine.
            pins: ``policy``, a preference; ``ep``, ``device``, ``precision``, demands; ``channel``.

        Raises:
            UsageError: a pin is malformed.
            NothingFits: no device of the host is the one that is demanded.
            Error: what ``load`` raises of names, manifests and files.
        """
        model, _ = _subject(self.find(name, channel=pins.get("channel")))
        there = host.host if isinstance(host, HostProfile) else host
        settings = self.settings(**pins)
        return make_plan(model, there or self.devices(), pins, elsewhere=there is not None, settings=settings)

    def examine(
        self, names: Iterable[str | os.PathLike[str]] = (), *, host: Host | HostProfile | None = None
    ) -> list[Finding]:
        """Return what is wrong on a machine, and why models run on its CPU; raises what ``plan`` raises.

        Args:
            names: models to look at; without any, those of the built-in index.
            host: the machine, or its profile; without one, this machine.
        """
        there = host.host if isinstance(host, HostProfile) else host or self.devices()
        plans = [self.plan(name, host=there) for name in names or self._source.names()]
        return examine(there, plans)

    def load(self, name: str | os.PathLike[str], **pins: Unpack[Pins]) -> Model:
        """Find, verify and open a model.

        Args:
            name: ``namespace/name[@version]``, the version as ``1.2`` (the newest 1.2.x), ``=1.2.0`` (exactly that one)
                or specifiers of PEP 440, ``>=1,<2``; as the digest of a release document, ``sha256:…``; or as a
                channel, ``preview``. Or the path of an ONNX file, or of a folder that holds a manifest
                or exactly one ONNX file. A text is a path where it starts with ``.``, a slash, a backslash, ``~`` or a
                drive letter, or ends in ``.onnx``. A file without a manifest may keep tensors in other files of its
                folder.
            pins: ``policy``, a preference of devices; ``ep``, ``device`` and ``precision``, demands; ``channel``.

        Raises:
            InvalidName: ``name`` is no model's name, or its version is malformed.
            ModelNotFound: no source knows it, or nothing is there.
            VersionNotFound: no release has such a version.
            UsageError: a pin is malformed.
            NothingFits: nothing fits this machine, or what is demanded does not.
            InvalidManifest: its manifest is wrong.
            VerificationError: its bytes are not those that the manifest names.
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: ONNX Runtime cannot read it.
            SessionError: ONNX Runtime refused to open it.
            MachineError: a file cannot be read.
        """
        return self.open(self.find(name, channel=pins.get("channel")), **pins)

    def open(self, found: Found, **pins: Unpack[Pins]) -> Model:
        """Plan, verify and open what ``find`` returned; raises what ``load`` raises."""
        from .model import Model  # they import numpy, which no plan needs
        from .opening import open_planned

        host = with_module(self.devices(ask=False))
        subject, data = _subject(found)
        plan = make_plan(subject, host, pins, elsewhere=False, settings=self.settings(**pins))
        session, fallback = open_planned(found, plan, data)
        told = found.release.inputs if found.release else ()
        samples = {each.name: found.read(each.sample) for each in told if each.sample}
        return Model(found.release, session, samples, plan, fallback)

    def run(self, name: str | os.PathLike[str], inputs: Mapping[str, Any], **pins: Unpack[Pins]) -> Outputs:
        """Load a model, run it once and close it; raises what ``load`` and ``Model.run`` raise."""
        with self.load(name, **pins) as model:
            return model.run(inputs)


def _subject(found: Found) -> tuple[Subject, bytes | None]:
    """Return what is to be planned, and the bytes of a file that no manifest names."""
    if found.release:
        return Subject.of(found.release), None
    data = found.read_file()
    return as_subject(str(found.file), data), data


def search(
    query: str = "",
    *,
    task: str | None = None,
    precision: str | None = None,
    license: str | None = None,  # noqa: A002 - as above
) -> list[Match]:
    """``Client().search``."""
    return Client().search(query, task=task, precision=precision, license=license)


def devices() -> Host:
    """``Client().devices``."""
    return Client().devices()


def plan(name: str | os.PathLike[str], *, host: Host | HostProfile | None = None, **pins: Unpack[Pins]) -> Plan:
    """``Client().plan``."""
    return Client().plan(name, host=host, **pins)


def load(name: str | os.PathLike[str], **pins: Unpack[Pins]) -> Model:
    """``Client().load``."""
    return Client().load(name, **pins)


def run(name: str | os.PathLike[str], inputs: Mapping[str, Any], **pins: Unpack[Pins]) -> Outputs:
    """``Client().run``."""
    return Client().run(name, inputs, **pins)
