"""Inferry: the right model and execution provider for the hardware at hand, fetched verified, and run."""

from .catalog import version as _version

TYPE_CHECKING = False  # known to type checkers; `typing` takes longer to import than all of this

if TYPE_CHECKING:
    from .catalog.errors import Error
    from .runtime.child import freeze_support
    from .runtime.client import Client
    from .runtime.facade import devices, load, load_async, plan, prepare, prepare_async, providers, run, search
    from .runtime.model import Model
    from .runtime.profile import HostProfile

__version__ = _version.VERSION
__all__ = ["Client", "Error", "HostProfile", "Model", "__version__", "freeze_support"]
__all__ += ["devices", "load", "load_async", "plan", "prepare", "prepare_async", "providers", "run", "search"]

_HOMES = {
    "Client": "runtime.client",
    "freeze_support": "runtime.child",
    "Error": "catalog.errors",
    "HostProfile": "runtime.profile",
    "Model": "runtime.model",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that ``import inferry`` costs next to nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{_HOMES.get(name, 'runtime.facade')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
