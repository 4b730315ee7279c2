"""Two numbers of a Laplacian that the bounds ask for, each with its error bar.

lambda_2, the smallest non-zero eigenvalue, is one over the largest of L^+: Lanczos with one solve a
step. Its error bar is the residual |L x - theta x| of the unit vector found: some eigenvalue lies
that close. The diagonal of L^+ is the squared row length of L^+ B' W^(1/2), which random signs
keep in expectation; the largest candidates are then solved for exactly.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse.linalg

from graphsqueak.solvers import LaplacianSolver

__all__ = ["Measured", "smallest_eigenvalue", "smallest_eigenvectors", "widest_node"]

_SMALL = 500
_PROBES = 200
_CANDIDATES = 32


class Measured(NamedTuple):
    """A value and how far it may be off."""

    value: float
    error: float


def smallest_eigenvalue(graph, *, random_state=None):
    """lambda_2, over all components together.

    >>> from graphsqueak.sources import complete
    >>> smallest_eigenvalue(complete(6).to_edge_list()).value
    6.0
    """
    laplacian = graph.laplacian()
    if graph.n_nodes <= _SMALL:
        values = np.linalg.eigvalsh(laplacian.toarray())
        first = int(graph.components().max()) + 1
        value = float(values[first]) if first < values.size else np.inf
        return Measured(value, 1e-12 * float(values[-1]))
    values, vectors = smallest_eigenvectors(graph, 1, random_state=random_state)
    value, vector = float(values[0]), vectors[:, 0]
    residual = float(np.linalg.norm(laplacian @ vector - value * vector))
    return Measured(value, residual)


def smallest_eigenvectors(graph, n_vectors, *, random_state=None):
    """The smallest non-zero eigenvalues of L, ascending, and their unit eigenvectors in columns."""
    n_components = int(graph.components().max()) + 1
    if graph.n_nodes <= max(_SMALL, 3 * n_vectors):
        values, vectors = np.linalg.eigh(graph.laplacian().toarray())
        cut = slice(n_components, n_components + n_vectors)
        return values[cut], vectors[:, cut]
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-8, random_state=rng)
    center = _centering(graph)
    inverse = scipy.sparse.linalg.LinearOperator(
        (graph.n_nodes, graph.n_nodes),
        matvec=lambda b: solver.solve(center(np.ravel(b))),
        dtype=np.float64,
    )
    start = center(rng.normal(size=graph.n_nodes))
    largest, vectors = scipy.sparse.linalg.eigsh(
        inverse, k=n_vectors, which="LA", v0=start, tol=1e-6
    )
    return 1 / largest[::-1], vectors[:, ::-1]


def widest_node(graph, *, random_state=None):
    """max_x (L^+)_xx, centered over components.

    The error is zero where all nodes were solved for; otherwise it is what six standard errors of
    the sketch leave to nodes that were not looked at.

    >>> from graphsqueak.sources import complete
    >>> round(widest_node(complete(4).to_edge_list()).value, 4)  # 3 / 16
    0.1875
    """
    n_nodes = graph.n_nodes
    if n_nodes <= _SMALL:
        pinv = np.linalg.pinv(graph.laplacian().toarray(), hermitian=True)
        return Measured(float(np.diag(pinv).max()), 0.0)
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-6, random_state=rng)
    signs = rng.choice((-1.0, 1.0), size=(graph.n_edges, _PROBES))
    rhs = graph.incidence().T @ (np.sqrt(graph.weight)[:, None] * signs)
    sketch = solver.solve(rhs)
    estimate = np.einsum("xk,xk->x", sketch, sketch) / _PROBES
    order = np.argsort(estimate)[::-1]
    chosen = order[:_CANDIDATES]
    center = _centering(graph)
    unit = np.zeros((n_nodes, chosen.size))
    unit[chosen, np.arange(chosen.size)] = 1.0
    exact = solver.solve(center(unit))[chosen, np.arange(chosen.size)].max()
    rest = estimate[order[_CANDIDATES]] * (1 + 6 * np.sqrt(2 / _PROBES))
    return Measured(float(exact), float(max(rest - exact, 0.0)))


def _centering(graph):
    """A function that takes away the mean over every component."""
    component = graph.components()
    count = np.bincount(component)

    def center(block):
        columns = block if block.ndim == 2 else block[:, None]
        sums = [np.bincount(component, column) / count for column in columns.T]
        return (columns - np.stack(sums, axis=1)[component]).reshape(block.shape)

    return center
