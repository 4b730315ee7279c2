"""What one looks at: points, clusters, centralities, cuts, pictures; graph beside sparsifier."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Clusters": "clusters",
        "Communities": "community",
        "Comparison": "comparison",
        "Cut": "cuts",
        "Embedding": "embedding",
        "Ranking": "centrality",
        "communities": "community",
        "compare": "comparison",
        "cut": "cuts",
        "draw": "drawing",
        "layout": "layouts",
        "rank": "centrality",
        "spectral_clusters": "clusters",
        "spectral_embedding": "embedding",
    },
)
