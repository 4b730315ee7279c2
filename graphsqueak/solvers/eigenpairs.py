"""The smallest positive eigenvalues of a Laplacian, and their eigenvectors.

The matrix is L or, normalized, N = D^-1/2 L D^-1/2 with D the weighted degrees. The eigenvalue zero
belongs to the components. Its vectors (1, or D^1/2 1, on one component) are left out.

Four methods are tried in this order:

1. A small matrix is diagonalized.
2. If a gap separates the wanted eigenvalues from all others, as on graphs with clusters, a
   polynomial filter finds them (`solvers.chebyshev`).
3. Lanczos (ARPACK) finds the largest eigenvalues of b - L, with b a bound of the spectrum. Each
   step is one product.
4. If a few hundred products do not suffice (grids, rings, L with very uneven degrees), Lanczos
   finds the largest eigenvalues of L^+. Each step is one solve.
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

# Largest matrix that is diagonalized densely, which is exact but slower: 130 to 270 ms at 900
# nodes, compared with 8 to 40 ms. Halved or doubled: no change for other graphs.
MAX_DENSE_NODES = 1000
# Products of Lanczos before solves are tried. Halved: 1.15 times the time in the cases of
# `chebyshev` (up to 6.1 times); doubled: 1.04 (up to 1.2 times).
MAX_LANCZOS_PRODUCTS = 800
# ARPACK measures residuals relative to b - lambda, near the bound b. A wanted eigenvalue is
# typically 2 % of the bound. Halved: no change (0.88 to 1.08).
ARPACK_TOL_FACTOR = 0.02
# The error of a solve must not show in eigenvalues of a relative accuracy of 1e-6.
SOLVE_TOL = 1e-8
SOLVED_EIGENVALUE_TOL = 1e-6


def smallest_eigenpairs(
    graph: EdgeList,
    n_pairs: int,
    *,
    normalized: bool = False,
    tol: float = 1e-6,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest positive eigenvalues of the Laplacian, and their eigenvectors.

    Parameters
    ----------
    graph : EdgeList
        Undirected graph, connected or not.
    n_pairs : int
        Number of eigenpairs. At most n_nodes minus the number of components are returned.
    normalized : bool, default=False
        Use D^-1/2 L D^-1/2, whose eigenvalues are at most 2, instead of L.
    tol : float, default=1e-6
        Relative tolerance: ||L x - lambda x|| <= tol * lambda for each pair that is found without
        solves. Pairs that are found by solves have a relative accuracy of 1e-6.
    random_state : int, Generator or None, default=None
        Seed of the starting vectors, for graphs of more than 1000 nodes, and of the solver.

    Returns
    -------
    values : ndarray of shape (n_pairs,)
        Eigenvalues in ascending order.
    vectors : ndarray of shape (n_nodes, n_pairs)
        Orthonormal eigenvectors.

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
    if graph.n_nodes <= max(MAX_DENSE_NODES, 3 * n_pairs):
        return _find_dense(graph, n_pairs, n_components, normalized=normalized)
    rng = np.random.default_rng(random_state)
    scale = np.ones(graph.n_nodes)
    if normalized:
        root = np.sqrt(graph.degrees())
        # An isolated node is a component of its own: its vector of eigenvalue zero is the node.
        scale = np.where(root > 0, root, 1.0)

    def centered(block):
        return project_out_constants(block, component, scale)

    found = _find_by_products(graph, n_pairs, centered, normalized=normalized, tol=tol, rng=rng)
    return found or _find_by_solves(graph, n_pairs, centered, scale=scale, rng=rng)


def normalized_weights(
    tail: np.ndarray, head: np.ndarray, weight: np.ndarray, degree: np.ndarray
) -> np.ndarray:
    """Return w_uv / sqrt(d_u d_v), the weights of D^-1/2 A D^-1/2."""
    scale = _inverse_root(degree)
    return weight * scale[tail] * scale[head]


def project_out_constants(X: np.ndarray, component: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return X minus its part along `scale` on each component, the vectors of eigenvalue zero.

    >>> X = np.array([[1.0], [3.0], [5.0]])
    >>> project_out_constants(X, np.array([0, 0, 1]), np.ones(3)).ravel()
    array([-1.,  1.,  0.])
    """
    size = np.bincount(component, scale**2)
    size[size == 0] = np.inf
    if not X.shape[1]:
        return X
    # On a connected graph the projection is a product of matrices, in the dtype of X.
    if size.size == 1:
        scale = scale.astype(X.dtype, copy=False)
        return X - np.multiply.outer(scale, (scale @ X) / size.astype(X.dtype))
    sums = np.column_stack([np.bincount(component, scale * column) for column in X.T])
    return X - (scale[:, None] * (sums / size[:, None])[component]).astype(X.dtype)


def _inverse_root(degree):
    root = np.sqrt(degree)
    return np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)


