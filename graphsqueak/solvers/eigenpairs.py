"""The smallest eigenvalues of a Laplacian that are not zero, and their vectors.

L itself or, normalized, N = D^-1/2 L D^-1/2 with D the weighted degrees. The zeros belong to the
components, whose vectors (1, or D^1/2 1, on one of them) are left out. A small matrix is
diagonalized. On a large one a block X of a few more columns than are wanted is filtered [ZS06],

    X <- T_m((L - c) / e) X,      c, e: center and half width of [a, b],

by a Chebyshev polynomial that is small on [a, b], from the block's largest Ritz value a (at first
half the mean of all eigenvalues) to a bound b of the spectrum, and grows by g = t + sqrt(t^2 - 1),
t = (c - lambda) / e, with every product below it; then Rayleigh and Ritz. One product serves all
columns. That is quick where the wanted ones stand
apart, as those of clusters do. Where g says that it would take many products (grids, rings, L of
very uneven degrees), they are found as the largest eigenvalues of L^+ instead, by Lanczos with one
solve a step.

References
----------
[ZS06] Zhou, Saad, Tiago, Chelikowsky. Self-consistent-field calculations using Chebyshev-filtered
       subspace iteration. J. Computational Physics 219(1), 2006.
"""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import aligned_like, build_rows, multiply
from graphsqueak.validation import check_real

__all__ = ["normalized_weights", "smallest_eigenpairs", "without_constants"]

_DENSE_NODES = 1000
_MORE = 4  # columns beyond those that are wanted, at least
_LANES = 8  # columns come in multiples of it: the product is then half as dear again
_SINGLE_TOL = 1e-4  # from here on the filter works in single precision
_SINGLE_FLOOR = 2e-6  # of the bound: residuals below it are rounding of single precision
_GROWTH = 1e4  # of the lowest beside the damped, in one round of the filter
_DEGREES = (3, 40)  # least and most of the filter
_SURELY = 2.0  # a filter aims this much below the tolerance
_NO_GROWTH = 1e-9
_MOST_PRODUCTS = 300  # with a block; Lanczos is quicker then


def smallest_eigenpairs(
    graph: EdgeList,
    n_pairs: int,
    *,
    normalized: bool = False,
    tol: float = 1e-6,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the smallest positive eigenvalues of the Laplacian, and their eigenvectors.

    Parameters
    ----------
    graph : EdgeList
        Connected or not.
    n_pairs : int
        How many are wanted. There are n_nodes minus the number of components; more are not given.
    normalized : bool
        Of D^-1/2 L D^-1/2, whose eigenvalues are at most 2, instead of L.
    tol : float
        |L x - lambda x| <= tol * lambda for each pair, |x| = 1, of those that the filter finds;
        others are as exact as double precision and 1e-6 of Lanczos have them.
    random_state : int, Generator or None
        Seeds the start, beyond 1000 nodes, and the solver.

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
    >>> smallest_eigenpairs(complete(5).to_edge_list(), 2, normalized=True)[0]
    array([1.25, 1.25])
    """
    check_real("tol", tol, above=0.0, below=1.0)
    component = graph.components()
    n_components = int(component.max(initial=-1)) + 1
    n_pairs = min(n_pairs, graph.n_nodes - n_components)
    if graph.n_nodes > max(_DENSE_NODES, 3 * n_pairs):
        rng = np.random.default_rng(random_state)
        found = _filtered_eigenpairs(graph, component, n_pairs, normalized, tol, rng)
        return found or _lanczos_eigenpairs(graph, n_pairs, normalized=normalized, random_state=rng)
    matrix = graph.laplacian().toarray()
    if normalized:
        scale = _roots_of(graph.degrees(), inverted=True)
        matrix *= scale[:, None] * scale
    values, vectors = scipy.linalg.eigh(matrix)
    wanted = slice(n_components, n_components + n_pairs)
    return values[wanted], vectors[:, wanted]


def normalized_weights(
    tail: np.ndarray, head: np.ndarray, weight: np.ndarray, degree: np.ndarray
) -> np.ndarray:
    """w_uv / sqrt(d_u d_v), the weights of D^-1/2 A D^-1/2."""
    scale = _roots_of(degree, inverted=True)
    return weight * scale[tail] * scale[head]


def without_constants(X: np.ndarray, component: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X less its part along `scale` on each component, the vectors of the eigenvalue zero.

    >>> without_constants(np.array([[1.0], [3.0], [5.0]]), np.array([0, 0, 1]), np.ones(3)).ravel()
    array([-1.,  1.,  0.])
    """
    size = np.bincount(component, scale**2)
    size[size == 0] = np.inf
    if size.size == 1:
        return X - scale[:, None] * ((scale @ X) / size[0]).astype(X.dtype)
    parts = np.column_stack([np.bincount(component, scale * column) for column in X.T])
    return X - (scale[:, None] * (parts / size[:, None])[component]).astype(X.dtype)


def _roots_of(degree, *, inverted=False):
    root = np.sqrt(degree)
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0) if inverted else root


