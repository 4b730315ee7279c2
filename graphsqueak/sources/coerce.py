"""The border: every form in which users hold a graph becomes an `EdgeList` or a stream of them."""

import numpy as np
import scipy.sparse

from graphsqueak.graph import EdgeList
from graphsqueak.sources.base import EdgeSource
from graphsqueak.validation import InputError

__all__ = ["as_edge_list", "as_stream"]


def as_edge_list(graph):
    """The whole graph in memory.

    Takes an EdgeList, an EdgeSource, a scipy sparse or dense symmetric adjacency matrix, or an
    undirected networkx graph.

    >>> as_edge_list(np.array([[0, 3], [3, 0]]))
    EdgeList(n_nodes=2, n_edges=1, total_weight=3)
    """
    stream = as_stream(graph)
    return stream if isinstance(stream, EdgeList) else stream.to_edge_list()


def as_stream(graph):
    """The graph as batches: an EdgeSource as it is, anything else as one batch, its EdgeList."""
    if isinstance(graph, EdgeList | EdgeSource):
        return graph
    if scipy.sparse.issparse(graph) or isinstance(graph, np.ndarray):
        return EdgeList.from_scipy(graph)
    if hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        return EdgeList.from_networkx(graph)
    raise InputError(
        f"a graph of type {type(graph).__name__} is not understood; give an EdgeList, "
        "graphsqueak.read_edges(...), a scipy adjacency matrix or a networkx graph"
    )
