"""Random graphs as streams, from a few edges to billions.

Edges are sampled independently, so that an edge may occur twice (weights of parallel edges are
added). Each block of edges has a random generator of its own, keyed by the seed and the number of
the block. So a stream is the same in every pass, and does not depend on the batch size. The
neighbors of random points (`gaussian_neighbors`) are different: the points are in memory, and their
neighbors are searched in every pass.

References
----------
[CL02] Chung, Lu. Connected components in random graphs with given expected degree sequences. Annals
    of Combinatorics 6, 2002.
"""

from functools import partial

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.synthetic.closed_forms import SyntheticSource, grid, joined
from graphsqueak.validation import check_count, check_real, explain_keywords

# Edges per block, each with a generator of its own. Part of the definition of the streams: with
# another value, a seed gives another graph.
EDGES_PER_BLOCK = 65_536


@explain_keywords()
def erdos_renyi(
    n_nodes: int, n_edges: int, *, random_state: int | None = None, batch_size: int = 1_000_000
) -> SyntheticSource:
    """Return a graph of independent, uniform pairs of different nodes.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    random_state : int, optional
        Seed. Default: a random one.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes, least=2)
    draw = partial(_draw_pairs, n_nodes)
    return _random_source(n_nodes, n_edges, draw, random_state, batch_size)


@explain_keywords()
def block_model(
    n_nodes: int,
    n_edges: int,
    *,
    n_blocks: int = 4,
    within: float = 0.8,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """Return a stochastic block model of equal blocks; node i is in block i mod n_blocks.

    An edge starts at a uniform node and ends, with probability `within`, at a uniform other node of
    its own block, otherwise at a uniform node of the other blocks.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    n_blocks : int
        Number of blocks; n_nodes must be a multiple of it.
    within : float
        Probability that an edge stays in its block.
    random_state : int, optional
        Seed. Default: a random one.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_blocks", n_blocks, least=2)
    check_count("n_nodes", n_nodes, least=2 * n_blocks)
    check_real("within", within, least=0.0)
    if n_nodes % n_blocks or within > 1:
        raise InputError("n_nodes must be a multiple of n_blocks, and within at most 1")
    draw = partial(_draw_within_blocks, n_nodes, n_blocks, within)
    return _random_source(n_nodes, n_edges, draw, random_state, batch_size)


