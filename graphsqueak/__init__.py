"""Graphs too large to keep: read, measure, sparsify and learn on them.

The names below are the public interface; each is imported when first used.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AccuracyWarning": "validation",
    "Certificate": "sparsify",
    "Comparison": "sparsify",
    "ConvergenceWarning": "validation",
    "EdgeList": "graph",
    "EdgeSource": "sources",
    "EigenfunctionClassifier": "ssl",
    "HFSClassifier": "ssl",
    "InputError": "validation",
    "LaplacianSolver": "solvers",
    "NearestLabelClassifier": "ssl",
    "SimpleHFSClassifier": "ssl",
    "SparseHFSClassifier": "ssl",
    "SparseHFSRegressor": "ssl",
    "StableHFSClassifier": "ssl",
    "StableHFSRegressor": "ssl",
    "SubsampledHFSClassifier": "ssl",
    "StreamOptions": "sparsify",
    "StreamSparsifier": "sparsify",
    "certify": "sparsify",
    "compare": "sparsify",
    "effective_resistance": "sparsify",
    "neighbor_edges": "sources",
    "read_edges": "sources",
    "write_edges": "sources",
}

_MODULES = {"datasets", "kernel", "online", "solvers", "sources", "sparsify", "ssl"}

__all__ = sorted([*_HOME, "sparsify"])


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return [*__all__, "__version__"]
