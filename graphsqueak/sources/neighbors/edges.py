"""Points as a stream of edges: each joined to its nearest neighbors.

The graph is never held: 75,000 points with 3,000 neighbors each make more than 100 million edges,
which pass by in batches. What stays in memory are the points and a few numbers for each.

Every point's list of neighbors lies in a file without a name, 12 bytes an entry, which goes when
the source does. Finding the lists again for every pass would take half of all products each time,
and 1.5 times the bare products in the first; reading them takes a fraction of a second for 10
million pairs.

Two lists are joined without a graph in memory. The last neighbor of i, in the order of
(d^2, number), says who is in its list:

    j is among the neighbors of i   if and only if   (d_ij^2, j) <= (radius_i, last_i),

so whoever meets j in the list of i knows at once whether i is in the list of j. A pair that both
lists hold is given out by its lower end; one that a single list holds, by that list's owner.

Lists that are only nearly right (`approximate=True`) are held in memory.
"""

import tempfile
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.graph.id_arrays import with_explicit_order
from graphsqueak.randomness import RandomState
from graphsqueak.sources.edge_source import Batcher, EdgeSource
from graphsqueak.sources.neighbors.points import prepare_points
from graphsqueak.sources.neighbors.search import find_neighbors, nearly_neighbors
from graphsqueak.sources.neighbors.weights import (
    FORMS,
    LOCAL_RANK,
    check_sigma,
    local_scale,
    weigh_pairs,
)
from graphsqueak.system.kernels import njit_cached, prefetch_map
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count

__all__ = ["ApproximateLists", "NeighborLists", "NeighborSource", "neighbor_edges"]

_ENTRIES = 1 << 20  # of one block: 12 MiB, so small that its room is used again, not given back
_PAIRS = 1 << 22  # given out at a time


def neighbor_edges(
    points: Any,
    n_neighbors: int,
    *,
    metric: str = "cosine",
    symmetrize: str = "union",
    weight: str | None = None,
    sigma: float | None = None,
    approximate: bool = False,
    ids: ArrayLike | None = None,
    batch_size: int = 1_000_000,
    scratch: str | Path | None = None,
    progress: Progress = False,
    random_state: RandomState = None,
) -> "NeighborSource":
    """The nearest-neighbor graph of points, as a stream that may be read again and again.

    The neighbors of i are the first `n_neighbors` other points in the order of distance, ties to
    the lower number: exactly those, the same whatever the threads and the batches. They are found
    when the stream is first read.

    Parameters
    ----------
    points : array of shape (n, d), or scipy sparse matrix
        One row a point.
    n_neighbors : int
        k, below n.
    metric : {"cosine", "euclidean"}
        Under "cosine" points are scaled to length one; their distance d is Euclidean all the same,
        d^2 = 2 - 2 cos.
    symmetrize : {"union", "mutual"}
        Join i and j where either is a neighbor of the other, or only where both are.
    weight : {"thesis", "gaussian", "local", "cosine", "unit"}, optional
        exp(-d / (2 sigma^2)), exp(-d^2 / (2 sigma^2)), exp(-d^2 / (s_i s_j)) with s_i the distance
        to the seventh neighbor, the cosine, or 1. Edges whose weight is zero are dropped and
        counted. Default: the cosine if that is the metric and no sigma is given, else the thesis'
        form.
    sigma : float, optional
        Default: sqrt(3) for "thesis", the mean distance to the last neighbor for "gaussian".
    approximate : bool
        Find nearly the nearest neighbors with pynndescent, if it is installed: for dense points by
        the hundred thousand.
    ids : array of int or str, shape (n,), optional
        Names of the points. Default: 0, ..., n - 1.
    batch_size : int
        Edges in a batch; only the last may hold fewer.
    scratch : str or Path, optional
        Folder for a temporary file of 12 n k bytes. Default: the system's.
    progress : bool or callable
        Tell how far the search for neighbors has come.
    random_state : int or Generator, optional
        For `approximate`.

    Returns
    -------
    NeighborSource

    Examples
    --------
    Of four points on a line, 0, 1, 3 and 7, each is joined to its nearest:

    >>> line = neighbor_edges([[0], [1], [3], [7]], 1, metric="euclidean", sigma=1)
    >>> edges = line.to_edge_list()
    >>> list(zip(edges.tail.tolist(), edges.head.tolist(), edges.weight.round(3).tolist()))
    [(0, 1, 0.607), (2, 1, 0.368), (3, 2, 0.135)]

    Only 0 and 1 are each other's:

    >>> points = np.array([[0], [1], [3], [7]])
    >>> neighbor_edges(points, 1, symmetrize="mutual", metric="euclidean").to_edge_list()
    EdgeList(n_nodes=4, n_edges=1, total_weight=0.846482)
    """
    check_choice("metric", metric, ("cosine", "euclidean"))
    check_choice("symmetrize", symmetrize, ("union", "mutual"))
    if weight is None:
        weight = "cosine" if metric == "cosine" and sigma is None else "thesis"
    check_choice("weight", weight, FORMS)
    sigma = check_sigma(sigma, weight)
    rows = prepare_points(points, metric)
    n_neighbors = check_count("n_neighbors", n_neighbors)
    if n_neighbors >= rows.n:
        raise InputError(
            Parameter("n_neighbors", n_neighbors), f" must be below the number of points, {rows.n}"
        )

    find: Callable[[], NeighborLists | ApproximateLists]
    if approximate:
        find = partial(ApproximateLists, rows, n_neighbors, random_state=random_state)
    else:
        find = partial(NeighborLists, rows, n_neighbors, scratch=scratch, progress=progress)
    return NeighborSource(
        rows,
        find,
        mutual=symmetrize == "mutual",
        weight=weight,
        sigma=sigma,
        ids=_check_ids(ids, rows.n),
        batch_size=check_count("batch_size", batch_size),
    )


