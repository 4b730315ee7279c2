"""Analysis of graphs: embeddings, clusters, rankings, cuts, communities, drawings and comparisons.

Every function takes a graph in memory, or a file that is streamed in a few passes with the help of
a sparsifier (`analyzed_graph`).
"""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Clusters": "clusters",
        "Communities": "community",
        "Comparison": "comparison",
        "Cut": "cuts",
        "Ranking": "centrality",
        "SpectralEmbedding": "embedding",
        "communities": "community",
        "compare": "comparison",
        "cut": "cuts",
        "draw": "drawing",
        "layout": "layouts",
        "rank": "centrality",
        "spectral_clusters": "clusters",
        "spectral_embedding": "embedding",
    },
    other_names={
        "closeness_centrality": "rank(graph, by='closeness')",
        "clusters": "spectral_clusters(graph, n_clusters=8)",
        "conductance": "cut(graph).conductance",
        "louvain": "communities(graph, method='louvain')",
        "louvain_communities": "communities(graph, method='louvain')",
        "modularity": "communities(graph).modularity",
        "pagerank": "rank(graph)",
        "plot": "draw(graph)",
        "spectral_clustering": "spectral_clusters(graph, n_clusters=8)",
        "spectral_layout": "layout(graph)",
        "spring_layout": "layout(graph)",
    },
)
