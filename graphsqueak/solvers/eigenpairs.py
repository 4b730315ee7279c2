"""The smallest eigenvalues of a Laplacian that are not zero, and their vectors.

L itself or, normalized, N = D^-1/2 L D^-1/2 with D the weighted degrees. The zeros belong to the
components, whose vectors (1, or D^1/2 1, on one of them) are left out. A small matrix is
diagonalized. On a large one they are found by a polynomial filter where a gap parts them from all
others, as those of clusters (`solvers.chebyshev`), else by Lanczos (ARPACK), with one product a
step, as the largest eigenvalues of b - L, b a bound of the spectrum. Where some hundred products do
not do (grids, rings, L of very uneven degrees), they are found as the largest eigenvalues of L^+,
with one solve a step.
"""

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.chebyshev import eigenpairs_below_gap, find_gap
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import build_laplacian, multiply
from graphsqueak.validation import check_real

__all__ = ["normalized_weights", "project_out_constants", "smallest_eigenpairs"]

_DENSE_NODES = 1000
_MOST_PRODUCTS = 800  # of Lanczos without solves, before they are tried
_BASIS = (2, 10)  # vectors that Lanczos holds: so many times those that are wanted, and more
_SMALL = 0.02  # of the bound: a usual eigenvalue, for the accuracy that is asked of ARPACK


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
        |L x - lambda x| <= tol * lambda for each pair, |x| = 1, of those that are found without
        solves; others are as exact as 1e-6 of Lanczos on L^+ has them.
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
        found = _by_products(graph, component, n_pairs, normalized, tol, rng)
        return found or _by_solves(graph, n_pairs, normalized=normalized, random_state=rng)
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


def project_out_constants(X: np.ndarray, component: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """X less its part along `scale` on each component, the vectors of the eigenvalue zero.

    >>> X = np.array([[1.0], [3.0], [5.0]])
    >>> project_out_constants(X, np.array([0, 0, 1]), np.ones(3)).ravel()
    array([-1.,  1.,  0.])
    """
    size = np.bincount(component, scale**2)
    size[size == 0] = np.inf
    if not X.shape[1]:
        return X
    if size.size == 1:
        scale = scale.astype(X.dtype, copy=False)
        return X - np.multiply.outer(scale, (scale @ X) / size.astype(X.dtype))
    parts = np.column_stack([np.bincount(component, scale * column) for column in X.T])
    return X - (scale[:, None] * (parts / size[:, None])[component]).astype(X.dtype)


def _roots_of(degree, *, inverted=False):
    root = np.sqrt(degree)
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0) if inverted else root


def _by_products(graph, component, n_pairs, normalized, tol, rng):
    """Values and vectors by Lanczos on b - L, or None where that does not come to an end."""
    degree = graph.degrees()
    weight, ridge, scale = graph.weight, np.zeros(graph.n_nodes), np.ones(graph.n_nodes)
    bound = (degree[graph.tail] + degree[graph.head]).max(initial=0.0)
    if normalized:
        weight = normalized_weights(graph.tail, graph.head, weight, degree)
        bound, scale = 2.0, _roots_of(degree)
    scaled = EdgeList.from_clean(graph.tail, graph.head, weight, graph.n_nodes)
    if normalized:
        ridge = (degree > 0) - scaled.degrees()
    rows = build_laplacian(scaled, ridge)

    def product(x):
        x = np.reshape(x, (-1, 1))
        out = np.empty_like(x)
        multiply(rows, x, out)
        return project_out_constants(bound * x - out, component, scale).ravel()

    def centered(block):
        return project_out_constants(block, component, scale)

    gap = find_gap(rows, n_pairs, centered, tol=tol, rng=rng)
    found = gap and eigenpairs_below_gap(rows, n_pairs, gap, centered, tol=tol, rng=rng)
    if found:
        return found
    n_basis = min(_BASIS[0] * n_pairs + _BASIS[1], graph.n_nodes - 1)
    options = {"ncv": n_basis, "tol": _SMALL * tol, "maxiter": max(_MOST_PRODUCTS // n_basis, 3)}
    try:
        largest, vectors = _largest(product, graph.n_nodes, n_pairs, centered, rng, **options)
    except scipy.sparse.linalg.ArpackNoConvergence:
        return None
    values = bound - largest
    image = np.empty_like(vectors)
    multiply(rows, vectors, image)
    residual = np.linalg.norm(image - vectors * values, axis=0)
    return (values, vectors) if (residual <= tol * values).all() else None


def _by_solves(graph, n_pairs, *, normalized=False, random_state=None):
    rng = np.random.default_rng(random_state)
    solver = LaplacianSolver(graph, tol=1e-8, random_state=rng)
    scale = _roots_of(graph.degrees()) if normalized else np.ones(graph.n_nodes)
    component = graph.components()

    def centered(block):
        return project_out_constants(block, component, scale)

    def inverse(b):
        b = scale * centered(np.reshape(b, (-1, 1))).ravel()
        return centered((scale * solver.solve(solver.centered(b)))[:, None]).ravel()

    largest, vectors = _largest(inverse, graph.n_nodes, n_pairs, centered, rng, tol=1e-6)
    return 1 / largest, vectors


def _largest(product, n_nodes, n_pairs, centered, rng, *, tol, **options):
    """The largest eigenvalues of an operator, descending, and their vectors, by ARPACK.

    Of an eigenvalue that comes several times, as those of rings do, Lanczos sees one vector until
    rounding shows it another. So what is orthogonal to the vectors found is looked through until
    nothing there is larger than the least of them.
    """

    def search(n_wanted, known):
        def outside(x):
            return x - known @ (known.T @ x)

        operator = scipy.sparse.linalg.LinearOperator(
            (n_nodes, n_nodes), lambda x: outside(product(outside(x))), dtype=np.float64
        )
        start = outside(centered(rng.standard_normal((n_nodes, 1))).ravel())
        found = scipy.sparse.linalg.eigsh(
            operator, n_wanted, v0=start, which="LA", tol=tol, **options
        )
        return found[0][::-1], found[1][:, ::-1]

    values, vectors = search(n_pairs, np.empty((n_nodes, 0)))
    for _ in range(n_pairs):
        try:
            more, vector = search(1, vectors)
        except scipy.sparse.linalg.ArpackNoConvergence:
            break
        if more[0] <= (1 + tol) * values[-1]:
            break
        order = np.argsort(-np.append(values, more), kind="stable")[:n_pairs]
        values = np.append(values, more)[order]
        vectors = np.hstack([vectors, vector])[:, order]
    return values, np.ascontiguousarray(vectors)
