"""The client: the Python face, the verbs in their order."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

from ..catalog.errors import MachineError, NotInstalled, SessionError, VerificationError
from ..catalog.settings import forbids_network, refuse_channel
from ..catalog.values.names import is_path, parse_request
from ..catalog.values.progress import Watch
from ..index.settings import layers, this_machine
from .waiting import cancelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import Event

    from ..catalog.settings import Effective, Install, Settings
    from ..catalog.values.host import Host
    from ..catalog.values.match import Match
    from ..catalog.values.progress import Listener
    from ..index.client.cache import Cache
    from ..index.client.found import Found
    from ..index.client.library import Library
    from ..index.settings import Machine
    from .describe import Description
    from .doctor import Finding
    from .finding import Filters
    from .loading import Loading, Loads, Prepared
    from .model import Model
    from .outputs import Outputs
    from .plan import Pins, Plan
    from .profile import HostProfile
    from .providers import Provider
    from .recall import Recall, Recalled


class Client:
    """Finds models by name in the built-in index, or by path; nothing global stands behind it."""

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        sources: Iterable[str | os.PathLike[str]] | None = None,
        machine: Machine | None = None,
    ) -> None:
        """Look names up in ``sources``, and keep what is fetched under ``home``.

        Args:
            home: the one folder for all that is written; without one, ``INFERRY_HOME`` or where the system has such.
            sources: names of sources that are set up, or folders with a folder for each model, ``namespace/name``,
                asked in their order; without any, the index that is part of the program and all that are set up.
            machine: where the machine's settings and its policy lie; without it, where this system has them.
        """
        self._sources = None if sources is None else [*sources]
        self._home = None if home is None else Path(home)
        self._machine = machine or this_machine()

    def settings(self, given: Settings | None = None, /, **pins: Unpack[Pins]) -> Effective:
        """Return the settings that hold, read anew; ``given`` and ``pins`` are those of the command line.

        Raises:
            UsageError: a pin is malformed.
            Refused: a pin or the environment contradicts the machine policy.
            InvalidSettings: a file, or a variable of the environment, is wrong.
            MachineError: a file cannot be read.
        """
        from ..catalog.settings import Effective, Layer
        from .plan import asked

        told = [Layer("command line", each) for each in (given, asked(pins)) if each]
        return Effective([*told, *layers(self._machine, self._home)])

    @cached_property
    def _library(self) -> Library:
        from ..index.client.configured import open_library

        return open_library(self._sources, self._machine, self.settings, self._home)

    @property
    def cache(self) -> Cache:
        """What was pulled: ``holdings``, ``verify``, ``gc`` and ``remove``."""
        from ..index.client.cache import Cache

        return Cache(self._library.pulled)

    def names(self) -> list[str]:
        """Return the names of all models that are known, of sources and of what was pulled, sorted."""
        return self._library.names()

    def find(
        self,
        name: str | os.PathLike[str],
        *,
        anew: bool = False,
        install: Install | None = None,
        offline: str = "",
        **pins: Unpack[Pins],
    ) -> Found:
        """Find a model, without opening it; raises what ``load`` does of names, paths and manifests.

        Args:
            name: as ``load`` takes it.
            anew: ask the sources before what was pulled.
            install: with ``never``, of what was pulled the newest that is still here; without one, as settings say.
            offline: what says that the network may not be used, beside the settings.
            pins: ``channel``, releases of which will do, too; ``source``, the one source that is asked.
        """
        if not isinstance(name, str) or is_path(name):
            from ..index.client.source import find_path

            return find_path(os.fspath(name))
        from ..index.client.source import Asked

        wanted, settings = parse_request(name), self.settings(channel=pins.get("channel"))
        if wanted.channel:
            refuse_channel(settings, name, wanted.channel)
        here = (install or settings.settings.install) == "never"
        forbidden = offline or forbids_network(settings) or ("install is `never`" if here else "")
        found = self._library.find(
            Asked(wanted, settings.channels, anew, forbidden), here=here, source=pins.get("source")
        )
        if found.release:
            refuse_channel(settings, name, found.release.channel)
        return found

    def search(self, query: str = "", **filters: Unpack[Filters]) -> list[Match]:
        """Return the models that answer a query, best first.

        Args:
            query: words of the name, the task or the summary, their beginnings, words that mean the same, or with a
                typo; each must be found. Without any, all models.
            filters: ``task``, ``precision``, ``license``, ``max_bytes``, ``source``: what they are; ``fits``, ``ep``,
                ``device``: what runs here.

        Raises:
            NotFoundError: there is no such source.
            UsageError: the device is malformed.
            NothingFits: this machine has no such device.
            Error: what ``load`` raises of manifests and files.
        """
        from .finding import find

        return find(self._library, query, self.devices, self.settings(), filters)

    def providers(self, *, host: Host | HostProfile | None = None) -> list[Provider]:
        """Return the EP packages that are known, and how each stands on a machine.

        Args:
            host: the machine, or its profile; without one, this machine.
        """
        from .profile import host_of
        from .providers import providers

        return providers(host_of(host) or self.devices())

    def devices(self, *, ask: bool = True) -> Host:
        """Return what is known of this machine and its devices; what cannot be read is ``None``.

        Args:
            ask: let a child process ask ONNX Runtime for its EP devices, unless that is known from before.
        """
        from .detect.detector import detect

        if not ask:
            return detect()
        from .detect.ep_devices import with_ep_devices

        return with_ep_devices(detect(), home=self._home)

    def describe(self, name: str | os.PathLike[str]) -> Description:
        """Tell what a model is; a file that no manifest names is opened for it. Raises what ``load`` raises."""
        from .describe import of_file, of_release

        found = self.find(name)
        if found.release:
            from .standing import standing

            return of_release(
                os.fspath(name), found.release, standing(self._library, found, self.devices(), self.settings())
            )
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
        from .loading import Loading
        from .plan import make_plan
        from .profile import host_of

        model = Loading(self._library, self._found(name, pins), self.settings()).subject
        there = host_of(host)
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
        from .doctor import examine
        from .profile import host_of

        there = host_of(host) or self.devices()
        plans = [self.plan(name, host=there) for name in names or self._library.names()]
        return examine(there, plans, self.settings(), here=host is None, home=self._home)

    def prepare(
        self,
        names: Iterable[str | os.PathLike[str]],
        *,
        progress: Listener | None = None,
        cancel: Event | None = None,
        offline: bool = False,
        limit_rate: int | None = None,
        **pins: Unpack[Pins],
    ) -> list[Prepared]:
        """Find models anew, choose for this machine, and fetch what that needs; then ``load`` needs nobody.

        Args:
            names: as ``load`` takes them; of a path, a folder with a manifest, which is then had under its name.
            progress: is told of each chunk that comes.
            cancel: ends it once it is set; what is whole by then stays, and the next call goes on from there.
            offline: use no network, whatever the settings say.
            limit_rate: how many bytes may come in a second.
            pins: as ``load`` takes them.

        Raises:
            Cancelled: ``cancel`` was set.
            VerificationError: what came is not what the release names.
            NetworkError: a server cannot be reached, refuses, or ends before it has sent all.
            Error: what ``plan`` raises, and ``MachineError`` where the disk refuses.
        """
        from .loading import prepare as prepare_all

        host = self.devices()
        watch = Watch(progress, cancel, limit_rate)
        settings = self.settings(**pins)
        forbidden = "offline" if offline else forbids_network(settings)
        found = [self.find(name, anew=True, offline=forbidden, **pins) for name in names]
        return prepare_all(self._library, found, host, pins, settings, watch, offline=forbidden)

    async def prepare_async(
        self,
        names: Iterable[str | os.PathLike[str]],
        *,
        progress: Listener | None = None,
        cancel: Event | None = None,
        offline: bool = False,
        **pins: Unpack[Pins],
    ) -> list[Prepared]:
        """``prepare`` in a thread; a caller that is cancelled sets ``cancel``, and what came by then stays."""
        return await cancelled(
            cancel, lambda it: self.prepare(names, progress=progress, cancel=it, offline=offline, **pins)
        )

    async def load_async(self, name: str | os.PathLike[str], **options: Unpack[Loads]) -> Model:
        """``load`` in a thread; a caller that is cancelled ends what it fetches, not what ONNX Runtime has begun."""
        told: Loads = {**options}

        def load(cancel: Event) -> Model:
            told["cancel"] = cancel
            return self.load(name, **told)

        return await cancelled(options.get("cancel"), load)

    def load(self, name: str | os.PathLike[str], **options: Unpack[Loads]) -> Model:
        """Find, fetch, verify and open a model. One that was pulled needs nobody.

        Args:
            name: ``namespace/name[@version]``, the version as ``1.2`` (the newest 1.2.x), ``=1.2.0`` (exactly that one)
                or specifiers of PEP 440, ``>=1,<2``; or the path of an ONNX file, or of a folder that holds a manifest
                or exactly one ONNX file. A text is a path where it starts with ``.``, a slash, a backslash, ``~`` or a
                drive letter, or ends in ``.onnx``. A file without a manifest may keep tensors in other files of its
                folder.
            options: ``policy``, a preference of devices; ``ep``, ``device`` and ``precision``, demands; ``channel``;
                ``install="never"``, which fetches nothing; ``progress`` and ``cancel``, as ``prepare`` takes them.

        Raises:
            InvalidName: ``name`` is no model's name, or its version is malformed.
            ModelNotFound: no source knows it, or nothing is there.
            VersionNotFound: no release has such a version.
            UsageError: a pin is malformed.
            NothingFits: nothing fits this machine, or what is demanded does not.
            NotInstalled: it is not here, and ``install`` is ``never``.
            InvalidManifest: its manifest is wrong.
            VerificationError: its bytes are not those that the manifest names.
            NetworkError: a server cannot be reached, refuses, or ends before it has sent all.
            OnnxRuntimeMissing: there is no usable ONNX Runtime.
            InvalidModel: ONNX Runtime cannot read it.
            SessionError: ONNX Runtime refused to open it.
            Cancelled: ``cancel`` was set.
            MachineError: a file cannot be read or written.
        """
        begun = perf_counter()
        recall = None
        if isinstance(name, str) and not is_path(name):
            from .recall import Recall

            with suppress(MachineError):  # there is nothing to recall where there is no folder for it
                recall = Recall(name, {**options}, self._home, self._machine, sources=self._sources)
        if recall:
            with suppress(NotInstalled, VerificationError, SessionError):  # what was damaged is fetched again
                if recalled := recall.open():
                    return self._recalled(recalled, perf_counter() - begun, options)
        found = self._found(name, options, install=options.get("install"))
        return self._open(found, options, recall, resolve_s=perf_counter() - begun)

    def _found(self, name: str | os.PathLike[str], pins: Pins, install: Install | None = None) -> Found:
        told: Pins = {"channel": pins.get("channel"), "source": pins.get("source")}
        return self.find(name, install=install, **told)

    def open(self, found: Found, **options: Unpack[Loads]) -> Model:
        """Plan, fetch, verify and open what ``find`` returned; raises what ``load`` raises."""
        return self._open(found, options)

    def _recalled(self, it: Recalled, seconds: float, options: Loads) -> Model:
        from .model import Model, Opening, Samples

        def plan() -> Plan:
            return self._plan(it.found, options)[1]

        model = Model(it.found.release, it.session, Samples(it.found), plan, Opening(open_s=seconds))
        model.held = it.held
        return model

    def _open(self, found: Found, options: Loads, recall: Recall | None = None, *, resolve_s: float = 0) -> Model:
        from .model import Model, Opening, Samples
        from .opening import open_planned

        begun = perf_counter()
        loading, plan = self._plan(found, options, recall.host if recall else None)
        opened = open_planned(loading, plan)
        told = Opening(
            resolve_s,
            loading.fetch_s,
            perf_counter() - begun - loading.fetch_s,
            loading.fetched_bytes,
            opened.fallback,
            recall.changed if recall else (),
        )
        if recall:
            recall.keep(opened, plan)
        model = Model(found.release, opened.session, Samples(opened.found), lambda: plan, told)
        model.held = opened.held
        return model

    def _plan(self, found: Found, options: Loads, host: Host | None = None) -> tuple[Loading, Plan]:
        """Plan what was found, with what of it is here."""
        from .loading import Loading
        from .plan import with_module

        watch = Watch(options.get("progress"), options.get("cancel"))
        settings = self.settings(policy=options.get("policy"), channel=options.get("channel"))
        loading = Loading(self._library, found, settings, options.get("install"), watch)
        return loading, loading.plan(with_module(host or self.devices(ask=False)), options)

    def run(self, name: str | os.PathLike[str], inputs: Mapping[str, Any], **options: Unpack[Loads]) -> Outputs:
        """Load a model, run it once and close it; raises what ``load`` and ``Model.run`` raise."""
        with self.load(name, **options) as model:
            return model.run(inputs)
