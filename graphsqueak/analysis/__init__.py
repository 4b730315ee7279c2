"""What one looks at: points, clusters, centralities, cuts, pictures; a graph beside its sparsifier."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Clusters": "clusters",
        "Comparison": "comparison",
        "Cut": "cuts",
        "Embedding": "embedding",
        "Ranking": "centrality",
        "compare": "comparison",
        "cut": "cuts",
        "rank": "centrality",
        "spectral_clusters": "clusters",
        "spectral_embedding": "embedding",
    },
)
