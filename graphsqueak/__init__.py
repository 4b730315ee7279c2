"""One-pass spectral sparsifiers of large graphs, with a measured error, and learning on them.

The names below are the public interface; each is imported when first used. Two names in their
signatures stand for several types:

`GraphLike`
    A graph: an `EdgeList`, the path of a file of edges, a pandas, polars, Arrow or DuckDB table of
    edges, a networkx or igraph graph, a scipy adjacency matrix, or an `EdgeSource`.
`Labels`
    A value per node: an array, a mapping from node ids, a pandas Series, a table with the columns
    node and label, or the path of such a table.
"""

from graphsqueak._lazy import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AccuracyWarning": "errors",
        "Certificate": "sparsifiers",
        "Comparison": "analysis",
        "ConvergenceWarning": "errors",
        "DistanceWeightsWarning": "errors",
        "EdgeList": "graph",
        "EdgeSource": "sources",
        "EigenfunctionClassifier": "ssl",
        "GraphNodes": "ssl",
        "GraphSplit": "ssl",
        "GraphStacking": "ssl",
        "HFSClassifier": "ssl",
        "InputError": "errors",
        "LaplacianSolver": "solvers",
        "NearestLabelClassifier": "ssl",
        "NeighborMeans": "ssl",
        "PoissonClassifier": "ssl",
        "SimpleHFSClassifier": "ssl",
        "SpamFilter": "mail",
        "SparseHFSClassifier": "ssl",
        "SparseHFSRegressor": "ssl",
        "StableHFSClassifier": "ssl",
        "StableHFSRegressor": "ssl",
        "StreamOptions": "sparsifiers",
        "StreamSparsifier": "sparsifiers",
        "StreamedSolver": "outofcore",
        "SubsampledHFSClassifier": "ssl",
        "TimedEdges": "graph",
        "TimedSparsifier": "sparsifiers",
        "analysis": "",
        "certify": "sparsifiers",
        "compare": "analysis",
        "cross_validate": "ssl",
        "datasets": "",
        "effective_resistance": "outofcore",
        "info": "sources",
        "integrations": "",
        "kernel": "",
        "mail": "",
        "neighbor_edges": "sources",
        "online": "",
        "outofcore": "",
        "read_edges": "sources",
        "read_projection": "sources",
        "smallest_eigenpairs": "outofcore",
        "solvers": "",
        "sources": "",
        "sparsifiers": "",
        "sparsify": "sparsifiers.sparsify",
        "ssl": "",
        "write_edges": "sources",
    },
)
