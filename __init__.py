"""Inferry: the right model and execution provider for the hardware at hand, fetched verified, and run."""

from .catalog import version as _version

TYPE_CHECKING = False  # known to type checkers; `typing` takes longer to import than all of this

if TYPE_CHECKING:
    from .catalog.errors import Error
    from .runtime.child import freeze_support
    from .runtime.client import Client, devices, load, plan, prepare, providers, run, search
    from .runtime.model import Model
    from .runtime.profile import HostProfile

__version__ = _version.VERSION

__all__ = ["Client", "Error", "HostProfile", "Model", "__version__"]
__all__ += ["devices", "freeze_support", "load", "plan", "prepare", "providers", "run", "search"]

_HOMES = {
    **dict.fromkeys(("Client", "devices", "load", "plan", "prepare", "providers", "run", "search"), "runtime.client"),
    "freeze_support": "runtime.child",
    "Error": "catalog.errors",
    "HostProfile": "runtime.profile",
    "Model": "runtime.model",
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
