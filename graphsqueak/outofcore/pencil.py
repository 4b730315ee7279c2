"""A graph that is read beside a sparsifier that is held: A = L_G and M = L_H, both plus a ridge.

    multiply        A X, a pass over the edges
    precondition    M^+ R, about, without a pass
    times_sparsifier    M Y, without a pass

Where a component has no ridge both matrices are singular, and must be so on the same components: a
sparsifier that has others is refused after the first pass, which finds those of the graph.
"""

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
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.sources.graph_like import GraphLike, as_edge_list, as_stream
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import component_problem
from graphsqueak.sparsifiers.sparsify import sparsify
from graphsqueak.system.progress import Progress

__all__ = ["Pencil", "find_sparsifier", "rereadable"]

_INNER_TOL = 1e-3  # of the solves on H
_COLUMNS = 8  # of a solve on H, a cache line
_MANY_SOLVES = 50  # a factorization of H pays


class Pencil:
    """The two matrices.

    Parameters
    ----------
    source : EdgeSource or EdgeList
        G.
    sparsifier : EdgeList
        H; rows of all blocks are its nodes.
    ridge : ndarray of shape (n_nodes,)
    seed : int
        Of the solver on H.
    backend : str
        Of the solver on H; "auto" is settled by the first solve.
    sharing : Sharing, optional
        Read G in parts.

    Attributes
    ----------
    sparsifier, ridge
        As given.
    laplacian : StreamedLaplacian or PartedLaplacian
        That counts the passes.
    backend : str
        As given, or what "auto" has settled on.

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
        self.sparsifier, self.ridge, self.backend = sparsifier, ridge, backend
        self.laplacian: StreamedLaplacian | PartedLaplacian
        if sharing is not None and sharing.is_wanted:
            self.laplacian = PartedLaplacian(source, sparsifier, sharing.n_parts)
        else:
            self.laplacian = StreamedLaplacian(source, sparsifier)
        self._inner = LaplacianSolver(
            sparsifier,
            solver=backend,
            ridge=ridge,
            tol=_INNER_TOL,
            n_solves=_MANY_SOLVES,
            random_state=seed,
        )

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """A X, in one pass over the edges."""
        is_first = self.laplacian.n_passes == 0
        product = self.laplacian.multiply(X, report)
        if is_first and not self.ridge.all():
            problem = component_problem(self.laplacian.component, self.sparsifier)
            if problem is not None:
                raise InputError(problem["problem"])
        if self.ridge.any():
            product += self.ridge[:, None] * X
        return self._inner.centered(product, out=product)

    def precondition(self, R: ArrayLike) -> np.ndarray:
        """M^+ R, about; R is centered first where a component has no ridge."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            # twice: of what is a constant but for rounding, the first time leaves some of it
            solved = self._inner.centered(R)
            solved = self._inner.centered(solved, out=solved.reshape(solved.shape[0], -1))
            for columns in _few_columns(solved):
                columns[:] = self._inner.solve(columns)
                self.backend = self._inner.fix_backend()
        return solved

    def times_sparsifier(self, Y: np.ndarray) -> np.ndarray:
        """M Y."""
        image = np.empty_like(Y)
        multiply(self._inner.matrix, np.ascontiguousarray(Y), image)
        return image

    def centered(self, X: np.ndarray) -> np.ndarray:
        """X less its mean over every component without a ridge."""
        return self._inner.centered(X)

    def consistent(self, B: np.ndarray) -> np.ndarray:
        """B centered; an InputError if it does not sum to zero where there is no ridge."""
        return self._inner.check_consistent(B)


def _few_columns(block):
    """Views of some columns at a time, so that a solve needs little room beside the block."""
    whole = block.reshape(block.shape[0], -1)
    return (whole[:, i : i + _COLUMNS] for i in range(0, whole.shape[1], _COLUMNS))


def rereadable(graph: GraphLike) -> EdgeSource | EdgeList:
    """The graph as batches of edges that can be read again; an InputError for a pipe."""
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
    """A sparsifier to precondition with: the one that is given, or one made in a pass.

    Parameters
    ----------
    source : EdgeSource or EdgeList
    budget : Budget
        One of its three, or none if there is a `sparsifier`.
    sparsifier : any graph, or None
        Put on the nodes of `source`, in their order, where these are known before a pass.
    random_state : int, Generator or None
    progress : bool or callable
    sharing : Sharing, optional
        Make it of parts.

    Returns
    -------
    EdgeList
    """
    if sparsifier is None and isinstance(source, EdgeList) and not source.n_edges:
        budget.validate()
        return source
    if sparsifier is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)  # it costs passes, not accuracy
            return sparsify(
                source,
                **budget.validate()._asdict(),
                **({} if sharing is None else sharing.settings()),
                certify=False,
                random_state=random_state,
                progress=progress,
            )
    if any(value is not None for value in budget):
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
    ends = (node[kept.tail], node[kept.head])
    return EdgeList.from_validated(*ends, kept.weight, source.n_nodes, source.node_ids)
