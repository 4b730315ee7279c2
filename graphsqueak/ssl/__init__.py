"""Labels for all nodes from a few: harmonic functions on graphs and on their sparsifiers."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
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
    },
)
