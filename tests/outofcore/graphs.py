"""Graphs of several kinds, and right-hand sides that they can be solved for."""

import numpy as np

from graphsqueak import EdgeList, sources


class Counted(sources.EdgeSource):
    """A source that counts how often it is read."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph
        self.n_begun = 0

    def _batches(self):
        self.n_begun += 1
        yield from self.graph.batches()


def examples():
    """Name and graph: dense, clustered, with heavy tails, in pieces, with nodes that are alone."""
    rng = np.random.default_rng(93_001)
    dense = sources.erdos_renyi(150, 4000, random_state=93_002).to_edge_list()
    heavy = rng.lognormal(sigma=2.0, size=dense.n_edges)
    pieces = dense.tail % 3 == dense.head % 3
    apart = EdgeList(
        tail=dense.tail[pieces], head=dense.head[pieces], weight=heavy[pieces], n_nodes=154
    )
    return {
        "dense": dense,
        "heavy": EdgeList(tail=dense.tail, head=dense.head, weight=heavy),
        "clusters": sources.barbell(60).to_edge_list(),
        "grid": sources.small_world(14, 14, 600, random_state=93_003).to_edge_list(),
        "pieces": apart,
    }


def right_hand_sides(graph, n_columns, seed):
    """Gaussian columns that sum to zero over every component."""
    block = np.random.default_rng(seed).standard_normal((graph.n_nodes, n_columns))
    label = graph.components()
    mean = [np.bincount(label, column) / np.bincount(label) for column in block.T]
    return block - np.array(mean).T[label]
