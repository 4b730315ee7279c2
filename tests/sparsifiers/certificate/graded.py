"""Graphs whose weights span many decades, with sparsifiers whose ratios are known."""

import numpy as np

from graphsqueak import EdgeList


def reweighted(graph, weight):
    """The same edges with other weights."""
    return EdgeList(tail=graph.tail, head=graph.head, weight=weight, n_nodes=graph.n_nodes)


def bridged(bridge, *, n_nodes=64, density=1.0, factor=1.5, seed=34_001):
    """Two random blocks joined by one light edge; the sparsifier has `factor` times that edge.

    All ratios are 1, apart from one that is `factor`: the edge is the whole cut between the blocks.
    """
    rng = np.random.default_rng(seed)
    tail, head = np.triu_indices(n_nodes, 1)
    kept = (rng.random(tail.size) < density) | (head == tail + 1)
    tail, head = tail[kept], head[kept]
    graph = EdgeList(
        tail=np.concatenate([tail, tail + n_nodes, [n_nodes - 1]]),
        head=np.concatenate([head, head + n_nodes, [n_nodes]]),
        weight=np.append(np.ones(2 * tail.size), bridge),
    )
    weight = graph.weight.copy()
    weight[-1] *= factor
    return graph, reweighted(graph, weight)


def random_pair(seed, *, decades=12):
    """A random graph of 12 to 40 nodes, a sparsifier with the same components, and a ridge.

    Weights are log-uniform over `decades`. A third of the graphs have bottlenecks: their nodes are
    in three groups, and weights between groups are another 1e-3 lighter. The sparsifier changes
    all weights by up to a factor of two, or drops edges off a spanning forest, or changes weights
    by up to three decades. A quarter of the pairs have a ridge.
    """
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(12, 41))
    tail, head = rng.integers(n_nodes, size=(2, n_nodes * int(rng.integers(1, 8))))
    weight = 10.0 ** rng.uniform(-decades, 0, size=tail.size)
    if seed % 3 == 0:
        weight[tail % 3 != head % 3] *= 1e-3
    graph = EdgeList(tail=tail, head=head, weight=weight, n_nodes=n_nodes).simplified()
    change = rng.uniform(0.5, 2.0, size=graph.n_edges)
    if seed % 5 == 1:
        change[rng.random(graph.n_edges) < 0.3] = 0.0
        change[spanning_forest(graph)] = 1.0
    elif seed % 5 == 2:
        change = 10.0 ** rng.uniform(-3, 3, size=graph.n_edges)
    kept = change > 0
    sparsifier = EdgeList(
        tail=graph.tail[kept],
        head=graph.head[kept],
        weight=(graph.weight * change)[kept],
        n_nodes=n_nodes,
    )
    ridge = float(10.0 ** rng.uniform(-decades, 0)) if seed % 4 == 0 else 0.0
    return graph, sparsifier, ridge


def spanning_forest(graph):
    """Edges of a spanning forest, heaviest first."""
    root = np.arange(graph.n_nodes)
    chosen = []
    for edge in np.argsort(-graph.weight):
        ends = root[graph.tail[edge]], root[graph.head[edge]]
        if ends[0] != ends[1]:
            chosen.append(edge)
            root[root == ends[1]] = ends[0]
    return np.array(chosen, dtype=int)
