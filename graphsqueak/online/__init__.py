"""Online learning with kernels: Newton steps on dictionaries, and what they are compared with.

The names below are the public interface; each is imported when first used.
"""

from importlib import import_module

_HOME = {
    "BKONS": "pros_n_kons",
    "CONKONS": "pros_n_kons",
    "DualSGD": "dual_sgd",
    "FOGD": "fourier",
    "KONS": "kons",
    "KernelOGD": "kernel_ogd",
    "NOGD": "nystrom_ogd",
    "PROSNKONS": "pros_n_kons",
    "Run": "evaluation",
    "SkeGD": "skegd",
    "SketchedKONS": "sketched_kons",
    "flipped_blocks": "adversary",
    "loss_of": "losses",
    "progressive": "evaluation",
    "to_river": "river_adapter",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
