"""An exact factorization as a preconditioner: one step of the iteration does it."""

import numpy as np
import scipy.sparse.linalg

__all__ = ["Direct"]


class Direct:
    """Preconditioner: an exact sparse factorization (SuperLU), for small graphs and small fill.

    One node of every singular component is grounded, z = 0 there; what is left of A is positive
    definite, and needs no pivoting.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.components import Components
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> z = Direct(rows, Components(rows))(np.array([[1.0], [0.0], [-1.0]]))
    >>> (z - z.mean()).ravel()
    array([ 1.,  0., -1.])
    """

    order = None

    def __init__(self, rows, components):
        self.rows = rows
        grounded = np.unique(components.label, return_index=True)[1][components.singular]
        self._kept = np.delete(np.arange(rows.n_nodes), grounded)
        self._factor = None
        if self._kept.size:
            matrix = rows.to_scipy()[self._kept][:, self._kept].tocsc()
            self._factor = scipy.sparse.linalg.splu(
                matrix,
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )

    def __call__(self, r):
        """The solution z, zero at the grounded nodes."""
        z = np.zeros_like(r)
        if self._factor is not None:
            z[self._kept] = self._factor.solve(r[self._kept].astype(np.float64, copy=False))
        return z
