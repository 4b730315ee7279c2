"""Cholesky factorizations of kernel matrices: at once, row by row, and with random pivots.

A factor that grows by a row at a time:

    L_new = [[L, 0], [r', d]]      factors      [[L L', L r], [r' L', r'r + d^2]].

Solving with it is O(m^2) a column, and so is growing. Rows not yet in use are those of the
identity, so that LAPACK always gets one contiguous matrix and no copy is made.

With random pivots [CETW25] a block of columns is drawn in proportion to the diagonal of what is
left of K; Z with Z Z' = K, up to a small trace, takes about as many columns as K has rank.

References
----------
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
"""

import numpy as np
import scipy.linalg
from scipy.linalg import blas, lapack

from graphsqueak.errors import InputError
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.randomness import PIVOT_SEED

__all__ = ["GrowingCholesky", "cholesky", "cholesky_features", "inverse_diagonal"]

_ROOM = 32
_BLOCK = 200  # pivots drawn at a time


def cholesky(K: np.ndarray, ridge: float) -> np.ndarray:
    """The lower factor of K + ridge I, in Fortran order.

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
    """Diagonal of (L L')^-1 from the lower factor L.

    >>> inverse_diagonal(np.array([[2.0]]))
    array([0.25])
    """
    inverse, _ = lapack.dtrtri(factor, lower=1)
    return np.einsum("ji,ji->i", inverse, inverse)


def cholesky_features(kernel: Kernel, points: np.ndarray, *, rest: float) -> np.ndarray:
    """Z with Z Z' = K up to a trace of `rest`, from as few columns of K as that takes.

    Pivots are random but the same in every run.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> cholesky_features(as_kernel("linear"), np.ones((5, 3)), rest=1e-9).shape
    (5, 1)
    """
    rng = np.random.default_rng(PIVOT_SEED)
    residual = np.array(kernel.diag(points), dtype=np.float64)
    tolerance = max(1e-14 * residual.max(initial=0.0), 0.5 * rest / len(points))
    parts, used = [np.zeros((len(points), 0))], np.zeros(len(points), dtype=bool)
    while residual.sum() > rest:
        share = residual / residual.sum()
        size = min(_BLOCK, int(np.count_nonzero(share)))
        block = rng.choice(len(points), size=size, replace=False, p=share)
        column = kernel(points, points[block])
        for part in parts:
            column -= part @ part[block].T
        factor, order, rank, _ = lapack.dpstrf(column[block], lower=1, tol=tolerance)
        if rank == 0:
            break
        kept = order[:rank] - 1
        factor = factor[:rank, :rank]
        parts.append(scipy.linalg.solve_triangular(factor, column[:, kept].T, lower=True).T)
        used[block] = True  # the rest of the block depends on what was kept
        residual -= np.einsum("ij,ij->i", parts[-1], parts[-1])
        residual[used | (residual < tolerance)] = 0.0
    return np.hstack(parts)


class GrowingCholesky:
    """The lower factor L of a matrix that gains rows and columns at its end.

    >>> factor = GrowingCholesky()
    >>> factor.append(np.zeros(0), 2.0)         # of [[4]]
    >>> factor.append(np.array([1.0]), 3.0)     # of [[4, 2], [2, 10]]
    >>> factor.solve(np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """

    def __init__(self) -> None:
        self.size = 0
        self._padded = np.eye(_ROOM).T

    @classmethod
    def of(cls, lower: np.ndarray) -> "GrowingCholesky":
        """The factor that begins as `lower`."""
        factor = cls()
        factor.size = len(lower)
        if factor.size > len(factor._padded):
            factor._padded = np.asfortranarray(np.eye(factor.size + _ROOM))
        factor._padded[: factor.size, : factor.size] = lower
        return factor

    @property
    def lower(self) -> np.ndarray:
        """L, as a view."""
        return self._padded[: self.size, : self.size]

    def solve(self, columns: np.ndarray) -> np.ndarray:
        """L^-1 columns."""
        padded = np.zeros((len(self._padded), columns.shape[1]), order="F")
        padded[: self.size] = columns
        return blas.dtrsm(1.0, self._padded, padded, lower=1, overwrite_b=1)[: self.size]

    def append(self, row: np.ndarray, pivot: float) -> None:
        """Add the row (r', d): r = L^-1 of the new column, d > 0."""
        if self.size == len(self._padded):
            larger = np.asfortranarray(np.eye(self.size + self.size // 4 + _ROOM))
            larger[: self.size, : self.size] = self._padded
            self._padded = larger
        self._padded[self.size, : self.size] = row
        self._padded[self.size, self.size] = pivot
        self.size += 1