@explain_keywords()
def chung_lu(
    n_nodes: int,
    n_edges: int,
    *,
    exponent: float = 2.5,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """Return a graph with heavy-tailed degrees [CL02].

    Node i is an end of an edge with probability proportional to (i + 1)^-s. With
    s = 1 / (exponent - 1), the number of nodes of degree d is proportional to d^-exponent.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    exponent : float
        Above 2.
    random_state : int, optional
        Seed. Default: a random one.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes, least=2)
    check_real("exponent", exponent, above=2.0)
    # Nodes are drawn by inversion of the cumulative distribution.
    cumulative = np.cumsum(np.arange(1, n_nodes + 1) ** (-1 / (exponent - 1)))
    cumulative /= cumulative[-1]
    draw = partial(_draw_heavy_tailed, cumulative)
    return _random_source(n_nodes, n_edges, draw, random_state, batch_size)


@explain_keywords()
def small_world(
    n_rows: int,
    n_columns: int,
    n_long: int,
    *,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """Return a grid with uniform long-range edges.

    Parameters
    ----------
    n_rows, n_columns : int
        Nodes along each side of the grid.
    n_long : int
        Number of long-range edges.
    random_state : int, optional
        Seed. Default: a random one.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    lattice = grid(n_rows, n_columns)
    long_range = erdos_renyi(lattice.n_nodes, n_long, random_state=random_state)
    return joined(lattice.n_nodes, [(lattice, 0), (long_range, 0)], batch_size=batch_size)


@explain_keywords()
def gaussian_neighbors(
    n_nodes: int,
    n_neighbors: int,
    *,
    n_clusters: int = 4,
    spread: float = 2.0,
    dimension: int = 2,
    random_state: RandomState = None,
    batch_size: int = 1_000_000,
) -> EdgeSource:
    """Return the nearest-neighbor graph of points in Gaussian clusters.

    Points i and j are joined if either is among the other's `n_neighbors` nearest, with weight
    exp(-|x_i - x_j|^2 / (2 s^2)), s the mean distance to the last neighbor. Cluster centers are
    Gaussian with standard deviation `spread`, points around them with standard deviation 1.

    Parameters
    ----------
    n_nodes : int
        Number of points.
    n_neighbors : int
        Neighbors of each, below n_nodes.
    n_clusters : int
        Number of clusters; every point is in a random one.
    spread : float
        Standard deviation of the centers.
    dimension : int
        Number of coordinates.
    random_state : int, Generator or None
        Seed.
    batch_size : int
        Approximate number of edges per batch.
    """
    from scipy.spatial import KDTree

    check_count("n_neighbors", n_neighbors)
    check_count("n_nodes", n_nodes, least=n_neighbors + 1)
    rng = np.random.default_rng(random_state)
    centers = spread * rng.standard_normal((n_clusters, dimension))
    points = centers[rng.integers(n_clusters, size=n_nodes)]
    points = points + rng.standard_normal(points.shape)
    tree = KDTree(points)
    # Every point is its own nearest neighbor.
    last_distance = tree.query(points, k=[n_neighbors + 1], workers=-1)[0][:, 0]
    return _NeighborSource(points, tree, last_distance, n_neighbors, batch_size=batch_size)


class _NeighborSource(EdgeSource):
    """Stream of the edges of each point in turn; mutual neighbors are listed by the lower one."""

    def __init__(self, points, tree, last_distance, n_neighbors, *, batch_size):
        super().__init__()
        self.n_nodes = len(points)
        self.batch_size = check_count("batch_size", batch_size)
        self.points = points
        self._tree = tree
        self._last_distance = last_distance
        self._n_neighbors = n_neighbors

    def _batches(self):
        points_per_batch = max(self.batch_size // self._n_neighbors, 1)
        bandwidth = self._last_distance.mean()
        for start in range(0, self.n_nodes, points_per_batch):
            block = self.points[start : start + points_per_batch]
            distance, head = self._tree.query(block, k=self._n_neighbors + 1, workers=-1)
            tail = np.arange(start, start + len(block))[:, None]
            # A mutual edge is in both lists, and listed by its lower end.
            is_mutual = distance <= self._last_distance[head]
            is_listed = (head != tail) & ((tail < head) | ~is_mutual)
            weight = np.exp(-0.5 * (distance[is_listed] / bandwidth) ** 2)
            tail = np.broadcast_to(tail, head.shape)[is_listed]
            self.fraction_read = (start + len(block)) / self.n_nodes
            yield EdgeList.from_validated(tail, head[is_listed], weight, self.n_nodes)


def _draw_pairs(n_nodes, rng, size):
    tail = rng.integers(n_nodes, size=size)
    # A shift by 1, ..., n - 1 gives a uniform other node.
    return tail, (tail + rng.integers(1, n_nodes, size=size)) % n_nodes


def _draw_within_blocks(n_nodes, n_blocks, within, rng, size):
    block_size = n_nodes // n_blocks
    tail = rng.integers(n_nodes, size=size)
    rank, block = np.divmod(tail, n_blocks)
    # Another node of the same block, and a node of another block.
    other_rank = (rank + rng.integers(1, block_size, size=size)) % block_size
    other_block = (block + rng.integers(1, n_blocks, size=size)) % n_blocks
    any_rank = rng.integers(block_size, size=size)
    is_within = rng.random(size) < within
    head = np.where(is_within, other_rank * n_blocks + block, any_rank * n_blocks + other_block)
    return tail, head


def _draw_heavy_tailed(cumulative, rng, size):
    def draw(size):
        return np.searchsorted(cumulative, rng.random(size), side="right")

    tail = draw(size)
    head = draw(size)
    # Self-loops get another head.
    while (loops := np.flatnonzero(tail == head)).size:
        head[loops] = draw(loops.size)
    return tail, head


def _random_source(n_nodes, n_edges, draw, random_state, batch_size):
    check_count("n_edges", n_edges, least=0)
    # The entropy of a random seed is kept, so that all passes draw the same edges.
    root = np.random.SeedSequence(random_state)
    ends = partial(_draw_blocks, draw, root.entropy)
    return SyntheticSource(n_nodes, n_edges, ends, batch_size=batch_size)


def _draw_blocks(draw, entropy, start, stop):
    """Return ends of edges start, ..., stop - 1, from the generators of their blocks."""
    blocks = [np.zeros((2, 0), dtype=np.int64)]
    for block in range(start // EDGES_PER_BLOCK, -(-stop // EDGES_PER_BLOCK)):
        # The whole block is drawn, so that its edges do not depend on start and stop.
        key = np.random.SeedSequence(entropy, spawn_key=(block,))
        ends = np.stack(draw(np.random.default_rng(key), EDGES_PER_BLOCK))
        first = block * EDGES_PER_BLOCK
        blocks.append(ends[:, max(start - first, 0) : stop - first])
    return np.concatenate(blocks, axis=1)
