"""The smallest eigenvalues of the Laplacian of a graph that is read, and their vectors.

LOBPCG [K01] with a sparsifier H in two roles. Its own eigenvectors, roughly, are the start X: some
steps of the same kind on H, which take no pass. And residuals are preconditioned by it. Each step
takes one product, a pass:

    R = L X - X Lambda                   from the L X that is known
    W = M^+ R, made orthonormal to X and P
    L W                                  the pass
    Rayleigh and Ritz on S = [X P W]:    X = S C, L X = (L S) C

and P becomes the part of the new X that lies in the old P and W, orthonormal to X [HL06], so that
no matrix but S'L S, which is small, is ever formed. A few more columns than are wanted come along:
the last ones converge slowly. Constants on components, whose eigenvalue is zero, are taken out.
Normalized, N = D^-1/2 L D^-1/2 takes the place of L, D^1/2 M^+ D^1/2 that of M^+, and D^1/2 1 that
of the constants; the degrees take a pass of their own.

Eigenvalues are found from above, so that each is an upper bound of the true one, of whatever
accuracy; a true one lies within |L x - lambda x| of each.

References
----------
[K01] Knyazev. Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
      conjugate gradient method. SIAM J. Scientific Computing 23(2), 2001.
[HL06] Hetmaniuk, Lehoucq. Basis selection in LOBPCG. J. Computational Physics 218(1), 2006.
"""

import warnings
from collections.abc import Callable

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_limits

from graphsqueak.errors import ConvergenceWarning, InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.outofcore.block_cg import orthonormal
from graphsqueak.outofcore.convergence import Convergence
from graphsqueak.outofcore.pencil import Pencil, find_sparsifier, rereadable
from graphsqueak.randomness import RandomState
from graphsqueak.solvers import eigenpairs
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count, check_real

__all__ = ["NormalizedPencil", "lobpcg", "smallest_eigenpairs"]

_DENSE_NODES = 1000
_MOST_PASSES = 100
_START_TOL, _START_STEPS = 0.05, 15  # of what is found on the sparsifier
_MORE = 4  # columns beyond those that are wanted, at least


