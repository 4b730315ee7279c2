"""All ratios x' L_H x / x' L_G x of two small graphs, by dense linear algebra."""

import numpy as np
import scipy.linalg

__all__ = ["dense_ratios"]


def dense_ratios(graph_laplacian, sparsifier_laplacian, component, ridge):
    """Eigenvalues of L_H x = lambda L_G x, ascending, and vectors of the first and the last.

    Both forms do not change when a constant is added to a component, so one node of each component
    is held at zero (none with a ridge): the rest are invertible matrices with the same ratios.

    Parameters
    ----------
    graph_laplacian, sparsifier_laplacian : ndarray of shape (n, n)
    component : ndarray of shape (n,)
        The smallest node of each node's component, the same in both graphs.
    ridge : float
        Added to both diagonals.

    Returns
    -------
    ratios : ndarray
        One per dimension of the range: n minus the number of components.
    lowest, highest : ndarray of shape (n,)

    Examples
    --------
    A triangle against its path of weights 3: every cut is between 1 and 3 times as heavy.

    >>> triangle = np.array([[2.0, -1, -1], [-1, 2, -1], [-1, -1, 2]])
    >>> path = np.array([[3.0, -3, 0], [-3, 6, -3], [0, -3, 3]])
    >>> dense_ratios(triangle, path, np.zeros(3, dtype=int), 0.0)[0]
    array([1., 3.])
    """
    n_nodes = component.size
    free = np.arange(n_nodes)
    if ridge == 0:
        free = np.flatnonzero(component != free)
    if free.size == 0:
        return np.zeros(0), np.zeros(n_nodes), np.zeros(n_nodes)
    square = np.ix_(free, free)
    shift = ridge * np.eye(free.size)
    factor = np.linalg.cholesky(graph_laplacian[square] + shift)
    half = scipy.linalg.solve_triangular(
        factor, sparsifier_laplacian[square] + shift, lower=True, overwrite_b=True
    )
    whitened = scipy.linalg.solve_triangular(factor, half.T, lower=True, overwrite_b=True)
    ratios, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    ends = np.zeros((n_nodes, 2))
    ends[free] = scipy.linalg.solve_triangular(factor, vectors[:, [0, -1]], lower=True, trans=1)
    return ratios, ends[:, 0], ends[:, 1]