def _filtered_eigenpairs(graph, component, n_pairs, normalized, tol, rng):
    """Values and vectors by the filter, or None where it would take too many products."""
    degree = graph.degrees()
    weight, ridge, scale = graph.weight, np.zeros(graph.n_nodes), np.ones(graph.n_nodes)
    bound = (degree[graph.tail] + degree[graph.head]).max(initial=0.0)
    if normalized:
        weight = normalized_weights(graph.tail, graph.head, weight, degree)
        bound, scale = 2.0, _roots_of(degree)
    scaled = EdgeList.from_clean(graph.tail, graph.head, weight, graph.n_nodes)
    if normalized:
        ridge = (degree > 0) - scaled.degrees()
    rows: Any = build_rows(scaled, ridge)
    n_columns = -(-(n_pairs + max(_MORE, n_pairs // 4)) // _LANES) * _LANES
    n_columns = min(n_columns, graph.n_nodes - component.max() - 1)
    dtype = np.float32 if tol >= _SINGLE_TOL else np.float64
    X = rng.standard_normal((graph.n_nodes, n_columns)).astype(dtype)
    least, lowest = rows.diagonal().mean() / 2, 0.0
    n_products, n_wanted = 0, np.inf
    while n_products <= _MOST_PRODUCTS:
        center, half = (bound + least) / 2, (bound - least) / 2
        n_most = np.log(2 * _GROWTH) / np.arccosh((center - lowest) / half)
        n_steps = int(np.clip(min(n_most, n_wanted), *_DEGREES))
        X = _filter(rows.astype(dtype), X.astype(dtype), center, half, lowest, n_steps)
        n_products += n_steps + 1
        X = np.linalg.qr(without_constants(X.astype(np.float64), component, scale))[0]
        LX = np.empty_like(X)
        multiply(rows, X, LX)
        values, turn = np.linalg.eigh(X.T @ LX)
        X, LX = X @ turn, LX @ turn
        residual = np.linalg.norm(LX[:, :n_pairs] - X[:, :n_pairs] * values[:n_pairs], axis=0)
        worst = (residual / np.maximum(values[:n_pairs], np.finfo(float).tiny)).max(initial=0.0)
        if worst <= tol:
            return values[:n_pairs], np.ascontiguousarray(X[:, :n_pairs])
        least, lowest = values[-1], values[0]
        growth = np.arccosh(1 + 2 * (least - values[n_pairs - 1]) / (bound - least))
        n_wanted = np.log(_SURELY * worst / tol) / max(growth, _NO_GROWTH)
        if n_products > _DEGREES[1] and n_wanted > _MOST_PRODUCTS - n_products:
            return None
        if residual.max() <= _SINGLE_FLOOR * bound:
            dtype = np.float64
    return None


def _filter(rows, X, center, half, lowest, degree):
    """T_degree((L - center) / half) X, scaled to about 1 at `lowest` [ZS06, Algorithm 4.2]."""
    first = sigma = half / (lowest - center)
    Y = _shifted(rows, X, center)
    Y *= sigma / half
    for _ in range(degree - 1):
        after = 1 / (2 / first - sigma)
        Z = _shifted(rows, Y, center)
        Z *= 2 * after / half
        X *= sigma * after
        Z -= X
        X, Y, sigma = Y, Z, after
    return Y


def _shifted(rows, X, center):
    out = aligned_like(X)
    multiply(rows._replace(ridge=(rows.ridge - center).astype(X.dtype)), X, out)
    return out


def _lanczos_eigenpairs(graph, n_pairs, *, normalized=False, random_state=None):
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-8, random_state=rng)
    scale = _roots_of(graph.degrees()) if normalized else np.ones(graph.n_nodes)
    component = graph.components()

    def centered(y):
        return without_constants(np.reshape(y, (-1, 1)), component, scale).ravel()

    inverse = scipy.sparse.linalg.LinearOperator(
        (graph.n_nodes, graph.n_nodes),
        matvec=lambda b: centered(scale * solver.solve(solver.centered(scale * centered(b)))),
        dtype=np.float64,
    )
    start = centered(rng.normal(size=graph.n_nodes))
    largest, vectors = scipy.sparse.linalg.eigsh(inverse, n_pairs, v0=start, which="LA", tol=1e-6)
    return 1 / largest[::-1], vectors[:, ::-1]
