"""The smallest positive eigenvalues of a Laplacian in memory, and their eigenvectors.

`graphsqueak.smallest_eigenpairs` calls `laplacian_eigenpairs` for a graph in memory, and for the
sparsifier of a streamed one. The matrix A is L or, normalized, N = D^-1/2 L D^-1/2 with D the
weighted degrees. The eigenvalue zero belongs to the components. Its vectors (1, or D^1/2 1, on one
component) are projected out.

A small matrix is diagonalized. On other graphs, subspace iteration with a polynomial filter is
tried first [ZSTC06]: a block X with a few more columns than are wanted is multiplied by T_m(A),
made orthonormal, and rotated to the Ritz vectors, again and again. T_m is the Chebyshev polynomial
with [s, t] mapped to [-1, 1]. It is at most 1 there, and grows rapidly below s. The upper end t is
a bound of the spectrum, and s is the largest Ritz value of the block. A few rounds suffice on
random graphs and on graphs with clusters. It has no set-up, and finds multiple eigenvalues, which
ARPACK misses (`scipy.sparse.linalg.eigsh` takes 0.7 to 1.5 times as long on these graphs).

The rounds converge slowly if many eigenvalues are close to zero, compared with t (grids, rings, L
with very uneven degrees). Then `lobpcg` continues from the block, with an approximate Cholesky
factorization of L as its preconditioner.

References
----------
[ZSTC06] Zhou, Saad, Tiago, Chelikowsky. Self-consistent-field calculations using Chebyshev-filtered
         subspace iteration. J. Computational Physics 219(1), 2006.
"""

import warnings
from collections.abc import Callable

import numpy as np
import scipy.linalg

from graphsqueak.errors import ConvergenceWarning, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.approximate_cholesky import ApproximateCholesky
from graphsqueak.solvers.lobpcg import lobpcg
from graphsqueak.solvers.matrix import aligned_like, build_laplacian, multiply
from graphsqueak.solvers.vectors import MAX_WIDTH, padded_width
from graphsqueak.validation import check_real

# Largest matrix that is diagonalized densely, which is exact but slower: 130 to 270 ms at 900
# nodes, compared with 8 to 40 ms. Halved or doubled: no change for other graphs.
MAX_DENSE_NODES = 1000
# The next two comments give the time if a number is halved and doubled: geometric mean and extreme
# cases of 32 (block models, random, heavy-tailed, small-world and geometric graphs, a grid; L and
# normalized; 9 pairs; tolerances 1e-3 and 1e-6). Without any change, a repeated run gave 1.00 (0.8
# to 1.2).

# Degree of the polynomial: products between two orthonormalizations. 1.10 (0.8 to 2.1); 1.13 (0.6
# to 3.2). With 16, block models of 200,000 nodes need a second round (1.4 times the time).
FILTER_DEGREE = 20
# Rounds after which LOBPCG is faster. The iteration ends as soon as more are forecast. 0.98 (0.8 to
# 1.3); 0.98 (0.8 to 1.2). With 8 rounds 1.11 (0.9 to 2.7).
MAX_ROUNDS = 30


