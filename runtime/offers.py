"""What a shell offers for a value that is being typed; what fails meanwhile is no business of whoever types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click


def _models() -> Iterable[str]:
    from .client import Client

    return Client().names()


def _policies() -> Iterable[str]:
    from ..catalog.policy import POLICIES

    return POLICIES


def _precisions() -> Iterable[str]:
    from typing import get_args

    from ..catalog.values.model import Precision

    return get_args(Precision)


def _channels() -> Iterable[str]:
    from ..catalog.values.version import CHANNELS

    return CHANNELS


_KINDS = {"model": _models, "policy": _policies, "precision": _precisions, "channel": _channels}


def offers(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what click asks for the values of a ``model``, ``policy``, ``precision`` or ``channel``."""

    def found(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        try:
            return [each for each in _KINDS[kind]() if each.startswith(incomplete)]
        except (Error, OSError):
            return []

    return found
