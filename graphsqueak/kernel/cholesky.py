"""Cholesky factorizations of kernel matrices, of a whole matrix or row by row.

A factor that grows by one row,

    L_new = [[L, 0], [r', d]],    factorizes    [[L L', L r], [r' L', r'r + d^2]].

Solving a system with it takes O(m^2) per column, and so does growing. `GrowingCholesky` is the
state of the algorithms that insert one landmark at a time: KORS, and the online learners.
"""

import numpy as np
from scipy.linalg import blas, lapack

from graphsqueak.errors import InputError


def cholesky(K: np.ndarray, ridge: float) -> np.ndarray:
    """Return the lower Cholesky factor of K + ridge I, in Fortran order.

    >>> cholesky(np.array([[3.0]]), 1.0)
    array([[2.]])
    """
    shifted = np.array(K, dtype=np.float64, order="F")
    shifted[np.diag_indices_from(shifted)] += ridge
    factor, info = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
    if info:
        raise InputError(
            "the kernel matrix is not positive semi-definite: its Cholesky factorization failed at "
            f"row {info - 1}; use a positive semi-definite kernel without infinite or NaN values"
        )
    return factor


def inverse_diagonal(factor: np.ndarray) -> np.ndarray:
    """Return the diagonal of (L L')^-1 from the lower factor L.

    >>> inverse_diagonal(np.array([[2.0]]))
    array([0.25])
    """
    inverse, _ = lapack.dtrtri(factor, lower=1)
    return np.einsum("ji,ji->i", inverse, inverse)


class GrowingCholesky:
    """Lower Cholesky factor L of a matrix that gains rows and columns at its end.

    Parameters
    ----------
    lower : ndarray of shape (m, m), optional
        The factor at the start. Default: empty.

    Examples
    --------
    The factor of [[4, 2], [2, 10]]:

    >>> factor = GrowingCholesky()
    >>> factor.append(np.zeros(0), 2.0)
    >>> factor.append(np.array([1.0]), 3.0)
    >>> factor.solve(np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """

    def __init__(self, lower: np.ndarray | None = None) -> None:
        self._pad(np.eye(0) if lower is None else lower)

    @property
    def lower(self) -> np.ndarray:
        """L, as a view."""
        return self._padded[: self.size, : self.size]

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """Return L^-1 columns."""
        padded = np.zeros((len(self._padded), columns.shape[1]), order="F")
        padded[: self.size] = columns
        return blas.dtrsm(1.0, self._padded, padded, lower=1, overwrite_b=1)[: self.size]

    def append(self, row: np.ndarray, pivot: float) -> None:
        """Append the row (r', d), where r is L^-1 times the new column and d > 0."""
        if self.size == len(self._padded):
            self._pad(self._padded)
        self._padded[self.size, : self.size] = row
        self._padded[self.size, self.size] = pivot
        self.size += 1

    def _pad(self, lower):
        """Copy the factor into a matrix with space for more rows."""
        self.size = len(lower)
        # Unused rows are those of the identity matrix, so that BLAS gets one contiguous matrix and
        # makes no copy. Geometric growth copies each row a constant number of times.
        self._padded = np.asfortranarray(np.eye(self.size + self.size // 4 + 32))
        self._padded[: self.size, : self.size] = lower
