"""A Cholesky factor that grows by one row at a time.

    L_new = [[L, 0], [r', d]]      factors      [[L L', L r], [r' L', r'r + d^2]].

Solving with it is O(m^2) a column, and so is growing. Rows not yet in use are those of the
identity, so that LAPACK always gets one contiguous matrix and no copy is made.
"""

import numpy as np
from scipy.linalg import blas

__all__ = ["GrowingCholesky"]

_ROOM = 32


class GrowingCholesky:
    """The lower factor L of a matrix that gains rows and columns at its end.

    >>> factor = GrowingCholesky()
    >>> factor.append(np.zeros(0), 2.0)         # of [[4]]
    >>> factor.append(np.array([1.0]), 3.0)     # of [[4, 2], [2, 10]]
    >>> factor.solve(np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """

    def __init__(self):
        self.size = 0
        self._padded = np.eye(_ROOM).T

    @property
    def lower(self):
        """L, as a view."""
        return self._padded[: self.size, : self.size]

    def solve(self, columns):
        """L^-1 columns."""
        padded = np.zeros((len(self._padded), columns.shape[1]), order="F")
        padded[: self.size] = columns
        return blas.dtrsm(1.0, self._padded, padded, lower=1, overwrite_b=1)[: self.size]

    def append(self, row, pivot):
        """Add the row (r', d): r = L^-1 of the new column, d > 0."""
        if self.size == len(self._padded):
            larger = np.asfortranarray(np.eye(self.size + self.size // 4 + _ROOM))
            larger[: self.size, : self.size] = self._padded
            self._padded = larger
        self._padded[self.size, : self.size] = row
        self._padded[self.size, self.size] = pivot
        self.size += 1
