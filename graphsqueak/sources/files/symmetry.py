"""Whether a matrix that streams past is symmetric, in constant memory.

With r(i, j) pseudo-random in [-1, 1], the sum over entries of a_ij * (r(i, j) - r(j, i)) is zero if
A is symmetric, and otherwise zero with probability zero over the choice of r: each a_ij - a_ji
enters with its own random factor. Rounding is told apart by the size of the terms.
"""

import numba
import numpy as np

__all__ = ["SymmetryCheck"]


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

    def add(self, places, values):
        """Take entries values[k] at places[k] = (row, column)."""
        change, scale = _sums(places, values)
        self._sum += change
        self._scale += scale

    @property
    def holds(self):
        """Whether the entries so far are a symmetric matrix."""
        return bool(abs(self._sum) <= 1e-12 * self._scale)


@numba.njit(cache=True, nogil=True)
def _sums(places, values):
    change = scale = 0.0
    for k in range(places.shape[0]):
        i, j = places[k, 0], places[k, 1]
        term = values[k] * (_random(i, j) - _random(j, i))
        change += term
        scale += abs(term)
    return change, scale


@numba.njit(cache=True, nogil=True)
def _random(i, j):
    mixed = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return np.int64(mixed >> np.uint64(11)) * 2.0**-52 - 1.0
