"""Points as a stream of edges: each joined to its nearest neighbors.

The graph is never held: 75,000 points with 3,000 neighbors each make more than 100 million edges,
which pass by in batches. What stays in memory are the points and a few numbers for each.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.sources.edge_source import Batcher, EdgeSource
from graphsqueak.sources.neighbors.approximate import ApproximateLists
from graphsqueak.sources.neighbors.lists import NeighborLists
from graphsqueak.sources.neighbors.points import prepared
from graphsqueak.sources.neighbors.weights import FORMS, check_sigma, local_scale, weigh
from graphsqueak.system.threads import map_ahead
from graphsqueak.validation import check_choice, check_count

__all__ = ["NeighborSource", "neighbor_edges"]


def neighbor_edges(
    points,
    n_neighbors,
    *,
    metric="cosine",
    symmetrize="union",
    weight=None,
    sigma=None,
    approximate=False,
    ids=None,
    batch_size=1_000_000,
    scratch=None,
    progress=False,
    random_state=None,
):
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
    rows = prepared(points, metric)
    n_neighbors = check_count("n_neighbors", n_neighbors)
    if n_neighbors >= rows.n:
        raise InputError(f"n_neighbors={n_neighbors} must be below the number of points, {rows.n}")

    def find():
        if approximate:
            return ApproximateLists(rows, n_neighbors, random_state=random_state)
        return NeighborLists(rows, n_neighbors, scratch=scratch, progress=progress)

    return NeighborSource(
        rows, find, symmetrize == "mutual", weight, sigma, _checked_ids(ids, rows.n), batch_size
    )


class NeighborSource(EdgeSource):
    """The stream that `neighbor_edges` returns; `points` are the rows that it compares."""

    def __init__(self, points, find, mutual, weight, sigma, ids, batch_size):
        super().__init__()
        self.n_nodes = points.n
        self.batch_size = check_count("batch_size", batch_size)
        self._ids = ids
        if ids is not None and ids.dtype.kind not in "iu":
            self.id_kind = "text"
        self.points, self._find, self._lists = points, find, None
        self._mutual, self._form, self._sigma = mutual, weight, sigma

    def _batches(self):
        if self._lists is None:
            self._lists = self._find()
        lists = self._lists
        settings = {"sigma": self._sigma, "reach": lists.reach}
        settings |= {"scale": local_scale(lists.near, lists.reach)}
        settings |= {"norms": self.points.squared_norms()}
        batcher = Batcher(self.batch_size, self._ids)
        batcher.n_nodes = self.n_nodes

        def weighed(found):
            nodes, squared, fraction = found
            return nodes, weigh(self._form, nodes, squared, **settings), fraction

        pairs = lists.pairs(mutual=self._mutual)
        for nodes, weight, fraction in map_ahead(weighed, pairs, n_workers=2):
            yield from batcher.add(nodes, weight)
            self.n_zero_weights = batcher.n_zero_weights
            self.fraction_read = fraction
        yield batcher.rest()

    def __repr__(self):
        return f"NeighborSource(n_nodes={self.n_nodes})"


def _checked_ids(ids, n):
    if ids is None:
        return None
    ids = np.asarray(ids)
    if ids.shape != (n,):
        raise InputError(f"ids of shape {ids.shape} do not name {n} points; give one id a point")
    if np.unique(ids).size < n:
        raise InputError("two points have the same id; give every point its own")
    return ids