def _find_dense(graph, n_pairs, n_components, *, normalized):
    """Return eigenpairs by diagonalizing a dense matrix."""
    matrix = graph.laplacian().toarray()
    if normalized:
        scale = _inverse_root(graph.degrees())
        matrix *= scale[:, None] * scale
    values, vectors = scipy.linalg.eigh(matrix)
    wanted = slice(n_components, n_components + n_pairs)
    return values[wanted], vectors[:, wanted]


def _build_matrix(graph, *, normalized):
    """Return the matrix as a `CSRLaplacian`, and an upper bound of its eigenvalues."""
    degree = graph.degrees()
    if not normalized:
        bound = (degree[graph.tail] + degree[graph.head]).max(initial=0.0)
        return build_laplacian(graph, np.zeros(graph.n_nodes)), bound
    weight = normalized_weights(graph.tail, graph.head, graph.weight, degree)
    scaled = EdgeList.from_validated(graph.tail, graph.head, weight, graph.n_nodes)
    # The diagonal of N is 1; the rows of its weights do not sum to 1.
    return build_laplacian(scaled, (degree > 0) - scaled.degrees()), 2.0


def _find_by_products(graph, n_pairs, centered, *, normalized, tol, rng):
    """Return eigenpairs by a polynomial filter or by Lanczos on b - L; None if both fail."""
    matrix, bound = _build_matrix(graph, normalized=normalized)
    gap = find_gap(matrix, n_pairs, centered, tol=tol, rng=rng)
    if gap is not None:
        found = eigenpairs_below_gap(matrix, n_pairs, gap, centered, tol=tol, rng=rng)
        if found is not None:
            return found

    def multiply_shifted(x):
        x = np.reshape(x, (-1, 1))
        image = np.empty_like(x)
        multiply(matrix, x, image)
        return centered(bound * x - image).ravel()

    # ARPACK recommends a basis of at least twice as many vectors as are wanted.
    n_basis = min(2 * n_pairs + 10, graph.n_nodes - 1)
    try:
        largest, vectors = _find_largest(
            multiply_shifted,
            graph.n_nodes,
            n_pairs,
            centered,
            rng=rng,
            tol=ARPACK_TOL_FACTOR * tol,
            ncv=n_basis,
            maxiter=max(MAX_LANCZOS_PRODUCTS // n_basis, 3),
        )
    except scipy.sparse.linalg.ArpackNoConvergence:
        return None
    values = bound - largest
    image = np.empty_like(vectors)
    multiply(matrix, vectors, image)
    residual = np.linalg.norm(image - vectors * values, axis=0)
    return (values, vectors) if (residual <= tol * values).all() else None


def _find_by_solves(graph, n_pairs, centered, *, scale, rng):
    """Return eigenpairs by Lanczos on the pseudo-inverse."""
    solver = LaplacianSolver(graph, tol=SOLVE_TOL, random_state=rng)

    def solve(b):
        b = scale * centered(np.reshape(b, (-1, 1))).ravel()
        return centered((scale * solver.solve(solver.centered(b)))[:, None]).ravel()

    largest, vectors = _find_largest(
        solve, graph.n_nodes, n_pairs, centered, rng=rng, tol=SOLVED_EIGENVALUE_TOL
    )
    return 1 / largest, vectors


def _find_largest(product, n_nodes, n_pairs, centered, *, rng, tol, ncv=None, maxiter=None):
    """Return the largest eigenvalues of an operator, descending, and their vectors, by ARPACK.

    Lanczos finds one vector of a multiple eigenvalue, such as those of rings, until rounding
    introduces another. Therefore the space orthogonal to the vectors found is searched until it has
    no eigenvalue larger than the smallest of them.
    """

    def search(n_wanted, known):
        def project(x):
            return x - known @ (known.T @ x)

        operator = scipy.sparse.linalg.LinearOperator(
            (n_nodes, n_nodes), lambda x: project(product(project(x))), dtype=np.float64
        )
        values, vectors = scipy.sparse.linalg.eigsh(
            operator,
            n_wanted,
            v0=project(centered(rng.standard_normal((n_nodes, 1))).ravel()),
            which="LA",
            tol=tol,
            ncv=ncv,
            maxiter=maxiter,
        )
        return values[::-1], vectors[:, ::-1]

    values, vectors = search(n_pairs, np.empty((n_nodes, 0)))
    for _ in range(n_pairs):
        try:
            value, vector = search(1, vectors)
        except scipy.sparse.linalg.ArpackNoConvergence:
            break
        if value[0] <= (1 + tol) * values[-1]:
            break
        values = np.append(values, value)
        order = np.argsort(-values, kind="stable")[:n_pairs]
        values = values[order]
        vectors = np.hstack([vectors, vector])[:, order]
    return values, np.ascontiguousarray(vectors)
