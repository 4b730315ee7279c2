"""The smallest positive eigenvalues of a Laplacian, and their eigenvectors, of any graph.

`smallest_eigenpairs` is the public function. It passes a graph in memory to `solvers.eigenpairs`. A
graph that is streamed is solved by LOBPCG (`solvers.lobpcg`) with a sparsifier H of the graph, one
pass over the edges per iteration. The eigenvectors of H are the starting block, and solves with
M = L_H precondition the residuals.

For the normalized Laplacian, N = D^-1/2 L D^-1/2 replaces L, D^1/2 M^+ D^1/2 replaces M^+, and
D^1/2 1 replaces the constants as the vectors of eigenvalue zero. The degrees take a pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from graphsqueak.errors import ConvergenceWarning, InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.outofcore.pencil import Pencil, find_sparsifier, rereadable
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.eigenpairs import (
    MAX_DENSE_NODES,
    count_columns,
    dense_eigenpairs,
    laplacian_eigenpairs,
    project_out_constants,
)
from graphsqueak.solvers.lobpcg import lobpcg
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.system.progress import Progress, reporter
from graphsqueak.validation import check_count, check_real, explain_keywords


@explain_keywords()
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
            return laplacian_eigenpairs(
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
            matrix = laplacian.to_dense(report)
            # The pass has found the components.
            assert laplacian.component is not None
            n_components = np.unique(laplacian.component).size
            return dense_eigenpairs(matrix, k, n_components, normalized=normalized)
        pencil = Pencil(source, kept, np.zeros(kept.n_nodes), seed=int(rng.integers(2**63)))
        operator: Pencil | NormalizedPencil = pencil
        if normalized:
            operator = NormalizedPencil(pencil, StreamedLaplacian(source, kept).degrees(report))
        # The start is found to the final tolerance, because work on the sparsifier takes no pass.
        _, start = laplacian_eigenpairs(
            kept, count_columns(k), normalized=normalized, tol=tol, random_state=rng
        )
        found = lobpcg(
            operator,
            start,
            min(k, start.shape[1]),
            tol=tol,
            max_iter=max_passes,
            largest=2.0 if normalized else 2 * kept.degrees().max(),
            report=report,
        )
    if found.residual > tol:
        warnings.warn(
            ConvergenceWarning(
                f"eigenvectors have relative residuals of {found.residual:.2g} after "
                f"{found.n_iter} passes, above ",
                Parameter("tol", tol),
                "; give the sparsifier more edges, or allow more passes",
                residual=found.residual,
            ),
            stacklevel=2,
        )
    return found.values, found.vectors


class NormalizedPencil:
    """D^-1/2 L D^-1/2 of a streamed graph, and its preconditioner D^1/2 M^+ D^1/2.

    An operator for `lobpcg`.
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
        return project_out_constants(X, self._component, self._root)
