"""The smallest eigenvalues of a Laplacian that are not zero, and their vectors.

The zeros belong to the constants on the components and are left out. On a small graph all of L is
diagonalized. On a large one they are found as the largest eigenvalues of L^+, by Lanczos with one
solve a step, among the functions that sum to zero over every component.
"""

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver

__all__ = ["smallest_eigenpairs"]

_DENSE_NODES = 1000


def smallest_eigenpairs(
    graph: EdgeList, n_pairs: int, *, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the smallest positive eigenvalues of the Laplacian, and their eigenvectors.

    Parameters
    ----------
    graph : EdgeList
        Connected or not.
    n_pairs : int
        How many are wanted. There are n_nodes minus the number of components; more are not given.
    random_state : int, Generator or None
        Seeds the start of Lanczos, beyond 1000 nodes, and the solver.

    Returns
    -------
    values : ndarray of shape (n_pairs,)
        Ascending.
    vectors : ndarray of shape (n_nodes, n_pairs)
        Orthonormal columns.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> smallest_eigenpairs(complete(5).to_edge_list(), 2)[0]
    array([5., 5.])
    """
    n_components = int(graph.components().max(initial=-1)) + 1
    n_pairs = min(n_pairs, graph.n_nodes - n_components)
    if graph.n_nodes > max(_DENSE_NODES, 3 * n_pairs):
        return _lanczos_eigenpairs(graph, n_pairs, random_state=random_state)
    values, vectors = scipy.linalg.eigh(graph.laplacian().toarray())
    wanted = slice(n_components, n_components + n_pairs)
    return values[wanted], vectors[:, wanted]


def _lanczos_eigenpairs(graph, n_pairs, *, random_state=None):
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-8, random_state=rng)
    inverse = scipy.sparse.linalg.LinearOperator(
        (graph.n_nodes, graph.n_nodes),
        matvec=lambda b: solver.solve(solver.centered(np.ravel(b))),
        dtype=np.float64,
    )
    start = solver.centered(rng.normal(size=graph.n_nodes))
    largest, vectors = scipy.sparse.linalg.eigsh(inverse, n_pairs, v0=start, which="LA", tol=1e-6)
    return 1 / largest[::-1], vectors[:, ::-1]
