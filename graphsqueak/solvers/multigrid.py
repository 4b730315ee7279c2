"""Preconditioner: algebraic multigrid by smoothed aggregation, on a block of columns.

pyamg [BOS22] builds the hierarchy A_0 = A, A_{l+1} = P_l^T A_l P_l. One V-cycle with a damped
Jacobi step before and after each coarse correction is symmetric, so conjugate gradients may use it:

    z = M r,    z += P (cycle of the coarser level on P^T (r - A z)),    z += M (r - A z),

with M = (4/3) / sum_j |a_ij|, which is 2/3 of Jacobi on a Laplacian. Local damping needs
no spectral radius and so no random start: the same graph gives the same hierarchy.

References
----------
[BOS22] Bell, Olson, Schroder. PyAMG: algebraic multigrid solvers in Python. JOSS 7(72), 2022.
"""

import numpy as np
import scipy.sparse

from graphsqueak.solvers.matrix import CSRLaplacian, aligned_like, multiply, split_by_work

__all__ = ["Multigrid"]

COARSEST = 400
DAMPING = 4 / 3


class Multigrid:
    """Smoothed aggregation hierarchy of `rows`, as a preconditioner.

    Examples
    --------
    A graph of a few nodes is its own coarsest level, and solved exactly:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> rows = build_laplacian(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> Multigrid(rows)(np.array([[1.0], [0.0], [-1.0]])).ravel().round(6) + 0.0
    array([ 1.,  0., -1.])
    """

    order = None

    def __init__(self, rows):
        import pyamg

        self.matrix = rows
        matrix = scipy.sparse.csr_matrix(rows.to_scipy())
        hierarchy = pyamg.smoothed_aggregation_solver(
            matrix,
            smooth=("jacobi", {"omega": DAMPING, "weighting": "local"}),
            presmoother=None,
            postsmoother=None,
            improve_candidates=None,
            max_coarse=COARSEST,
            coarse_solver=None,
            keep=False,
        )
        self._levels = [
            _Level(level.A, level.P, rows if depth == 0 else None)
            for depth, level in enumerate(hierarchy.levels[:-1])
        ]
        self._coarsest = _pseudo_inverse(hierarchy.levels[-1].A)

    def __call__(self, r):
        """One V-cycle on r."""
        return self._cycle(0, r)

    def _cycle(self, depth, r):
        if depth == len(self._levels):
            return (self._coarsest @ r).astype(r.dtype, copy=False)
        level = self._levels[depth]
        z = level.smoothing * r
        level.correct(
            z, r, lambda rest: level.prolong @ self._cycle(depth + 1, level.restrict @ rest)
        )
        level.correct(z, r, lambda rest: level.smoothing * rest)
        return z


class _Level:
    def __init__(self, matrix, prolong, rows):
        self.matrix = _rows_from_scipy(matrix) if rows is None else rows
        self.prolong = prolong.tocsr()
        self.restrict = prolong.T.tocsr()
        size = np.asarray(abs(matrix).sum(axis=1)).ravel()
        self.smoothing = np.divide(DAMPING, size, out=np.zeros(size.size), where=size > 0)[:, None]

    def correct(self, z, r, correction):
        rest = aligned_like(r)
        multiply(self.matrix, z, rest)
        np.subtract(r, rest, out=rest)
        z += correction(rest)


def _pseudo_inverse(matrix):
    """Of the coarsest matrix, which is singular; only of its diagonal if it would not shrink."""
    if matrix.shape[0] <= 4 * COARSEST:
        return np.linalg.pinv(matrix.toarray(), rcond=1e-12, hermitian=True)
    diagonal = matrix.diagonal()
    inverse = np.divide(1.0, diagonal, out=np.zeros(diagonal.size), where=diagonal > 0)
    return scipy.sparse.diags_array(inverse)


def _rows_from_scipy(matrix):
    """Rows of any symmetric matrix: weight_ij = -a_ij, and the row sums as ridge."""
    matrix = matrix.tocoo()
    off = matrix.row != matrix.col
    ridge = np.asarray(matrix.sum(axis=1)).ravel()
    adjacency = scipy.sparse.coo_array(
        (-matrix.data[off], (matrix.row[off], matrix.col[off])), shape=matrix.shape
    ).tocsr()
    start = adjacency.indptr.astype(np.uint64)
    neighbor = adjacency.indices.astype(np.uint32)
    return CSRLaplacian(start, neighbor, adjacency.data, ridge, split_by_work(start))
