"""Random graphs made on the fly, from a few edges to billions.

Edges are drawn independently, so one may occur twice (parallel edges add up). Each block of 65,536
edges comes from a generator keyed by the seed and by the number of the block, so a stream is the
same whatever the batch size, and the same each time it is read. The neighbors of random points
(`gaussian_neighbors`) are no such draws: the points are held, and their neighbors found anew.
"""

from functools import partial

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.synthetic.closed_forms import SyntheticSource, grid
from graphsqueak.validation import check_count, check_real

__all__ = ["block_model", "chung_lu", "erdos_renyi", "gaussian_neighbors", "small_world"]

_DRAW = 65_536  # edges of one block: each block has a generator of its own, keyed by its number


def erdos_renyi(
    n_nodes: int, n_edges: int, *, random_state: int | None = None, batch_size: int = 1_000_000
) -> SyntheticSource:
    """Independent, uniform pairs of different nodes.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    random_state : int, optional
        Seed. Default: another one each time.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes, least=2)
    draw = partial(_draw_pairs, n_nodes)
    return _random_source(n_nodes, n_edges, draw, random_state, batch_size)


def block_model(
    n_nodes: int,
    n_edges: int,
    *,
    n_blocks: int = 4,
    within: float = 0.8,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """Nodes in `n_blocks` equal blocks (node i in block i mod n_blocks).

    An edge starts at a uniform node and ends, with probability `within`, at a uniform other node of
    its own block, otherwise at a uniform node of the other blocks.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    n_blocks : int
        Number of blocks, of which n_nodes is a multiple.
    within : float
        Probability that an edge stays in its block.
    random_state : int, optional
        Seed. Default: another one each time.
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


def chung_lu(
    n_nodes: int,
    n_edges: int,
    *,
    exponent: float = 2.5,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """Heavy-tailed degrees: node i is an end with probability proportional to (i + 1)^-s.

    s = 1 / (exponent - 1) makes the number of nodes of degree d fall as d^-exponent.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    exponent : float
        Above 2.
    random_state : int, optional
        Seed. Default: another one each time.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes, least=2)
    check_real("exponent", exponent, above=2.0)
    cumulative = np.cumsum(np.arange(1, n_nodes + 1) ** (-1 / (exponent - 1)))
    cumulative /= cumulative[-1]
    draw = partial(_draw_heavy_tailed, cumulative)
    return _random_source(n_nodes, n_edges, draw, random_state, batch_size)


def small_world(
    n_rows: int,
    n_columns: int,
    n_long: int,
    *,
    random_state: int | None = None,
    batch_size: int = 1_000_000,
) -> SyntheticSource:
    """A grid, then uniform long-range edges.

    Parameters
    ----------
    n_rows, n_columns : int
        Nodes along each side of the grid.
    n_long : int
        Number of long-range edges.
    random_state : int, optional
        Seed. Default: another one each time.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    lattice = grid(n_rows, n_columns)
    far = erdos_renyi(lattice.n_nodes, n_long, random_state=random_state)
    ends = partial(_one_after_the_other, lattice, far)
    return SyntheticSource(lattice.n_nodes, lattice.n_edges + n_long, ends, batch_size=batch_size)


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
    """Joined nearest neighbors of points in Gaussian clusters.

    Points i and j are joined when either is among the other's `n_neighbors` nearest, with weight
    exp(-|x_i - x_j|^2 / (2 s^2)), s the mean distance to the last neighbor. Cluster centers are
    Gaussian with standard deviation `spread`, points around them with standard deviation 1.

    Parameters
    ----------
    n_nodes : int
        Number of points.
    n_neighbors : int
        Neighbors of each, below n_nodes.
    n_clusters : int
        Number of clusters; every point falls into one of them at random.
    spread : float
        Standard deviation of the centers.
    dimension : int
        Number of coordinates.
    random_state : int, Generator or None
        Seed.
    batch_size : int
        About how many edges a batch has.
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
    return _NeighborSource(points, tree, reach, n_neighbors, batch_size=batch_size)


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
            yield EdgeList.from_validated(tail, head[keep], weight, self.n_nodes)


def _draw_pairs(n_nodes, rng, size):
    tail = rng.integers(n_nodes, size=size)
    return tail, (tail + rng.integers(1, n_nodes, size=size)) % n_nodes


def _draw_within_blocks(n_nodes, n_blocks, within, rng, size):
    size_of_block = n_nodes // n_blocks
    tail = rng.integers(n_nodes, size=size)
    block, rank = tail % n_blocks, tail // n_blocks  # rank within the block
    other_rank = (rank + rng.integers(1, size_of_block, size=size)) % size_of_block
    other_block = (block + rng.integers(1, n_blocks, size=size)) % n_blocks
    any_rank = rng.integers(size_of_block, size=size)
    stays = rng.random(size) < within
    head = np.where(stays, other_rank * n_blocks + block, any_rank * n_blocks + other_block)
    return tail, head


def _draw_heavy_tailed(cumulative, rng, size):
    tail = np.searchsorted(cumulative, rng.random(size), side="right")
    head = np.searchsorted(cumulative, rng.random(size), side="right")
    while (loops := np.flatnonzero(tail == head)).size:
        head[loops] = np.searchsorted(cumulative, rng.random(loops.size), side="right")
    return tail, head


def _one_after_the_other(first, second, start, stop):
    """Ends of the edges of two sources, those of the first before those of the second."""
    cut = first.n_edges
    near = first.ends(min(start, cut), min(stop, cut))
    far = second.ends(max(start - cut, 0), max(stop - cut, 0))
    return tuple(map(np.concatenate, zip(near, far, strict=True)))


def _random_source(n_nodes, n_edges, draw, random_state, batch_size):
    """Edges in blocks of `_DRAW`, each from a generator keyed by its number."""
    check_count("n_edges", n_edges, least=0)
    root = np.random.SeedSequence(random_state)
    ends = partial(_draw_blocks, draw, root.entropy)
    return SyntheticSource(n_nodes, n_edges, ends, batch_size=batch_size)


def _draw_blocks(draw, entropy, start, stop):
    tails, heads = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for block in range(start // _DRAW, -(-stop // _DRAW)):
        key = np.random.SeedSequence(entropy, spawn_key=(block,))
        tail, head = draw(np.random.default_rng(key), _DRAW)
        cut = slice(max(start - block * _DRAW, 0), stop - block * _DRAW)
        tails.append(tail[cut])
        heads.append(head[cut])
    return np.concatenate(tails), np.concatenate(heads)
