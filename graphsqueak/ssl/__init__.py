"""Labels for all nodes from a few: harmonic functions on graphs and on their sparsifiers.

The table of contents: each name is imported when it is first used.
"""

from importlib import import_module

_HOME = {
    "EigenfunctionClassifier": "eigenfunction",
    "HFSClassifier": "harmonic_classifier",
    "NearestLabelClassifier": "nearest_label",
    "SimpleHFSClassifier": "simple_hfs",
    "SparseHFSClassifier": "sparse_classifier",
    "SparseHFSRegressor": "sparse_regressor",
    "StableHFSClassifier": "stable_classifier",
    "StableHFSRegressor": "stable_regressor",
    "SubsampledHFSClassifier": "subsampled",
    "UnreachedWarning": "base",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