class NeighborSource(EdgeSource):
    """The stream that `neighbor_edges` returns; `points` are the rows that it compares.

    `find()` makes the lists of neighbors, when the stream is first read.
    """

    def __init__(self, points, find, *, mutual, weight, sigma, ids, batch_size):
        super().__init__()
        self.n_nodes = points.n
        self.batch_size = batch_size
        self._ids = ids
        if ids is not None and ids.dtype.kind not in "iu":
            self.id_kind = "text"
        self.points, self._find, self._lists = points, find, None
        self._mutual, self._form, self._sigma = mutual, weight, sigma

    def __getstate__(self):
        # The lists are in an open file: a copy finds its neighbors again.
        return self.__dict__ | {"_lists": None}

    def _batches(self):
        if self._lists is None:
            self._lists = self._find()
        lists = self._lists
        scale = local_scale(lists.near, lists.reach)
        norms = self.points.squared_norms()
        batcher = Batcher(self.batch_size, self._ids)
        batcher.n_nodes = self.n_nodes

        def weigh(found):
            nodes, squared, fraction = found
            weight = weigh_pairs(
                self._form,
                nodes,
                squared,
                sigma=self._sigma,
                reach=lists.reach,
                scale=scale,
                norms=norms,
            )
            return nodes, weight, fraction

        pairs = lists.pairs(mutual=self._mutual)
        for nodes, weight, fraction in prefetch_map(weigh, pairs, n_workers=2):
            yield from batcher.add(nodes, weight)
            self.n_zero_weights = batcher.n_zero_weights
            self.fraction_read = fraction
        yield batcher.rest()

    @property
    def reach(self) -> np.ndarray:
        """Distance of each point to the last of its neighbors."""
        if self._lists is None:
            self._lists = self._find()
        return self._lists.reach

    def __repr__(self):
        return f"NeighborSource(n_nodes={self.n_nodes})"


