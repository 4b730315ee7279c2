"""Sparsifiers and what they stand on: effective resistances."""

from importlib import import_module

_HOME = {"effective_resistance": "resistance"}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
