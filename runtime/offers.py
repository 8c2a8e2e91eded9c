"""What a shell offers for a value that is being typed; what fails meanwhile is no business of whoever types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..catalog.errors import Error
from ..catalog.values.names import is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click
    from click.shell_completion import CompletionItem


def _models() -> Iterable[str]:
    from .client import Client

    return Client().names()


def _pulled() -> Iterable[str]:
    from .client import Client

    return sorted({each.name for each in Client().cache.holdings().models})


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


def _eps() -> Iterable[str]:
    from ..ep_packages.table import packages

    return sorted({word for package in packages() for word in (*package.aliases, package.ep)})


def _devices() -> Iterable[str]:
    from ..catalog.selectors import VENDORS

    return ("cpu", "gpu", "npu", *VENDORS)


def _keys() -> Iterable[str]:
    from ..catalog.settings import KEYS

    return KEYS


_KINDS = {
    "model": _models,
    "pulled": _pulled,
    "policy": _policies,
    "ep": _eps,
    "device": _devices,
    "precision": _precisions,
    "channel": _channels,
    "setting": _keys,
}


def offers(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return what click asks for the values of a kind: a ``file``, or one of those above.

    Where a model is wanted, what begins as a path is left to the shell, which knows the files.
    """

    def found(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        if kind == "file" or (kind == "model" and is_path(incomplete)):
            return [CompletionItem(incomplete, type="file")]
        try:
            told = [*_KINDS[kind]()]
        except (Error, OSError):
            return []
        return [CompletionItem(each) for each in told if each.startswith(incomplete)]

    return found
