"""Preconditioner: algebraic multigrid by smoothed aggregation, on a block of columns.

pyamg [BOS22] builds the hierarchy A_0 = A, A_{l+1} = P_l^T A_l P_l. One V-cycle with a damped
Jacobi step before and after each coarse correction is symmetric, as conjugate gradients require:

    z = M r,    z += P (cycle of the coarser level on P^T (r - A z)),    z += M (r - A z),

with M = (4/3) / sum_j |a_ij|, which is 2/3 of Jacobi on a Laplacian. Local damping needs no
spectral radius and therefore no random start: the hierarchy of a graph is reproducible.

References
----------
[BOS22] Bell, Olson, Schroder. PyAMG: algebraic multigrid solvers in Python. JOSS 7(72), 2022.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from graphsqueak.solvers.matrix import inverse_or_zero

# Nodes of the coarsest level, which is inverted densely. With 200, a random graph of 3,000 nodes
# gets one more level and takes 2.3 times as long; with 800, a grid of 150 x 150 takes 20 % longer.
MAX_COARSEST_NODES = 400
# pyamg's default for smoothed aggregation, and 2/3 of Jacobi for the smoother.
DAMPING = 4 / 3


class Multigrid:
    """Smoothed aggregation hierarchy of a matrix, as a preconditioner.

    Parameters
    ----------
    matrix : CSRLaplacian

    Examples
    --------
    A graph of a few nodes is its own coarsest level, and solved exactly:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> matrix = build_laplacian(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> Multigrid(matrix)(np.array([[1.0], [0.0], [-1.0]])).ravel().round(6) + 0.0
    array([ 1.,  0., -1.])
    """

    order = None

    def __init__(self, matrix):
        import pyamg

        self.matrix = matrix
        hierarchy = pyamg.smoothed_aggregation_solver(
            scipy.sparse.csr_matrix(matrix.to_scipy()),
            smooth=("jacobi", {"omega": DAMPING, "weighting": "local"}),
            presmoother=None,
            postsmoother=None,
            improve_candidates=None,
            max_coarse=MAX_COARSEST_NODES,
            coarse_solver=None,
            keep=False,
        )
        self._levels = [_build_level(level) for level in hierarchy.levels[:-1]]
        self._coarsest = _invert_coarsest([level.A for level in hierarchy.levels])

    def __call__(self, r):
        """Return the result of one V-cycle on r."""
        return self._cycle(0, r)

    def _cycle(self, depth, r):
        if depth == len(self._levels):
            return (self._coarsest @ r).astype(r.dtype, copy=False)
        level = self._levels[depth]
        z = level.smoothing * r
        z += level.prolong @ self._cycle(depth + 1, level.restrict @ (r - level.matrix @ z))
        z += level.smoothing * (r - level.matrix @ z)
        return z


class _Level(NamedTuple):
    """Matrix, interpolation from and restriction to the next level, and M as a column."""

    matrix: scipy.sparse.csr_matrix
    prolong: scipy.sparse.csr_matrix
    restrict: scipy.sparse.csr_matrix
    smoothing: np.ndarray


def _build_level(level):
    row_sums = np.asarray(abs(level.A).sum(axis=1)).reshape(-1, 1)
    smoothing = np.divide(DAMPING, row_sums, out=np.zeros(row_sums.shape), where=row_sums > 0)
    return _Level(level.A.tocsr(), level.P.tocsr(), level.P.T.tocsr(), smoothing)


def _invert_coarsest(matrices):
    """Return the pseudo-inverse of the coarsest matrix, or of its diagonal if it is large."""
    matrix = matrices[-1]
    # Aggregation may stop early, as on graphs without edges; those have no dense inverse.
    if matrix.shape[0] > 4 * MAX_COARSEST_NODES:
        return scipy.sparse.diags_array(inverse_or_zero(matrix.diagonal()))
    # A component that was aggregated to one node has an entry that would be 0 without rounding
    # errors of the finer matrices, so these define which eigenvalues count as zero.
    largest = max(abs(finer.diagonal()).max(initial=0.0) for finer in matrices)
    values, vectors = np.linalg.eigh(matrix.toarray())
    values[values <= 1e-12 * largest] = 0.0
    return (vectors * inverse_or_zero(values)) @ vectors.T