class NeighborLists:
    """The k nearest neighbors of every point.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    n_neighbors : int
    scratch : str or Path, optional
        Folder for the file; default: the system's.
    progress : bool or callable
        True draws a bar; a function is called as progress(points, fraction, note).
    block_entries : int
        Entries that are found, written and read at a time.

    Attributes
    ----------
    reach, near : ndarray of shape (n,)
        Distance of each point to its last neighbor and to its seventh (or last, if fewer).
    """

    def __init__(
        self, points, n_neighbors, *, scratch=None, progress=False, block_entries=_ENTRIES
    ):
        self._n, self._k = points.n, n_neighbors
        self._rows = max(block_entries // n_neighbors, 64)
        self._radius = np.empty(self._n)
        self._last = np.empty(self._n, dtype=np.int32)
        self.near = np.empty(self._n)
        self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - lives as long as we do
        weakref.finalize(self, self._file.close)
        self._reading = threading.Lock()  # two passes may be under way
        with reporter(progress, "find neighbors", unit="points") as report:
            for start in range(0, self._n, self._rows):
                stop = min(start + self._rows, self._n)
                self._search(points, start, stop)
                report(stop, stop / self._n)
        self.reach = np.sqrt(self._radius)

    def _search(self, points, start, stop):
        found = find_neighbors(points, start, stop, self._k)
        self._last[start:stop], self._radius[start:stop] = found.last, found.radius
        self.near[start:stop] = np.sqrt(found.near)
        self._file.write(found.neighbor)
        self._file.write(found.squared)

    def pairs(self, *, mutual):
        """Yield (nodes, squared, fraction): pairs (m, 2), their d^2, the share behind us."""
        for start in range(0, self._n, self._rows):
            stop = min(start + self._rows, self._n)
            index, squared = self._read(start, stop)
            nodes = np.empty((index.size, 2), dtype=np.int32)
            kept = np.empty(index.size)
            n_kept = _join(index, squared, start, self._radius, self._last, mutual, nodes, kept)
            yield nodes[:n_kept], kept[:n_kept], stop / self._n

    def _read(self, start, stop):
        index = np.empty((stop - start, self._k), dtype=np.int32)
        squared = np.empty(index.shape)
        with self._reading:
            self._file.seek(start * self._k * (index.itemsize + squared.itemsize))
            self._file.readinto(index)
            self._file.readinto(squared)
        return index, squared


class ApproximateLists:
    """As `NeighborLists`; i and j are neighbors where a list names them, in either or both."""

    def __init__(self, points, n_neighbors, *, random_state=None):
        n = points.n
        index, distance = nearly_neighbors(points, n_neighbors, random_state)
        order = np.sort(distance, axis=1)
        self.reach = order[:, -1]
        self.near = order[:, min(LOCAL_RANK, n_neighbors) - 1]
        tail = np.repeat(np.arange(n), n_neighbors)
        head = index.ravel().astype(np.int64)
        found = (head >= 0) & (head != tail)
        key = (np.minimum(tail, head) * n + np.maximum(tail, head))[found]
        key, first, self._n_lists = np.unique(key, return_index=True, return_counts=True)
        self._nodes = np.column_stack([key // n, key % n])
        self._squared = distance.ravel()[found][first] ** 2

    def pairs(self, *, mutual):
        """Yield (nodes, squared, fraction), as `NeighborLists.pairs`."""
        chosen = self._n_lists >= (2 if mutual else 1)
        nodes, squared = self._nodes[chosen], self._squared[chosen]
        for start in range(0, squared.size, _PAIRS):
            cut = slice(start, start + _PAIRS)
            yield nodes[cut], squared[cut], min(start + _PAIRS, squared.size) / squared.size


def _check_ids(ids, n):
    if ids is None:
        return None
    ids = np.asarray(ids)
    if ids.shape != (n,):
        raise InputError(f"ids of shape {ids.shape} do not name {n} points; give one id a point")
    if np.unique(ids).size < n:
        raise InputError("two points have the same id; give every point its own")
    return with_explicit_order(ids)


@njit_cached
def _join(index, squared, start, radius, last, mutual, nodes, kept):
    n_kept = 0
    for row in range(index.shape[0]):
        i = start + row
        for c in range(index.shape[1]):
            j, d = index[row, c], squared[row, c]
            both = d < radius[j] or (d == radius[j] and i <= last[j])
            if (i < j and both) or (not both and not mutual):
                nodes[n_kept, 0], nodes[n_kept, 1] = i, j
                kept[n_kept] = d
                n_kept += 1
    return n_kept
