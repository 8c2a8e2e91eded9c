"""Inferry: the right model and execution provider for the hardware at hand, fetched verified, and run."""

from .catalog import version as _version

__version__ = _version.VERSION

__all__ = ["__version__"]
