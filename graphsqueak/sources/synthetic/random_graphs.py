"""Random graphs made on the fly, from a few edges to billions.

Edges are drawn independently, so one may occur twice (parallel edges add up). Edge e comes from a
generator keyed by the seed and by e, so a stream is the same whatever the batch size, and the same
each time it is read.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.synthetic.closed_forms import SyntheticSource, grid
from graphsqueak.validation import check_count, check_real

__all__ = ["block_model", "chung_lu", "erdos_renyi", "gaussian_neighbors", "small_world"]

_DRAW = 65_536  # edges of one block: each block has a generator of its own, keyed by its number


def erdos_renyi(n_nodes, n_edges, *, random_state=None, **batching):
    """`n_edges` independent, uniform pairs of different nodes."""
    check_count("n_nodes", n_nodes, least=2)

    def draw(rng, size):
        tail = rng.integers(n_nodes, size=size)
        return tail, (tail + rng.integers(1, n_nodes, size=size)) % n_nodes

    return _random_source(n_nodes, n_edges, draw, random_state, batching)


def block_model(n_nodes, n_edges, *, n_blocks=4, within=0.8, random_state=None, **batching):
    """Nodes in `n_blocks` equal blocks (node i in block i mod n_blocks).

    An edge starts at a uniform node and ends, with probability `within`, at a uniform other node of
    its own block, otherwise at a uniform node of the other blocks.
    """
    check_count("n_blocks", n_blocks, least=2)
    check_count("n_nodes", n_nodes, least=2 * n_blocks)
    check_real("within", within, least=0.0)
    if n_nodes % n_blocks or within > 1:
        raise InputError("n_nodes must be a multiple of n_blocks, and within at most 1")
    size_of_block = n_nodes // n_blocks

    def draw(rng, size):
        tail = rng.integers(n_nodes, size=size)
        block, place = tail % n_blocks, tail // n_blocks
        other_place = (place + rng.integers(1, size_of_block, size=size)) % size_of_block
        other_block = (block + rng.integers(1, n_blocks, size=size)) % n_blocks
        any_place = rng.integers(size_of_block, size=size)
        stays = rng.random(size) < within
        head = np.where(stays, other_place * n_blocks + block, any_place * n_blocks + other_block)
        return tail, head

    return _random_source(n_nodes, n_edges, draw, random_state, batching)


def chung_lu(n_nodes, n_edges, *, exponent=2.5, random_state=None, **batching):
    """Heavy-tailed degrees: node i is an end with probability proportional to (i + 1)^-s.

    s = 1 / (exponent - 1) makes the number of nodes of degree d fall as d^-exponent.
    """
    check_count("n_nodes", n_nodes, least=2)
    check_real("exponent", exponent, above=2.0)
    cumulative = np.cumsum(np.arange(1, n_nodes + 1) ** (-1 / (exponent - 1)))
    cumulative /= cumulative[-1]

    def draw(rng, size):
        tail = np.searchsorted(cumulative, rng.random(size), side="right")
        head = np.searchsorted(cumulative, rng.random(size), side="right")
        while (loops := np.flatnonzero(tail == head)).size:
            head[loops] = np.searchsorted(cumulative, rng.random(loops.size), side="right")
        return tail, head

    return _random_source(n_nodes, n_edges, draw, random_state, batching)


def small_world(n_rows, n_columns, n_long, *, random_state=None, **batching):
    """A grid, then `n_long` uniform long-range edges."""
    lattice = grid(n_rows, n_columns)
    far = erdos_renyi(lattice.n_nodes, n_long, random_state=random_state)

    def ends(start, stop):
        cut = lattice.n_edges
        near = lattice.ends(min(start, cut), min(stop, cut))
        long = far.ends(max(start - cut, 0), max(stop - cut, 0))
        return tuple(map(np.concatenate, zip(near, long, strict=True)))

    return SyntheticSource(lattice.n_nodes, lattice.n_edges + n_long, ends, **batching)


def gaussian_neighbors(
    n_nodes, n_neighbors, *, n_clusters=4, spread=2.0, dimension=2, random_state=None, **batching
):
    """Joined nearest neighbors of points in Gaussian clusters.

    Points i and j are joined when either is among the other's `n_neighbors` nearest, with weight
    exp(-|x_i - x_j|^2 / (2 s^2)), s the mean distance to the last neighbor. Cluster centers are
    Gaussian with standard deviation `spread`, points around them with standard deviation 1.
    """
    from scipy.spatial import KDTree

    check_count("n_neighbors", n_neighbors)
    check_count("n_nodes", n_nodes, least=n_neighbors + 1)
    rng = np.random.default_rng(random_state)
    centers = spread * rng.standard_normal((n_clusters, dimension))
    points = centers[rng.integers(n_clusters, size=n_nodes)]
    points = points + rng.standard_normal(points.shape)
    tree = KDTree(points)
    reach = tree.query(points, k=[n_neighbors + 1], workers=-1)[0][:, 0]
    return _NeighborSource(points, tree, reach, n_neighbors, **batching)


class _NeighborSource(EdgeSource):
    """The edges of each point in turn; a pair that both ends would list is given by the lower."""

    def __init__(self, points, tree, reach, n_neighbors, *, batch_size=1_000_000):
        super().__init__()
        self.n_nodes = len(points)
        self.batch_size = check_count("batch_size", batch_size)
        self.points, self._tree, self._reach = points, tree, reach
        self._n_neighbors = n_neighbors

    def _batches(self):
        per_batch = max(self.batch_size // self._n_neighbors, 1)
        bandwidth = self._reach.mean()
        for start in range(0, self.n_nodes, per_batch):
            block = self.points[start : start + per_batch]
            distance, head = self._tree.query(block, k=self._n_neighbors + 1, workers=-1)
            tail = np.arange(start, start + len(block))[:, None]
            mutual = distance <= self._reach[head]
            keep = (head != tail) & ((tail < head) | ~mutual)
            weight = np.exp(-0.5 * (distance[keep] / bandwidth) ** 2)
            tail = np.broadcast_to(tail, head.shape)[keep]
            self.fraction_read = (start + len(block)) / self.n_nodes
            yield EdgeList.from_clean(tail, head[keep], weight, self.n_nodes)


def _random_source(n_nodes, n_edges, draw, random_state, batching):
    """Edges in blocks of `_DRAW`, each from a generator keyed by its number."""
    check_count("n_edges", n_edges, least=0)
    root = np.random.SeedSequence(random_state)

    def ends(start, stop):
        tails, heads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for block in range(start // _DRAW, -(-stop // _DRAW)):
            key = np.random.SeedSequence(root.entropy, spawn_key=(block,))
            tail, head = draw(np.random.default_rng(key), _DRAW)
            cut = slice(max(start - block * _DRAW, 0), stop - block * _DRAW)
            tails.append(tail[cut])
            heads.append(head[cut])
        return np.concatenate(tails), np.concatenate(heads)

    return SyntheticSource(n_nodes, n_edges, ends, **batching)
