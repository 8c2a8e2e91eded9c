"""Inferry: the right model and execution provider for the hardware at hand, fetched verified, and run."""

from .catalog import version as _version

TYPE_CHECKING = False  # known to type checkers; `typing` takes longer to import than all of this

if TYPE_CHECKING:
    from .catalog.errors import Error
    from .runtime.client import Client, load, run, search
    from .runtime.model import Model

__version__ = _version.VERSION

__all__ = ["Client", "Error", "Model", "__version__", "load", "run", "search"]

_HOMES = {
    "Client": "runtime.client",
    "Error": "catalog.errors",
    "Model": "runtime.model",
    "load": "runtime.client",
    "run": "runtime.client",
    "search": "runtime.client",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that ``import inferry`` costs next to nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
