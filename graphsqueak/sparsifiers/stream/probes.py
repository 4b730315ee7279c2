"""A check that costs nothing: eight random cuts, weighed while the edges pass by.

Every node gets one random byte, eight signs. For the vector x of one of them, x' L x is four times
the weight of the edges whose ends differ in that bit, so adding up weights by the exclusive or of
the two bytes, 256 sums in all, gives all eight quadratic forms for one addition per edge. What the
sparsifier makes of the same eight vectors is an error that it has for certain: a lower bound of
epsilon. The indicator vectors of the components, the other vectors that are known to matter, have
x' L x = 0 on the graph; on the sparsifier that is looked up in its components.
"""

import numba
import numpy as np

from graphsqueak.graph.forest import join, roots
from graphsqueak.randomness import PROBE_SEED, random_bits

__all__ = ["Probes"]

_COUNT = 8


class Probes:
    """Quadratic forms of eight random sign vectors, of all edges so far.

    >>> probes = Probes()
    >>> tail, head, weight = np.array([0, 1, 2]), np.array([1, 2, 0]), np.ones(3)
    >>> probes.add(tail, head, weight, n_nodes=3)
    >>> probes.error(tail, head, 1.5 * weight, n_components=1)
    0.5
    """

    def __init__(self, table=None, n_nodes=0):
        self.table = np.zeros(2**_COUNT) if table is None else table
        self._signs = np.zeros(0, dtype=np.uint8)
        self._grow(n_nodes)

    def add(self, tail, head, weight, n_nodes):
        """Take in edges between nodes 0, ..., n_nodes - 1."""
        self._grow(n_nodes)
        _add(self._signs, tail, head, weight, self.table)

    def merge(self, others, n_nodes, *, same_nodes):
        """Probes of all streams; unknown (NaN) from then on if they number nodes differently."""
        table = sum((other.table for other in others), self.table)
        return Probes(table if same_nodes else np.full_like(self.table, np.nan), n_nodes)

    def error(self, tail, head, weight, n_components):
        """Largest relative error of a sparsifier over all probes, and infinite if it is in pieces.

        Parameters
        ----------
        tail, head, weight : ndarray
            Its edges.
        n_components : int
            Of the graph.
        """
        own = np.zeros_like(self.table)
        _add(self._signs, tail, head, weight, own)
        whole, sparse = _forms(self.table), _forms(own)
        joins = join(roots(self._signs.size), tail, head)
        if self._signs.size - np.count_nonzero(joins) != n_components:
            return np.inf
        error = np.abs(np.divide(sparse, whole, out=np.ones(_COUNT), where=whole != 0) - 1)
        return float(error.max())

    def _grow(self, n_nodes):
        known = self._signs.size
        if n_nodes > known:
            more = np.empty(n_nodes - known, dtype=np.uint8)
            _draw(PROBE_SEED, known, more)
            self._signs = np.concatenate([self._signs, more])


def _forms(table):
    """x' L x / 4 of every probe."""
    bits = np.arange(table.size)
    return np.array([table[(bits >> k) & 1 == 1].sum() for k in range(_COUNT)])


@numba.njit(cache=True, nogil=True)
def _draw(key, start, out):
    for i in range(out.size):
        bits = random_bits(key, np.uint64(start + i), np.uint64(0))
        out[i] = np.uint8(bits & np.uint64(255))


@numba.njit(cache=True, nogil=True)
def _add(signs, tail, head, weight, table):
    for e in range(tail.size):
        table[signs[tail[e]] ^ signs[head[e]]] += weight[e]
