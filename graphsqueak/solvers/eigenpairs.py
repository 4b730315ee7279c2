"""The smallest eigenvalues of a Laplacian that are not zero, and their vectors."""

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak.solvers import LaplacianSolver

__all__ = ["smallest_eigenpairs"]

_DENSE_NODES = 1000


def smallest_eigenpairs(graph, n_pairs, *, random_state=None):
    """The `n_pairs` smallest positive eigenvalues of L, ascending, and orthonormal vectors.

    Dense up to 1000 nodes; beyond, Lanczos on L^+, whose largest eigenvalues are wanted.

    >>> from graphsqueak.sources import complete
    >>> smallest_eigenpairs(complete(5).to_edge_list(), 2)[0]
    array([5., 5.])
    """
    n_components = int(graph.components().max(initial=-1)) + 1
    n_pairs = min(n_pairs, graph.n_nodes - n_components)
    if graph.n_nodes <= _DENSE_NODES or n_pairs > graph.n_nodes // 3:
        values, vectors = scipy.linalg.eigh(graph.laplacian().toarray())
        wanted = slice(n_components, n_components + n_pairs)
        return values[wanted], vectors[:, wanted]
    solver = LaplacianSolver(graph, tol=1e-9, random_state=random_state)
    inverse = scipy.sparse.linalg.LinearOperator(
        (graph.n_nodes, graph.n_nodes),
        matvec=lambda x: solver.solve(solver.centered(x.ravel())),
        dtype=np.float64,
    )
    start = np.random.default_rng(random_state).standard_normal(graph.n_nodes)
    values, vectors = scipy.sparse.linalg.eigsh(inverse, n_pairs, v0=start, which="LA", tol=1e-6)
    return 1 / values[::-1], vectors[:, ::-1]
