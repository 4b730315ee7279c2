"""Sources of edges: files, projections, neighbors of points and synthetic graphs."""

from graphsqueak._lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "EdgeSource": "edge_source",
        "ProjectionSource": "projections.projection_source",
        "StreamedLaplacian": "streamed_laplacian",
        "Summary": "summary",
        "SyntheticSource": "synthetic.closed_forms",
        "as_edge_list": "graph_like",
        "as_stream": "graph_like",
        "barbell": "synthetic.closed_forms",
        "block_model": "synthetic.random_graphs",
        "chung_lu": "synthetic.random_graphs",
        "complete": "synthetic.closed_forms",
        "complete_bipartite": "synthetic.closed_forms",
        "cycle": "synthetic.closed_forms",
        "erdos_renyi": "synthetic.random_graphs",
        "gaussian_neighbors": "synthetic.random_graphs",
        "follow_edges": "following",
        "grid": "synthetic.closed_forms",
        "hypercube": "synthetic.closed_forms",
        "info": "summary",
        "neighbor_edges": "neighbors.edges",
        "path": "synthetic.closed_forms",
        "read_edges": "files.reading",
        "read_projection": "projections.projection_source",
        "recent_edges": "recent",
        "small_world": "synthetic.random_graphs",
        "star": "synthetic.closed_forms",
        "write_columns": "files.writing",
        "write_edges": "files.writing",
    },
)
