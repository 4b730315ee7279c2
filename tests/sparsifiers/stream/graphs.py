"""Graphs that several tests of the stream sparsifiers use."""

import numpy as np

from graphsqueak import EdgeList

__all__ = ["scaled", "weighted_graph"]


def weighted_graph(n_nodes=50, n_edges=4000, seed=12, factor=1.0):
    """Random edges with parallel ones and lognormal weights."""
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    weight = factor * rng.lognormal(sigma=0.8, size=n_edges)
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes)


def scaled(graph, factor):
    """The same graph with all weights times `factor`."""
    return EdgeList.from_validated(graph.tail, graph.head, graph.weight * factor, graph.n_nodes)
