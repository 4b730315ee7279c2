"""Kernel dictionaries: leverage scores, samplers in one pass or many, Nystrom, regression, PCA.

The names below are the public interface; each is imported when first used.
"""

from importlib import import_module

_HOME = {
    "BLESS": "bless",
    "ExactRLS": "batch",
    "KORS": "kors",
    "ManyStepRLS": "batch",
    "NystromPCA": "pca",
    "NystromRidge": "ridge",
    "NystromTransformer": "nystrom",
    "OnlineSampler": "online_sampler",
    "RecursiveRLS": "recursive",
    "SQUEAK": "squeak",
    "TwoStepRLS": "batch",
    "UniformDictionary": "batch",
    "as_kernel": "kernels",
    "effective_dimension": "leverage",
    "estimate_leverage": "estimator",
    "leverage_scores": "leverage",
    "online_effective_dimension": "leverage",
    "online_leverage_scores": "leverage",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
