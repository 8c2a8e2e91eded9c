"""What commands that plan and fetch have in common: the flags that pin a choice, and who is told of progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ..offers import offers

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...catalog.values.progress import Listener

_Function = TypeVar("_Function", bound="Callable[..., Any]")
_PINS: Final = (
    ("--policy", "POLICY", "Prefer devices: prefer-gpu, prefer-npu, prefer-cpu, max-performance, min-power …"),
    ("--ep", "EP", "Only this execution provider: its name, an alias, or a package, with or without @version."),
    ("--device", "DEVICE", "Only this device: cpu, gpu, npu, gpu:1, a vendor, ids (10de:2684), pci:…"),
    ("--precision", "PRECISION", "Only this precision, such as fp16."),
    ("--channel", "CHANNEL", "Releases of this channel too, of models and packages: preview or test."),
    ("--source", "SOURCE", "Only models of this source, such as built-in."),
)


def pins(function: _Function) -> _Function:
    """Give a command the flags; they come to it as keywords, ``None`` where they are not given."""
    for flag, metavar, words in reversed(_PINS):
        function = click.option(flag, metavar=metavar, help=words, shell_complete=offers(flag[2:]))(function)
    return function


def listener() -> Listener | None:
    """Return who is told of what takes its time: the one output, where there is one."""
    context = click.get_current_context(silent=True)
    told: Listener | None = context.meta.get("progress") if context else None
    return told
