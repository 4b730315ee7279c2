"""A streamed graph G and its sparsifier H in memory: A = L_G and M = L_H, both plus a ridge.

    multiply            A X, one pass over the edges
    precondition        M^+ R approximately, without a pass
    times_sparsifier    M Y, without a pass

Both matrices are singular on components without a ridge, and G and H must have the same components.
The first pass finds the components of G, and raises an error if those of H differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import AccuracyWarning, ConvergenceWarning, InputError, Parameter
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import make_node_finder
from graphsqueak.outofcore.parted_laplacian import PartedLaplacian, Sharing
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.solvers.matrix import multiply
from graphsqueak.solvers.vectors import MAX_WIDTH
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import component_problem
from graphsqueak.sparsifiers.sparsify import sparsify
from graphsqueak.system.progress import Progress


class Pencil:
    """Products with a streamed graph, and solves with its sparsifier.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        The graph G.
    sparsifier : EdgeList
        The sparsifier H; rows of all blocks are its nodes.
    ridge : ndarray of shape (n_nodes,)
        Added to the diagonals of both matrices.
    seed : int
        Seed of the solver on H.
    backend : str
        Backend of the solver on H; the first solve replaces "auto".
    sharing : Sharing, optional
        Parts of G and their workers.

    Attributes
    ----------
    sparsifier, ridge, backend
        See above.
    laplacian : StreamedLaplacian or PartedLaplacian
        The Laplacian of G, which counts the passes.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> triangle = EdgeList(tail=[0, 1, 2], head=[1, 2, 0])
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> pencil = Pencil(triangle, path, np.zeros(3), seed=7)
    >>> y = np.array([[1.0], [0.0], [-1.0]])
    >>> pencil.multiply(y).ravel(), pencil.times_sparsifier(y).ravel()
    (array([ 3.,  0., -3.]), array([ 1.,  0., -1.]))
    """

    def __init__(
        self,
        source: EdgeSource | EdgeList,
        sparsifier: EdgeList,
        ridge: np.ndarray,
        *,
        seed: int,
        backend: str = "auto",
        sharing: Sharing | None = None,
    ) -> None:
        self.sparsifier = sparsifier
        self.ridge = ridge
        self.backend = backend
        self.laplacian: StreamedLaplacian | PartedLaplacian
        if sharing is not None and sharing.is_wanted:
            self.laplacian = PartedLaplacian(source, sparsifier, sharing.n_parts)
        else:
            self.laplacian = StreamedLaplacian(source, sparsifier)
        self._inner = LaplacianSolver(
            sparsifier,
            solver=backend,
            ridge=ridge,
            # CG is flexible, and H only approximates G.
            tol=1e-3,
            # Many solves make a factorization of H worthwhile.
            n_solves=50,
            random_state=seed,
        )

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """Return A X, in one pass over the edges."""
        is_first = self.laplacian.n_passes == 0
        product = self.laplacian.multiply(X, report)
        # A sparsifier with other components has other singular vectors, and CG would not converge.
        if is_first and not self.ridge.all():
            problem = component_problem(self.laplacian.component, self.sparsifier)
            if problem is not None:
                raise InputError(problem["problem"])
        if self.ridge.any():
            product += self.ridge[:, None] * X
        return self._inner.centered(product, out=product)

    def precondition(self, R: ArrayLike) -> np.ndarray:
        """Return M^+ R approximately; R is centered over components without a ridge."""
        with warnings.catch_warnings():
            # CG on G converges also if solves on H are inaccurate.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Twice: the first projection of a nearly constant block leaves rounding errors.
            solved = self._inner.centered(R)
            solved = self._inner.centered(solved, out=solved.reshape(solved.shape[0], -1))
            # A few columns at a time, so that a solve needs little memory besides the block.
            for first in range(0, solved.shape[1], MAX_WIDTH):
                columns = solved[:, first : first + MAX_WIDTH]
                columns[:] = self._inner.solve(columns)
                self.backend = self._inner.fix_backend()
        return solved

    def times_sparsifier(self, Y: np.ndarray) -> np.ndarray:
        """Return M Y."""
        image = np.empty_like(Y)
        multiply(self._inner.matrix, np.ascontiguousarray(Y), image)
        return image

    def centered(self, X: np.ndarray) -> np.ndarray:
        """Return X minus its mean over every component without a ridge."""
        return self._inner.centered(X)

    def consistent(self, B: np.ndarray) -> np.ndarray:
        """Return B centered; raise if it does not sum to zero over components without a ridge."""
        return self._inner.check_consistent(B)


def rereadable(graph: GraphLike) -> EdgeSource | EdgeList:
    """Return the graph as batches of edges; raise an error if they can be read only once."""
    source = as_stream(graph)
    if not source.is_rereadable:
        raise InputError(
            "the graph is read several times, and a pipe can be read once: write it to a file first"
        )
    return source


def find_sparsifier(
    source: EdgeSource | EdgeList,
    budget: Budget,
    sparsifier: GraphLike | None,
    random_state: RandomState,
    progress: Progress,
    sharing: Sharing | None = None,
) -> EdgeList:
    """Return a sparsifier for preconditioning: the given one, or a new one, which takes a pass.

    Parameters
    ----------
    source : EdgeSource or EdgeList
    budget : Budget
        Size of a new sparsifier; empty if there is a `sparsifier`.
    sparsifier : any graph, or None
        Nodes are renumbered as in `source` if that is in memory.
    random_state : int, Generator or None
    progress : bool or callable
    sharing : Sharing, optional
        Parts of the graph and their workers.

    Returns
    -------
    EdgeList
    """
    if sparsifier is None and isinstance(source, EdgeList) and not source.n_edges:
        budget.validate()
        return source
    if sparsifier is None:
        with warnings.catch_warnings():
            # A coarse sparsifier takes more passes, and the result is as accurate.
            warnings.simplefilter("ignore", AccuracyWarning)
            return sparsify(
                source,
                **budget.validate()._asdict(),
                **({} if sharing is None else sharing.settings()),
                certify=False,
                random_state=random_state,
                progress=progress,
            )
    if budget != Budget(None, None, None):
        raise InputError(
            "give sparsifier, or one of ", Parameter("n_edges"), ", epsilon and keep, not both"
        )
    kept = as_edge_list(sparsifier)
    if not isinstance(source, EdgeList):
        return kept
    node = make_node_finder(source.node_ids, source.n_nodes)(kept.ids)
    if node.min(initial=0) < 0:
        name = kept.ids.tolist()[int(np.argmin(node))]
        raise InputError(
            f"node {name!r} of the sparsifier is not in the graph; it belongs to another graph"
        )
    return EdgeList.from_validated(
        node[kept.tail], node[kept.head], kept.weight, source.n_nodes, source.node_ids
    )
