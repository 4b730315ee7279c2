"""Small graphs and labels for the stages, made with NumPy alone.

A change of the generators in `graphsqueak.sources` changes the stages about sources only.
"""

import numpy as np

from graphsqueak.graph import EdgeList

__all__ = ["block_graph", "components_graph", "hide_labels", "points_in_clusters", "ring_lattice"]


def block_graph(sizes, *, n_edges, within, seed):
    """A weighted block model and the block of every node.

    Parameters
    ----------
    sizes : sequence of int
        Nodes per block.
    n_edges : int
        Edges drawn; self-loops are dropped.
    within : float
        Probability that the second end is drawn from the block of the first one.
    seed : int
    """
    rng = np.random.default_rng(seed)
    block = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    tail = rng.integers(block.size, size=n_edges)
    head = rng.integers(block.size, size=n_edges)
    is_within = rng.random(n_edges) < within
    for number in range(len(sizes)):
        rows = np.flatnonzero(is_within & (block[tail] == number))
        head[rows] = rng.choice(np.flatnonzero(block == number), size=rows.size)
    is_edge = tail != head
    weight = rng.uniform(0.5, 2.0, size=n_edges)
    graph = EdgeList(
        tail=tail[is_edge], head=head[is_edge], weight=weight[is_edge], n_nodes=block.size
    )
    return graph, block


def components_graph(seed):
    """Two blocks in one component, a triangle, and a node without edges: 124 nodes."""
    graph, block = block_graph([60, 60], n_edges=900, within=0.9, seed=seed)
    tail = np.append(graph.tail, [120, 121, 122])
    head = np.append(graph.head, [121, 122, 120])
    weight = np.append(graph.weight, [1.0, 2.0, 3.0])
    block = np.append(block, [0, 0, 0, 1])
    return EdgeList(tail=tail, head=head, weight=weight, n_nodes=124), block


def ring_lattice(n_nodes, *, n_chords, seed):
    """A weighted ring with random chords; its eigenvalues are distinct."""
    rng = np.random.default_rng(seed)
    tail = np.concatenate([np.arange(n_nodes), rng.integers(n_nodes, size=n_chords)])
    head = np.concatenate(
        [np.arange(1, n_nodes + 1) % n_nodes, rng.integers(n_nodes, size=n_chords)]
    )
    is_edge = tail != head
    weight = rng.uniform(0.5, 2.0, size=tail.size)
    return EdgeList(tail=tail[is_edge], head=head[is_edge], weight=weight[is_edge], n_nodes=n_nodes)


def hide_labels(truth, *, per_class, seed):
    """`truth` at random nodes, `per_class[c]` of each class c, and -1 elsewhere."""
    rng = np.random.default_rng(seed)
    y = np.full(truth.size, -1)
    for number, count in enumerate(per_class):
        nodes = rng.choice(np.flatnonzero(truth == number), size=count, replace=False)
        y[nodes] = number
    return y


def points_in_clusters(n_points, n_features, *, seed):
    """Points around five centers of unequal sizes, and the center of every point."""
    rng = np.random.default_rng(seed)
    center = 2.0 * rng.normal(size=(5, n_features))
    cluster = rng.choice(5, size=n_points, p=[0.45, 0.25, 0.15, 0.1, 0.05])
    return center[cluster] + 0.6 * rng.normal(size=(n_points, n_features)), cluster