def smallest_eigenpairs(
    graph: GraphLike,
    k: int,
    *,
    n_edges: int | None = None,
    epsilon: float | None = None,
    keep: float | None = None,
    sparsifier: GraphLike | None = None,
    normalized: bool = False,
    tol: float = 1e-3,
    max_passes: int | None = None,
    random_state: RandomState = None,
    progress: Progress = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the smallest positive eigenvalues of the Laplacian, and their eigenvectors.

    A graph in memory is solved with; one that is read, or for which a sparsifier or its size is
    given, is read once per step and never held.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        Connected or not.
    k : int
        How many are wanted. There are n_nodes minus the number of components; more are not given.
    n_edges, epsilon, keep : optional, at most one
        Size of the sparsifier, as of `sparsify`. Default for what is read: epsilon=0.5, predicted.
    sparsifier : EdgeList or any graph, optional
        A sparsifier that is there already, with the ids of the graph.
    normalized : bool
        Of D^-1/2 L D^-1/2, D the weighted degrees, instead of L.
    tol : float
        |L x - lambda x| <= tol * lambda for each pair, |x| = 1. The error of lambda is about the
        square of that where the next eigenvalue is not near.
    max_passes : int, optional
        Most steps. Default: 100.
    random_state : int, Generator or None
        Seeds the sparsifier, and the start of Lanczos on it.
    progress : bool or callable

    Returns
    -------
    values : ndarray of shape (k,)
        Ascending.
    vectors : ndarray of shape (n_nodes, k)
        Orthonormal columns; rows in the order of the graph's nodes.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> values, vectors = smallest_eigenpairs(complete(50), 2)
    >>> values.round(6), vectors.shape
    (array([50., 50.]), (50, 2))
    """
    check_count("k", k)
    check_real("tol", tol, above=0.0, below=1.0)
    most = _MOST_PASSES if max_passes is None else check_count("max_passes", max_passes)
    budget, source = Budget(n_edges, epsilon, keep), rereadable(graph)
    if sparsifier is None and all(value is None for value in budget):
        if isinstance(source, EdgeList):
            return eigenpairs.smallest_eigenpairs(
                source, k, normalized=normalized, tol=tol, random_state=random_state
            )
        budget = Budget(None, 0.5, None)
    kept = find_sparsifier(source, budget, sparsifier, random_state, progress)
    if normalized and not source.is_materialized:
        raise InputError(
            "the graph of a table of pairs is never built, and its degrees are not known: take the "
            "eigenvectors of L, or those of its sparsifier"
        )
    rng = np.random.default_rng(random_state)
    plain = Pencil(source, kept, np.zeros(kept.n_nodes), seed=int(rng.integers(2**63)))
    n_free = kept.n_nodes - int(kept.components().max(initial=-1)) - 1
    n_columns = min(k + max(_MORE, k // 4), n_free)
    with threadpool_limits(1, user_api="blas"), reporter(progress, "finding eigenvectors") as tell:
        if kept.n_nodes <= max(_DENSE_NODES, 3 * n_columns):
            laplacian = StreamedLaplacian(source, kept)
            matrix = laplacian.to_dense(tell)
            if normalized:
                root = np.sqrt(np.where(np.diag(matrix) > 0, np.diag(matrix), np.inf))
                matrix /= root[:, None] * root
            values, vectors = scipy.linalg.eigh(matrix)
            n_zero = np.unique(np.asarray(laplacian.component)).size
            return values[n_zero : n_zero + k], vectors[:, n_zero : n_zero + k]
        pencil: Pencil | NormalizedPencil = plain
        itself: _OnSparsifier | NormalizedPencil = _OnSparsifier(plain)
        if normalized:
            degree = StreamedLaplacian(source, kept).degrees(tell)
            pencil = NormalizedPencil(plain, degree)
            itself = NormalizedPencil(_OnSparsifier(plain), degree)
        start = itself.precondition(rng.standard_normal((kept.n_nodes, n_columns)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start
            _, start = lobpcg(itself, start, n_columns, _START_TOL, _START_STEPS)
        return lobpcg(pencil, start, min(k, n_free), tol, most, tell)


class _OnSparsifier:
    """The pencil of a sparsifier with itself, whose products take no pass."""

    def __init__(self, pencil: Pencil) -> None:
        self.sparsifier, self._pencil = pencil.sparsifier, pencil
        self.precondition, self.centered = pencil.precondition, pencil.centered

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """M X."""
        return self._pencil.times_sparsifier(X)


class NormalizedPencil:
    """The pencil of D^-1/2 L D^-1/2, and of D^1/2 M^+ D^1/2 to precondition it."""

    def __init__(self, pencil: "Pencil | _OnSparsifier", degree: np.ndarray) -> None:
        self._pencil, self._root = pencil, np.sqrt(degree)
        self._component = pencil.sparsifier.components()

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """N X, in one pass over the edges."""
        root = np.where(self._root > 0, self._root, np.inf)[:, None]
        return self._pencil.multiply(X / root, report) / root

    def precondition(self, R: np.ndarray) -> np.ndarray:
        """D^1/2 M^+ D^1/2 R, about."""
        root = self._root[:, None]
        return self.centered(root * self._pencil.precondition(root * R))

    def centered(self, X: np.ndarray) -> np.ndarray:
        """X less its part along D^1/2 1 on every component."""
        return eigenpairs.project_out_constants(X, self._component, self._root)


def lobpcg(
    pencil: Pencil | NormalizedPencil | _OnSparsifier,
    X: np.ndarray,
    k: int,
    tol: float,
    max_passes: int,
    tell: Callable | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Values and vectors from a start X, of at least k columns.

    Parameters
    ----------
    pencil : Pencil
        Without a ridge.
    X : ndarray of shape (n_nodes, at least k)
    k, tol, max_passes
        Arguments of `smallest_eigenpairs`.
    tell : callable, optional
        Called as tell(n_edges, share) during a pass.
    """
    X = orthonormal(pencil.centered(X), lambda y: y)
    images = [pencil.multiply(X, tell)]  # of X, P and W
    basis, n_columns = [X], X.shape[1]
    course, n_passes = Convergence(), 1
    while True:
        S, LS = np.hstack(basis), np.hstack(images)
        gram = S.T @ LS
        values, turn = np.linalg.eigh((gram + gram.T) / 2)
        values, turn = values[:n_columns], turn[:, :n_columns]
        X, LX = S @ turn, LS @ turn
        R = LX - X * values
        relative = np.linalg.norm(R, axis=0) / np.maximum(values, np.finfo(float).tiny)
        course.note(float(relative[:k].max(initial=0.0)), is_measured=False)
        if course.worst[-1] <= tol or n_passes >= max_passes or course.is_stuck():
            break
        rest = turn.copy()
        rest[:n_columns] = 0.0  # what the new X has of the old P and W
        rest -= turn @ (turn.T @ rest)
        rest = orthonormal(rest, lambda y: y)
        P, LP = S @ rest, LS @ rest
        W = pencil.precondition(R[:, relative > tol])
        for _ in range(2):
            for known in (X, P):
                W -= known @ (known.T @ W)
            W = orthonormal(W, lambda y: y)
        if W.shape[1] == 0:
            break
        basis, images = [X, P, W], [LX, LP, pencil.multiply(W, tell)]
        n_passes += 1
    if course.worst[-1] > tol:
        warnings.warn(
            ConvergenceWarning(
                f"eigenvectors have relative residuals of {course.worst[-1]:.2g} after "
                f"{n_passes} passes, above ",
                Parameter("tol", tol),
                "; give the sparsifier more edges, or allow more passes",
                residual=course.worst[-1],
            ),
            stacklevel=3,
        )
    return values[:k], np.ascontiguousarray(X[:, :k])
