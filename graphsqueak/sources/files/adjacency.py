"""What Matrix Market and METIS files share: nodes 1, ..., n and a symmetric adjacency matrix.

Whether a matrix that streams past is symmetric is told in constant memory. With r(i, j)
pseudo-random in [-1, 1], the sum over entries of a_ij * (r(i, j) - r(j, i)) is zero if A is
symmetric, and otherwise zero with probability zero over the choice of r: each a_ij - a_ji enters
with its own random factor. Rounding is told apart by the size of the terms.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["SymmetryCheck", "numbers_from_one"]


class SymmetryCheck:
    """Collect entries with `add`; `holds` is the verdict.

    Examples
    --------
    >>> check = SymmetryCheck()
    >>> check.add(np.array([[1, 2], [3, 1], [2, 1]]), np.array([5.0, 1.0, 5.0]))
    >>> check.holds
    False
    >>> check.add(np.array([[1, 3]]), np.array([1.0]))
    >>> check.holds
    True
    """

    def __init__(self):
        self._sum = self._scale = 0.0

    def add(self, entries, values):
        """Take values[k] at entries[k] = (row, column)."""
        change, scale = _sums(entries, values)
        self._sum += change
        self._scale += scale

    @property
    def holds(self):
        """Whether the entries so far are a symmetric matrix."""
        return bool(abs(self._sum) <= 1e-12 * self._scale)


def numbers_from_one(edges):
    """The number 1, ..., n of each node: its id where the ids are these numbers, else one more.

    >>> from graphsqueak.graph import EdgeList
    >>> numbers_from_one(EdgeList(tail=[0], head=[1], ids=[2, 1]))
    array([2, 1])
    """
    ids = edges.ids
    counted = np.arange(edges.n_nodes)
    if ids.dtype.kind in "iu":
        if np.array_equal(np.sort(ids), counted + 1):
            return ids.astype(np.int64)
        if np.array_equal(ids, counted):
            return counted + 1
    raise InputError(
        "Matrix Market and METIS files number nodes 1, ..., n and cannot hold other ids such as "
        f"{ids[0]!r}; write .tsv, .csv, .parquet or .arrow"
    )


@njit_cached
def _sums(entries, values):
    change = scale = 0.0
    for k in range(entries.shape[0]):
        i, j = entries[k, 0], entries[k, 1]
        term = values[k] * (_random(i, j) - _random(j, i))
        change += term
        scale += abs(term)
    return change, scale


@inline_njit
def _random(i, j):
    bits = mix64(np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j))
    return np.int64(bits >> np.uint64(11)) * 2.0**-52 - 1.0
