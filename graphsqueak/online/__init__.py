"""Online learning with kernels: Newton steps on dictionaries, and what they are compared with.

The names below are the public interface; each is imported when first used.
"""

from importlib import import_module

_HOME = {
    "KONS": "kons",
    "SketchedKONS": "sketched_kons",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
