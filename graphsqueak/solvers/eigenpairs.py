"""The smallest positive eigenvalues of a Laplacian, and their eigenvectors.

The matrix A is L or, normalized, N = D^-1/2 L D^-1/2 with D the weighted degrees. The eigenvalue
zero belongs to the components. Its vectors (1, or D^1/2 1, on one component) are left out.

A small matrix is diagonalized. On other graphs, subspace iteration with a polynomial filter is
tried first [ZSTC06]: a block X with a few more columns than are wanted is multiplied by T_m(A),
made orthonormal, and rotated to the Ritz vectors, again and again. T_m is the Chebyshev polynomial
with [s, t] mapped to [-1, 1]. It is at most 1 there, and grows rapidly below s. The upper end t is
a bound of the spectrum, and s is the largest Ritz value of the block. A few rounds suffice on
random graphs and on graphs with clusters.

The rounds converge slowly if many eigenvalues are close to zero, compared with t (grids, rings, L
with very uneven degrees). Then Lanczos (ARPACK) finds the largest eigenvalues of the pseudo-inverse
of A. Each of its steps solves a linear system.

References
----------
[ZSTC06] Zhou, Saad, Tiago, Chelikowsky. Self-consistent-field calculations using Chebyshev-filtered
         subspace iteration. J. Computational Physics 219(1), 2006.
"""

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import aligned_like, build_laplacian, multiply
from graphsqueak.solvers.vectors import MAX_WIDTH, padded_width
from graphsqueak.validation import check_real

__all__ = ["normalized_weights", "project_out_constants", "smallest_eigenpairs"]

# Largest matrix that is diagonalized densely, which is exact but slower: 130 to 270 ms at 900
# nodes, compared with 8 to 40 ms. Halved or doubled: no change for other graphs.
MAX_DENSE_NODES = 1000
# The next two comments give the time if a number is halved and doubled: geometric mean over 36
# cases (block models, random, heavy-tailed, small-world and nearest-neighbor graphs, grids; L and
# normalized; 2 and 9 pairs), and the extreme cases. Without any change, a repeated run gave 1.00
# (0.5 to 1.4).

# Degree of the polynomial: products between two orthonormalizations. 1.34 (0.4 to 3.7); 0.94 (0.4
# to 3.5). With 16, block models of 200,000 nodes need a second round (1.4 times the time).
FILTER_DEGREE = 20
# Rounds after which solves are faster. The iteration ends as soon as more are forecast. 1.00 (0.7
# to 1.6); 0.98 (0.7 to 1.4).
MAX_ROUNDS = 30


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
    n_positive = graph.n_nodes - n_components
    n_pairs = min(n_pairs, n_positive)
    if n_pairs == 0:
        return np.empty(0), np.empty((graph.n_nodes, 0))
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

    # The last column converges slowly, so that there should be more columns than are wanted.
    n_columns = min(padded_width(n_pairs + 1), n_positive)
    found = _find_by_filter(
        graph, n_pairs, n_columns, centered, normalized=normalized, tol=tol, rng=rng
    )
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


def _find_by_filter(graph, n_pairs, n_columns, centered, *, normalized, tol, rng):
    """Return eigenpairs by filtered subspace iteration, or None if it converges slowly."""
    matrix, bound = _build_matrix(graph, normalized=normalized)
    X = rng.standard_normal((graph.n_nodes, n_columns))
    # The trace gives the mean eigenvalue, which is far above the wanted ones.
    low = matrix.diagonal().mean() / 2
    rounding = np.finfo(np.float64).eps * bound
    first_error = None
    for n_left in reversed(range(MAX_ROUNDS)):
        X = _orthonormalize(_apply_filter(matrix, X, low=low, high=bound), centered)
        values, X, residual = _rotate_to_ritz_vectors(matrix, X)
        low = values[-1]
        # Eigenvalues below the rounding of A have no relative accuracy.
        error = (residual / (tol * np.maximum(values, rounding)))[:n_pairs].max()
        if error <= 1:
            return values[:n_pairs], np.ascontiguousarray(X[:, :n_pairs])
        if first_error is None:
            first_error = error
        elif error * (error / first_error) ** (n_left / (MAX_ROUNDS - 1 - n_left)) > 1:
            # At the mean rate since the first round, the error stays above 1.
            break
    return None


def _apply_filter(matrix, X, *, low, high):
    """Return T_m(z) X with z = (A - center) / half_width, for a few columns at a time."""
    center = (low + high) / 2
    half_width = (high - low) / 2
    # 2 z as a matrix, whose rows need not sum to zero.
    doubled = matrix._replace(
        weight=matrix.weight * (2 / half_width), ridge=(matrix.ridge - center) * (2 / half_width)
    )
    out = np.empty_like(X)
    for first in range(0, X.shape[1], MAX_WIDTH):
        columns = slice(first, first + MAX_WIDTH)
        # T_0 = 1, T_1 = z, T_{m+1} = 2 z T_m - T_{m-1}
        previous = np.ascontiguousarray(X[:, columns])
        current = aligned_like(previous)
        multiply(doubled, previous, current)
        current /= 2
        for _ in range(FILTER_DEGREE - 1):
            following = aligned_like(previous)
            multiply(doubled, current, following)
            following -= previous
            previous = current
            current = following
        out[:, columns] = current
    return out


def _orthonormalize(X, centered):
    """Return an orthonormal basis of the centered columns of X, by two rounds of Cholesky QR."""
    for _ in range(2):
        X = centered(X)
        X /= np.linalg.norm(X, axis=0)
        try:
            factor = np.linalg.cholesky(X.T @ X)
            X = scipy.linalg.solve_triangular(factor, X.T, lower=True).T
        except np.linalg.LinAlgError:
            # The columns are nearly dependent. Householder reflections are slower but stable.
            X = np.linalg.qr(X)[0]
    return np.ascontiguousarray(X)


def _rotate_to_ritz_vectors(matrix, X):
    """Return Ritz values, Ritz vectors and the norms of their residuals of an orthonormal block."""
    image = aligned_like(X)
    multiply(matrix, X, image)
    values, rotation = np.linalg.eigh(X.T @ image)
    X = X @ rotation
    return values, X, np.linalg.norm(image @ rotation - X * values, axis=0)


def _find_by_solves(graph, n_pairs, centered, *, scale, rng):
    """Return eigenpairs by Lanczos on the pseudo-inverse."""
    solver = LaplacianSolver(graph, random_state=rng)

    def solve(b):
        b = scale * centered(np.reshape(b, (-1, 1))).ravel()
        return centered((scale * solver.solve(solver.centered(b)))[:, None]).ravel()

    # The error of a solve must not show in the eigenvalues.
    tol = 100 * solver.tol
    largest, vectors = _find_largest(solve, graph.n_nodes, n_pairs, centered, tol=tol, rng=rng)
    return 1 / largest, vectors


def _find_largest(product, n_nodes, n_pairs, centered, *, tol, rng):
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
        )
        return values[::-1], vectors[:, ::-1]

    values, vectors = search(n_pairs, np.empty((n_nodes, 0)))
    for _ in range(n_pairs):
        value, vector = search(1, vectors)
        if value[0] <= (1 + tol) * values[-1]:
            break
        values = np.append(values, value)
        order = np.argsort(-values, kind="stable")[:n_pairs]
        values = values[order]
        vectors = np.hstack([vectors, vector])[:, order]
    return values, np.ascontiguousarray(vectors)
