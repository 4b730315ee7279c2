"""Nearest-neighbor graphs of points as streams of edges.

75,000 points with 3,000 neighbors each have more than 100 million edges. They are never in memory:
the points are, and a few numbers per point. The lists of neighbors are written to a temporary file,
12 bytes per entry, and read in every pass. To search again in every pass would take as long as the
first one.

Two lists are joined without a graph in memory. Let last_i be the last neighbor of i in the order of
(d^2, number), and r_i its distance. Then

    j is among the neighbors of i   if and only if   (d_ij^2, j) <= (r_i^2, last_i),

so that an entry j in the list of i also shows whether i is in the list of j. If both lists have the
pair, it is yielded with the lower number's list; if only one has it, with that list.

Approximate lists (`approximate=True`) do not have this property; their pairs are kept in memory.
"""

from __future__ import annotations

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
from graphsqueak.sources.neighbors.search import find_approximate_neighbors, find_neighbors
from graphsqueak.sources.neighbors.weights import (
    FORMS,
    LOCAL_RANK,
    check_sigma,
    local_scale,
    weigh_pairs,
)
from graphsqueak.system.kernels import njit_cached, prefetch_map
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_choice, check_count, explain_keywords


@explain_keywords()
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
) -> NeighborSource:
    """Return the nearest-neighbor graph of points as a stream.

    Use it to sparsify or label points whose neighbor graph is too large for memory. The neighbors
    of i are the first `n_neighbors` other points in the order of distance, ties to the lower
    number. They are exact, and the same on any number of threads. They are searched when the stream
    is first read.

    Parameters
    ----------
    points : array of shape (n, d), or scipy sparse matrix
        One row per point.
    n_neighbors : int
        k, less than n.
    metric : {"cosine", "euclidean"}
        Under "cosine" points are scaled to length one, and their distance d is Euclidean,
        d^2 = 2 - 2 cos.
    symmetrize : {"union", "mutual"}
        Join i and j if either is a neighbor of the other, or only if both are.
    weight : {"thesis", "gaussian", "local", "cosine", "unit"}, optional
        exp(-d / (2 sigma^2)), exp(-d^2 / (2 sigma^2)), exp(-d^2 / (s_i s_j)) with s_i the distance
        to the seventh neighbor, the cosine, or 1. Edges of weight zero are dropped and counted.
        Default: "cosine" if that is the metric and sigma is not given, otherwise "thesis".
    sigma : float, optional
        Default: sqrt(3) for "thesis", the mean distance to the last neighbor for "gaussian".
    approximate : bool
        Find approximate neighbors with pynndescent, if it is installed: for hundreds of thousands
        of dense points.
    ids : array of int or str, shape (n,), optional
        Ids of the points. Default: 0, ..., n - 1.
    batch_size : int
        Edges per batch; only the last batch may be smaller.
    scratch : str or Path, optional
        Folder for a temporary file of 12 n k bytes. Default: that of the system.
    progress : bool or callable
        Report the progress of the search.
    random_state : int or Generator, optional
        Seed of the approximate search.

    Returns
    -------
    NeighborSource

    Examples
    --------
    Four points on a line, 0, 1, 3 and 7, each joined to its nearest:

    >>> line = neighbor_edges([[0], [1], [3], [7]], 1, metric="euclidean", sigma=1)
    >>> edges = line.to_edge_list()
    >>> list(zip(edges.tail.tolist(), edges.head.tolist(), edges.weight.round(3).tolist()))
    [(0, 1, 0.607), (2, 1, 0.368), (3, 2, 0.135)]

    Only 0 and 1 are nearest to each other:

    >>> points = np.array([[0], [1], [3], [7]])
    >>> neighbor_edges(points, 1, symmetrize="mutual", metric="euclidean").to_edge_list()
    EdgeList(n_nodes=4, n_edges=1, total_weight=0.846482)
    """
    check_choice("metric", metric, ("cosine", "euclidean"))
    check_choice("symmetrize", symmetrize, ("union", "mutual"))
    if weight is None:
        weight = "cosine" if metric == "cosine" and sigma is None else "thesis"
    check_choice("weight", weight, FORMS)
    weigh = partial(weigh_pairs, weight, sigma=check_sigma(sigma, weight))
    prepared = prepare_points(points, metric)
    n_neighbors = check_count("n_neighbors", n_neighbors)
    if n_neighbors >= prepared.n:
        raise InputError(
            Parameter("n_neighbors", n_neighbors),
            f" must be below the number of points, {prepared.n}",
        )
    find_lists: Callable[[], NeighborLists | ApproximateLists]
    if approximate:
        find_lists = partial(ApproximateLists, prepared, n_neighbors, random_state=random_state)
    else:
        find_lists = partial(
            NeighborLists, prepared, n_neighbors, scratch=scratch, progress=progress
        )
    return NeighborSource(
        prepared,
        find_lists,
        mutual=symmetrize == "mutual",
        weigh=weigh,
        ids=_check_ids(ids, prepared.n),
        batch_size=check_count("batch_size", batch_size),
    )


