"""Preconditioner: exact sparse factorization (SuperLU), for small graphs and small fill."""

import numpy as np
import scipy.sparse.linalg


class Direct:
    """Exact sparse factorization of a matrix, as a preconditioner.

    One node of every singular component is grounded: z = 0 there. The rest of A is positive
    definite and needs no pivoting.

    Parameters
    ----------
    matrix : CSRLaplacian
    components : Components
        The components of the same matrix.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.components import Components
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> matrix = build_laplacian(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> z = Direct(matrix, Components(matrix))(np.array([[1.0], [0.0], [-1.0]]))
    >>> (z - z.mean()).ravel()
    array([ 1.,  0., -1.])
    """

    order = None

    def __init__(self, matrix, components):
        self.matrix = matrix
        first_nodes = np.unique(components.label, return_index=True)[1]
        grounded = first_nodes[components.singular]
        self._free = np.delete(np.arange(matrix.n_nodes), grounded)
        self._factor = self._factorize()

    def _factorize(self):
        if self._free.size == 0:
            return None
        matrix = self.matrix.to_scipy()[self._free][:, self._free].tocsc()
        try:
            return factorize_symmetric(matrix)
        except RuntimeError:
            # A pivot that is lighter than the rounding of others was rounded to zero. With every
            # pivot raised by rounding the factor is still a good preconditioner.
            rounding = np.finfo(np.float64).eps * self.matrix.n_nodes * matrix.diagonal()
            return factorize_symmetric((matrix + scipy.sparse.diags_array(rounding)).tocsc())

    def __getstate__(self):
        # SuperLU objects cannot be pickled: a copy factorizes again.
        return self.__dict__ | {"_factor": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._factor = self._factorize()

    def __call__(self, r):
        """Return the solution z, zero at the grounded nodes."""
        z = np.zeros_like(r)
        if self._factor is not None:
            z[self._free] = self._factor.solve(r[self._free].astype(np.float64, copy=False))
        return z


def factorize_symmetric(matrix):
    """Return the SuperLU factorization of a positive definite matrix, without pivoting."""
    return scipy.sparse.linalg.splu(
        matrix,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
