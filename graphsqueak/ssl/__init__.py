"""Semi-supervised learning on graphs and on their sparsifiers: labels for all nodes from a few."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AbsentLabelsWarning": "labels",
        "AmbiguousLabelsWarning": "labels",
        "Bound": "bounds",
        "EigenfunctionClassifier": "baselines.smooth_functions",
        "GraphNodes": "selection.graph_nodes",
        "GraphSplit": "selection.graph_split",
        "GraphStacking": "features.stacking",
        "HFSClassifier": "harmonic",
        "HomophilyWarning": "decisions.homophily",
        "LateLabelsWarning": "base",
        "NearestLabelClassifier": "baselines.nearest",
        "NeighborMeans": "features.neighbor_means",
        "PoissonClassifier": "baselines.poisson",
        "SimpleHFSClassifier": "baselines.smooth_functions",
        "SparseHFSClassifier": "sparse_classifier",
        "SparseHFSRegressor": "regressors",
        "StableHFSClassifier": "stable_classifier",
        "StableHFSRegressor": "regressors",
        "SubsampledHFSClassifier": "baselines.nearest",
        "UnreachedWarning": "base",
        "cross_validate": "evaluation.cross_validation",
        "detection_report": "evaluation.detection",
        "find_positives": "evaluation.detection",
        "flag_positives": "evaluation.detection",
    },
)