class NeighborSource(EdgeSource):
    """Stream of the edges of a neighbor graph, returned by `neighbor_edges`.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    find_lists : callable
        Returns the lists of neighbors; called when they are first needed.
    mutual : bool
    weigh : callable
        `weigh_pairs` of a form and sigma.
    ids : ndarray or None
    batch_size : int
    """

    def __init__(self, points, find_lists, *, mutual, weigh, ids, batch_size):
        super().__init__()
        self.n_nodes = points.n
        self.batch_size = batch_size
        self.points = points
        self._ids = ids
        if ids is not None and ids.dtype.kind not in "iu":
            self.id_kind = "text"
        self._find_lists = find_lists
        self._lists = None
        self._mutual = mutual
        self._weigh = weigh

    def __getstate__(self):
        # The lists are in an open file, which cannot be copied: a copy searches again.
        return self.__dict__ | {"_lists": None}

    def __repr__(self):
        return f"NeighborSource(n_nodes={self.n_nodes})"

    @property
    def last_distance(self) -> np.ndarray:
        """Distance of each point to the last of its neighbors."""
        return self._found_lists().last_distance

    def _found_lists(self):
        if self._lists is None:
            self._lists = self._find_lists()
        return self._lists

    def _batches(self):
        lists = self._found_lists()
        weigh = partial(
            self._weigh,
            last_distance=lists.last_distance,
            scale=local_scale(lists.local_distance, lists.last_distance),
            norms=self.points.norms,
        )

        def weigh_block(block):
            nodes, squared, fraction = block
            return nodes, weigh(nodes=nodes, squared=squared), fraction

        batcher = Batcher(self.batch_size, self._ids, n_nodes=self.n_nodes)
        blocks = lists.pairs(mutual=self._mutual)
        for nodes, weight, fraction in prefetch_map(weigh_block, blocks, n_workers=2):
            yield from batcher.add(nodes, weight)
            self.n_zero_weights = batcher.n_zero_weights
            self.fraction_read = fraction
        yield batcher.rest()


