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
        "CorrectAndSmooth": "ssl",
        "EdgeList": "graph",
        "EdgeSource": "sources",
        "EigenfunctionClassifier": "ssl",
        "GraphNodes": "ssl",
        "GraphSplit": "ssl",
        "HFSClassifier": "ssl",
        "InputError": "errors",
        "LaplacianSolver": "solvers",
        "NearestLabelClassifier": "ssl",
        "NeighborMeans": "ssl",
        "PoissonClassifier": "ssl",
        "SimpleHFSClassifier": "ssl",
        "Smoothed": "ssl",
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
    other_names={
        "DiGraph": "EdgeList, whose edges have no direction",
        "Graph": "EdgeList.from_pairs(edges) or read_edges(frame)",
        "Sparsifier": "StreamSparsifier or sparsify(graph, keep=0.1)",
        "communities": "analysis.communities(graph)",
        "cross_val_predict": "StableHFSClassifier().fit(graph, y).predict()",
        "cross_val_score": "cross_validate(estimator, graph, y)['test_score']",
        "draw": "analysis.draw(graph)",
        "from_networkx": "EdgeList.from_networkx(graph)",
        "from_numpy": "EdgeList.from_scipy(matrix)",
        "from_pandas": "read_edges(frame)",
        "from_pandas_edgelist": "read_edges(frame)",
        "from_polars": "read_edges(frame)",
        "from_scipy": "EdgeList.from_scipy(matrix)",
        "karate_club_graph": "networkx.karate_club_graph(), which is accepted as a graph",
        "load": "read_edges(path)",
        "louvain_communities": "analysis.communities(graph, method='louvain')",
        "pagerank": "analysis.rank(graph)",
        "rank": "analysis.rank(graph)",
        "read": "read_edges(path)",
        "read_csv": "read_edges(path)",
        "read_edgelist": "read_edges(path)",
        "read_parquet": "read_edges(path)",
        "read_weighted_edgelist": "read_edges(path)",
        "resistance_distance": "effective_resistance(graph, [(u, v)])",
        "save": "write_edges(graph, path)",
        "sparsifier": "sparsify(graph, keep=0.1)",
        "spectral_clusters": "analysis.spectral_clusters(graph, n_clusters=8)",
        "spectral_embedding": "analysis.spectral_embedding(graph, n_components=2)",
        "write_edgelist": "write_edges(graph, path)",
    },
)
