"""Nearly the nearest neighbors, by nearest-neighbor descent, for many dense points.

pynndescent finds them in about n log n steps instead of n^2 and misses a few. Its lists are held
in memory. It is not installed with this package.
"""

import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError
from graphsqueak.sources.neighbors.points import DensePoints
from graphsqueak.sources.neighbors.weights import LOCAL_RANK

__all__ = ["ApproximateLists"]

_PAIRS = 1 << 22


class ApproximateLists:
    """As `NeighborLists`; i and j are neighbors where a list names them, in either or both."""

    def __init__(self, points, n_neighbors, *, random_state=None):
        rows, n = _as_matrix(points), points.n
        index, distance = _descend(rows, n_neighbors, random_state)
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


def _descend(rows, n_neighbors, random_state):
    """Index and distance, (n, k) each, of the nearest others that were found."""
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise InputError(
            "approximate=True needs pynndescent: pip install pynndescent, or leave it away"
        ) from None
    seed = int(np.random.default_rng(random_state).integers(2**31))
    search = NNDescent(rows, n_neighbors=n_neighbors + 1, random_state=seed)
    index, distance = search.neighbor_graph
    # The point itself comes first, but among twins it may be missing; then the last one goes.
    itself = index == np.arange(len(index))[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (len(index), n_neighbors)
    return index[~itself].reshape(shape), distance[~itself].reshape(shape).astype(np.float64)


def _as_matrix(points):
    if isinstance(points, DensePoints):
        return points.rows.astype(np.float32)
    parts = (points.data.astype(np.float32), points.indices, points.indptr)
    return scipy.sparse.csr_matrix(parts, shape=(points.n, points.column_indptr.size - 1))