class NeighborLists:
    """The k nearest neighbors of every point, in a temporary file.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    n_neighbors : int
    scratch : str or Path, optional
        Folder for the file. Default: that of the system.
    progress : bool or callable
        True draws a bar; a function is called as progress(points, fraction, note).
    block_entries : int
        Entries that are searched, written and read at a time: 12 MiB by default, which the
        allocator reuses instead of returning it to the system.

    Attributes
    ----------
    last_distance, local_distance : ndarray of shape (n,)
        Distance of each point to its last neighbor and to its seventh (or last, if fewer).
    """

    def __init__(self, points, n_neighbors, *, scratch=None, progress=False, block_entries=2**20):
        self._n = points.n
        self._n_neighbors = n_neighbors
        self._rows_per_block = max(block_entries // n_neighbors, 64)
        self._last = np.empty(self._n, dtype=np.int32)
        self._last_squared = np.empty(self._n)
        self.local_distance = np.empty(self._n)
        self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - closed with this object
        weakref.finalize(self, self._file.close)
        # Two passes may be active.
        self._lock = threading.Lock()
        with reporter(progress, "find neighbors", unit="points") as report:
            for start, stop in self._blocks():
                found = find_neighbors(points, start, stop, n_neighbors)
                self._last[start:stop] = found.last
                self._last_squared[start:stop] = found.last_squared
                self.local_distance[start:stop] = np.sqrt(found.local_squared)
                self._file.write(found.neighbor)
                self._file.write(found.squared)
                report(stop, stop / self._n)
        self.last_distance = np.sqrt(self._last_squared)

    def pairs(self, *, mutual):
        """Yield blocks of pairs.

        Yields
        ------
        nodes : ndarray of shape (m, 2)
        squared : ndarray of shape (m,)
            Squared distances.
        fraction : float
            Fraction of the lists that has been read.
        """
        for start, stop in self._blocks():
            neighbor, squared = self._read(start, stop)
            # Each entry makes at most one pair.
            nodes = np.empty((neighbor.size, 2), dtype=np.int32)
            kept = np.empty(neighbor.size)
            n_kept = _join(
                neighbor, squared, start, self._last_squared, self._last, mutual, nodes, kept
            )
            yield nodes[:n_kept], kept[:n_kept], stop / self._n

    def _blocks(self):
        for start in range(0, self._n, self._rows_per_block):
            yield start, min(start + self._rows_per_block, self._n)

    def _read(self, start, stop):
        neighbor = np.empty((stop - start, self._n_neighbors), dtype=np.int32)
        squared = np.empty(neighbor.shape)
        bytes_per_row = self._n_neighbors * (neighbor.itemsize + squared.itemsize)
        with self._lock:
            self._file.seek(start * bytes_per_row)
            self._file.readinto(neighbor)
            self._file.readinto(squared)
        return neighbor, squared


class ApproximateLists:
    """Approximate neighbors of every point, in memory; see `NeighborLists`.

    Since the lists are not exact, i and j are joined if either list, or both, have the pair.
    """

    def __init__(self, points, n_neighbors, *, random_state=None):
        n = points.n
        neighbor, distance = find_approximate_neighbors(points, n_neighbors, random_state)
        ascending = np.sort(distance, axis=1)
        self.last_distance = ascending[:, -1]
        self.local_distance = ascending[:, min(LOCAL_RANK, n_neighbors) - 1]
        tail = np.repeat(np.arange(n), n_neighbors)
        head = neighbor.ravel().astype(np.int64)
        # -1 fills up lists that are too short.
        is_pair = (head >= 0) & (head != tail)
        # One number per pair, the same for (i, j) and (j, i).
        key = (np.minimum(tail, head) * n + np.maximum(tail, head))[is_pair]
        key, first, self._n_lists = np.unique(key, return_index=True, return_counts=True)
        self._nodes = np.column_stack(np.divmod(key, n))
        self._squared = distance.ravel()[is_pair][first] ** 2

    def pairs(self, *, mutual):
        """Yield one block, as `NeighborLists.pairs`."""
        is_joined = self._n_lists >= (2 if mutual else 1)
        yield self._nodes[is_joined], self._squared[is_joined], 1.0


def _check_ids(ids, n_points):
    if ids is None:
        return None
    ids = np.asarray(ids)
    if ids.shape != (n_points,):
        raise InputError(
            f"ids of shape {ids.shape} do not match {n_points} points; pass one id per point"
        )
    if np.unique(ids).size < n_points:
        raise InputError("two points have the same id; ids must be unique")
    return with_explicit_order(ids)


@njit_cached
def _join(neighbor, squared, start, last_squared, last, mutual, nodes, kept):
    """Write every pair once, with its squared distance; return the number of pairs."""
    n_kept = 0
    for row in range(neighbor.shape[0]):
        i = start + row
        for c in range(neighbor.shape[1]):
            j = neighbor[row, c]
            d = squared[row, c]
            # Whether i is in the list of j: see the module docstring.
            is_mutual = d < last_squared[j] or (d == last_squared[j] and i <= last[j])
            if (i < j and is_mutual) or (not is_mutual and not mutual):
                nodes[n_kept, 0] = i
                nodes[n_kept, 1] = j
                kept[n_kept] = d
                n_kept += 1
    return n_kept
