"""The smallest positive eigenvalues of a Laplacian, and their eigenvectors, of any graph.

`smallest_eigenpairs` is the public function. It passes a graph in memory to `solvers.eigenpairs`. A
graph that is streamed is solved here, by LOBPCG [K01] with a sparsifier H of the graph. The
eigenvectors of H are the starting block X, and solves with M = L_H precondition the residuals. Each
iteration takes one pass over the edges:

    R = L X - X Lambda
    W = M^+ R, made orthonormal to X and P
    L W                                  the pass
    Rayleigh-Ritz on S = [X P W]:        X = S C, L X = (L S) C

P is the part of the new X in the span of the old P and W, made orthonormal to X [HL06]. The basis S
is orthonormal, so that the Rayleigh-Ritz step is an ordinary eigenvalue problem of S'L S. The block
has a few more columns than are wanted, because the last columns converge slowly. Constants on
components, whose eigenvalue is zero, are projected out.

For the normalized Laplacian, N = D^-1/2 L D^-1/2 replaces L, D^1/2 M^+ D^1/2 replaces M^+, and
D^1/2 1 replaces the constants. The degrees take a pass.

Every Ritz value is an upper bound of an eigenvalue, and an eigenvalue lies within
||L x - lambda x|| of it.

References
----------
[K01] Knyazev. Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
      conjugate gradient method. SIAM J. Scientific Computing 23(2), 2001.
[HL06] Hetmaniuk, Lehoucq. Basis selection in LOBPCG. J. Computational Physics 218(1), 2006.
"""

from __future__ import annotations

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
from graphsqueak.solvers.eigenpairs import MAX_DENSE_NODES
from graphsqueak.solvers.vectors import padded_width
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count, check_real