def laplacian_eigenpairs(
    graph: EdgeList,
    n_pairs: int,
    *,
    normalized: bool = False,
    tol: float = 1e-6,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest positive eigenvalues of the Laplacian, and their eigenvectors.

    Parameters and results are those of `graphsqueak.smallest_eigenpairs`.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> laplacian_eigenpairs(complete(5).to_edge_list(), 2)[0]
    array([5., 5.])
    >>> laplacian_eigenpairs(complete(5).to_edge_list(), 2, normalized=True)[0]
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
        matrix = graph.laplacian().toarray()
        return dense_eigenpairs(matrix, n_pairs, n_components, normalized=normalized)
    rng = np.random.default_rng(random_state)
    X = rng.standard_normal((graph.n_nodes, min(count_columns(n_pairs), n_positive)))
    operator = _Operator(graph, component, normalized=normalized, seed=int(rng.integers(2**63)))
    has_converged, values, X = _iterate_filter(operator, X, n_pairs, tol)
    if has_converged:
        return values[:n_pairs], np.ascontiguousarray(X[:, :n_pairs])
    found = lobpcg(operator, X, n_pairs, tol=tol, largest=operator.bound)
    if found.residual > tol:
        warnings.warn(
            ConvergenceWarning(
                f"eigenvectors have relative residuals of {found.residual:.2g} after "
                f"{found.n_iter} iterations, above ",
                Parameter("tol", tol),
                "; allow a larger tolerance",
                residual=found.residual,
            ),
            stacklevel=3,
        )
    return found.values, found.vectors


def count_columns(n_pairs: int) -> int:
    """Return the number of columns of a block: more than pairs, as the last converge slowly.

    >>> count_columns(9)
    12
    """
    return padded_width(n_pairs + 1 + n_pairs // 4)


def dense_eigenpairs(
    matrix: np.ndarray, n_pairs: int, n_components: int, *, normalized: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest positive eigenpairs of a dense Laplacian, which is overwritten."""
    if normalized:
        scale = _inverse_root(np.diag(matrix))
        matrix *= scale[:, None] * scale
    values, vectors = scipy.linalg.eigh(matrix)
    wanted = slice(n_components, n_components + n_pairs)
    return values[wanted], vectors[:, wanted]


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


class _Operator:
    """The matrix A of a graph in memory, its preconditioner, and a bound of its eigenvalues."""

    def __init__(self, graph, component, *, normalized, seed):
        self._graph = graph
        self._component = component
        self._seed = seed
        self._factor: Callable | None = None
        self._scale = np.ones(graph.n_nodes)
        degree = graph.degrees()
        if not normalized:
            self.bound = (degree[graph.tail] + degree[graph.head]).max(initial=0.0)
            self.matrix = build_laplacian(graph, np.zeros(graph.n_nodes))
            return
        # An isolated node is a component of its own: its vector of eigenvalue zero is the node.
        self._scale[degree > 0] = np.sqrt(degree[degree > 0])
        weight = normalized_weights(graph.tail, graph.head, graph.weight, degree)
        scaled = EdgeList.from_validated(graph.tail, graph.head, weight, graph.n_nodes)
        self.bound = 2.0
        # The diagonal of N is 1; the rows of its weights do not sum to 1.
        self.matrix = build_laplacian(scaled, (degree > 0) - scaled.degrees())

    def multiply(self, X, report=None):
        """Return A X."""
        product = aligned_like(X)
        multiply(self.matrix, X, product)
        return product

    def precondition(self, R):
        """Return D^1/2 M^+ D^1/2 R, with M an approximate Cholesky factorization of L."""
        if self._factor is None:
            laplacian = build_laplacian(self._graph, np.zeros(self._graph.n_nodes))
            self._factor = ApproximateCholesky(laplacian, seed=self._seed)
        order = self._factor.order
        scale = self._scale[order, None]
        n_columns = R.shape[1]
        # Columns of zeros up to a width that is fast.
        block = np.zeros((R.shape[0], padded_width(n_columns)))
        block[:, :n_columns] = scale * R[order]
        Z = np.empty_like(R)
        Z[order] = scale * self._factor(block)[:, :n_columns]
        return self.centered(Z)

    def centered(self, X):
        """Return X minus its part along the eigenvectors of eigenvalue zero."""
        return project_out_constants(X, self._component, self._scale)


def _iterate_filter(operator, X, n_pairs, tol):
    """Return whether filtered subspace iteration converges, Ritz values and Ritz vectors."""
    # The trace gives the mean eigenvalue, which is far above the wanted ones.
    low = operator.matrix.diagonal().mean() / 2
    rounding = np.finfo(np.float64).eps * operator.bound
    first_error = None
    for n_left in reversed(range(MAX_ROUNDS)):
        X = _apply_filter(operator.matrix, X, low=low, high=operator.bound)
        # Twice, because nearly dependent columns amplify the rounding errors of the projection.
        for _ in range(2):
            X = np.linalg.qr(operator.centered(X))[0]
        X = np.ascontiguousarray(X)
        # Rayleigh-Ritz
        image = operator.multiply(X)
        values, rotation = np.linalg.eigh(X.T @ image)
        X = X @ rotation
        residual = np.linalg.norm(image @ rotation - X * values, axis=0)
        low = values[-1]
        # Eigenvalues below the rounding of A have no relative accuracy.
        error = (residual / (tol * np.maximum(values, rounding)))[:n_pairs].max()
        if error <= 1:
            return True, values, X
        if first_error is None:
            first_error = error
        elif error * (error / first_error) ** (n_left / (MAX_ROUNDS - 1 - n_left)) > 1:
            # At the mean rate since the first round, the error stays above 1.
            break
    return False, values, X


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
