"""Graphs that several tests of resistances use."""

import numpy as np

from graphsqueak import EdgeList
from graphsqueak.graph.forest import make_sets, union_edges


def weighted_graph(n_nodes=60, n_edges=240, seed=913_527_046):
    """Random graph with lognormal weights; a few edges are parallel."""
    rng = np.random.default_rng(seed)
    tail = rng.integers(n_nodes, size=n_edges)
    head = (tail + rng.integers(1, n_nodes, size=n_edges)) % n_nodes
    weight = rng.lognormal(sigma=1.5, size=n_edges)
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes)


def connected_lognormal(sigma, *, n_nodes=300, n_edges=9000, seed=77):
    """Random graph with lognormal weights and a path through all nodes."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_nodes, size=(2, n_edges))
    tail = np.concatenate([ends[0], np.arange(n_nodes - 1)])
    head = np.concatenate([ends[1], np.arange(1, n_nodes)])
    weight = np.exp(sigma * rng.standard_normal(tail.size))
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes).simplified()


def two_blocks(first, second, *, n_links, weight):
    """Two graphs and `n_links` edges of the given weight between their first nodes."""
    links = np.arange(n_links)
    return EdgeList(
        tail=np.concatenate([first.tail, second.tail + first.n_nodes, links]),
        head=np.concatenate([first.head, second.head + first.n_nodes, links + first.n_nodes]),
        weight=np.concatenate([first.weight, second.weight, np.full(n_links, weight)]),
    ).simplified()


def two_triangles(weight):
    """Two triangles of unit edges, joined by two edges: the last ones."""
    return EdgeList(
        tail=np.array([0, 1, 2, 3, 4, 5, 0, 1]),
        head=np.array([1, 2, 0, 4, 5, 3, 3, 4]),
        weight=np.repeat([1.0, weight], [6, 2]),
    )


def spanning_forest(graph):
    """Mask of the edges that join two components, in their order."""
    return union_edges(make_sets(graph.n_nodes), graph.tail, graph.head)