__all__ = ["NormalizedPencil", "lobpcg", "smallest_eigenpairs"]


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

    A graph in memory is solved in memory. A file, or a graph for which a sparsifier or its size is
    given, is streamed, with one pass per iteration.

    Parameters
    ----------
    graph : GraphLike
        Undirected graph, connected or not.
    k : int
        Number of eigenpairs. At most n_nodes minus the number of components are returned.
    n_edges, epsilon, keep : optional, at most one
        Size of the sparsifier, as in `sparsify`. Default for streamed graphs: a predicted epsilon
        of 0.5.
    sparsifier : EdgeList or any graph, optional
        An existing sparsifier with the ids of the graph.
    normalized : bool
        Use D^-1/2 L D^-1/2 instead of L, with D the weighted degrees.
    tol : float
        Relative tolerance: ||L x - lambda x|| <= tol * lambda for each pair, with ||x|| = 1. The
        relative error of lambda is about tol squared if the next eigenvalue is not close.
    max_passes : int, optional
        Maximum number of iterations. Default: 100.
    random_state : int, Generator or None
        Seed of the sparsifier and of the starting block.
    progress : bool or callable

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues in ascending order.
    vectors : ndarray of shape (n_nodes, k)
        Orthonormal eigenvectors; rows in the order of the graph's nodes.

    Examples
    --------
    >>> from graphsqueak.sources import complete
    >>> values, vectors = smallest_eigenpairs(complete(50), 2)
    >>> values.round(6), vectors.shape
    (array([50., 50.]), (50, 2))
    """
    check_count("k", k)
    check_real("tol", tol, above=0.0, below=1.0)
    max_passes = check_count("max_passes", 100 if max_passes is None else max_passes)
    source = rereadable(graph)
    budget = Budget(n_edges=n_edges, epsilon=epsilon, keep=keep)
    if sparsifier is None and budget == Budget(None, None, None):
        if isinstance(source, EdgeList):
            return eigenpairs.smallest_eigenpairs(
                source, k, normalized=normalized, tol=tol, random_state=random_state
            )
        budget = Budget(n_edges=None, epsilon=0.5, keep=None)
    kept = find_sparsifier(source, budget, sparsifier, random_state, progress)
    if normalized and not source.is_materialized:
        raise InputError(
            "the edges of a projection are not enumerated, so that its degrees are unknown; use "
            "normalized=False, or the eigenvectors of its sparsifier"
        )
    rng = np.random.default_rng(random_state)
    # One thread: the blocks are narrow, and results must not depend on the number of threads.
    with (
        threadpool_limits(1, user_api="blas"),
        reporter(progress, "finding eigenvectors") as report,
    ):
        if kept.n_nodes <= max(MAX_DENSE_NODES, 3 * k):
            laplacian = StreamedLaplacian(source, kept)
            return _diagonalize(laplacian, k, normalized=normalized, report=report)
        pencil: Pencil | NormalizedPencil
        pencil = Pencil(source, kept, np.zeros(kept.n_nodes), seed=int(rng.integers(2**63)))
        if normalized:
            degree = StreamedLaplacian(source, kept).degrees(report)
            pencil = NormalizedPencil(pencil, degree)
        # The last columns of the block converge slowly, so that there are more than are wanted.
        n_columns = padded_width(k + 1 + k // 4)
        # The start is found to the final tolerance, because work on the sparsifier takes no pass.
        _, start = eigenpairs.smallest_eigenpairs(
            kept, n_columns, normalized=normalized, tol=tol, random_state=rng
        )
        n_pairs = min(k, start.shape[1])
        return lobpcg(pencil, start, n_pairs, tol, max_passes, report)


def _diagonalize(laplacian, k, *, normalized, report):
    """Return eigenpairs of a small graph from its dense matrix, which takes one pass."""
    matrix = laplacian.to_dense(report)
    if normalized:
        degree = np.diag(matrix)
        root = np.sqrt(np.where(degree > 0, degree, np.inf))
        matrix /= root[:, None] * root
    values, vectors = scipy.linalg.eigh(matrix)
    n_components = np.unique(laplacian.component).size
    wanted = slice(n_components, n_components + k)
    return values[wanted], vectors[:, wanted]


class NormalizedPencil:
    """D^-1/2 L D^-1/2 of a streamed graph, and its preconditioner D^1/2 M^+ D^1/2.

    It replaces a `Pencil` in `lobpcg`.
    """

    def __init__(self, pencil: Pencil, degree: np.ndarray) -> None:
        self._pencil = pencil
        self._root = np.sqrt(degree)
        self._component = pencil.sparsifier.components()

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """Return N X, in one pass over the edges."""
        root = np.where(self._root > 0, self._root, np.inf)[:, None]
        return self._pencil.multiply(X / root, report) / root

    def precondition(self, R: np.ndarray) -> np.ndarray:
        """Return D^1/2 M^+ D^1/2 R approximately."""
        root = self._root[:, None]
        return self.centered(root * self._pencil.precondition(root * R))

    def centered(self, X: np.ndarray) -> np.ndarray:
        """Return X minus its part along D^1/2 1 on every component."""
        return eigenpairs.project_out_constants(X, self._component, self._root)


def lobpcg(
    pencil: Pencil | NormalizedPencil,
    X: np.ndarray,
    k: int,
    tol: float,
    max_passes: int,
    report: Callable | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors from a starting block with at least k columns.

    scipy's `lobpcg` has an absolute tolerance for all columns of the block, which takes 1.3 to 4
    times as many passes (ten pairs on grids, block models, small-world and heavy-tailed graphs).

    Parameters
    ----------
    pencil : Pencil or NormalizedPencil
        Without a ridge.
    X : ndarray of shape (n_nodes, at least k)
        Starting block.
    k, tol, max_passes
        Arguments of `smallest_eigenpairs`.
    report : callable, optional
        Called as report(n_edges, fraction) during a pass.
    """
    X = orthonormal(pencil.centered(X), lambda y: y)
    n_columns = X.shape[1]
    S = X
    LS = pencil.multiply(X, report)
    convergence = Convergence()
    n_passes = 1
    while True:
        gram = S.T @ LS
        values, coefficients = np.linalg.eigh((gram + gram.T) / 2)
        values = values[:n_columns]
        coefficients = coefficients[:, :n_columns]
        X = S @ coefficients
        LX = LS @ coefficients
        R = LX - X * values
        relative = np.linalg.norm(R, axis=0) / np.maximum(values, np.finfo(float).tiny)
        residual = float(relative[:k].max(initial=0.0))
        convergence.note(residual, is_measured=False)
        if residual <= tol or n_passes >= max_passes or convergence.is_stuck():
            break
        # P: the part of the new X in the old P and W, orthogonal to the new X.
        rest = coefficients.copy()
        rest[:n_columns] = 0.0
        rest -= coefficients @ (coefficients.T @ rest)
        rest = orthonormal(rest, lambda y: y)
        XP = np.hstack([X, S @ rest])
        W = pencil.precondition(R[:, relative > tol])
        # Twice, because rounding leaves some of X and P in W after the first projection.
        for _ in range(2):
            W = orthonormal(W - XP @ (XP.T @ W), lambda y: y)
        if W.shape[1] == 0:
            break
        LS = np.hstack([LX, LS @ rest, pencil.multiply(W, report)])
        S = np.hstack([XP, W])
        n_passes += 1
    if residual > tol:
        warnings.warn(
            ConvergenceWarning(
                f"eigenvectors have relative residuals of {residual:.2g} after {n_passes} passes, "
                "above ",
                Parameter("tol", tol),
                "; give the sparsifier more edges, or allow more passes",
                residual=residual,
            ),
            stacklevel=3,
        )
    return values[:k], np.ascontiguousarray(X[:, :k])
