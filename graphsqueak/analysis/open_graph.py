"""A graph to be looked at: in memory, or read again and again with a sparsifier that is held.

What the rest of this room asks of a graph is the same in both cases: its nodes, its edges batch by
batch, its degrees, a solver, its eigenvectors. In memory that is the graph itself. On a file each
is a number of passes.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.outofcore.eigenpairs import smallest_eigenpairs
from graphsqueak.outofcore.pencil import find_sparsifier, rereadable
from graphsqueak.outofcore.streamed_solver import StreamedSolver
from graphsqueak.randomness import RandomState
from graphsqueak.solvers.laplacian_solver import LaplacianSolver
from graphsqueak.sources.graph_like import GraphLike
from graphsqueak.sources.streamed_laplacian import StreamedLaplacian
from graphsqueak.sparsifiers.budget import Budget
from graphsqueak.sparsifiers.certificate.certificate import Certificate
from graphsqueak.system.progress import Progress, reporter

__all__ = ["OpenGraph"]

_LARGE = 20  # times the nodes of a component: one as small as that is dust beside it


class OpenGraph:
    """A graph, and what is needed to read it if it is not in memory.

    Parameters
    ----------
    graph : EdgeList, scipy sparse adjacency, networkx graph or EdgeSource
        An EdgeSource is read, and its `to_edge_list()` is held.
    n_edges : int, optional
        Size of the sparsifier of a graph that is read. Default: predicted for epsilon = 0.5.
    sparsifier : any graph, optional
        One that is there already, with the ids of the graph.
    random_state : int, Generator or None
    progress : bool or callable

    Attributes
    ----------
    held : EdgeList
        The graph itself or, if it is read, its sparsifier. Rows of all results are its nodes.
    is_read : bool
    source, progress
        As given, the graph as batches of edges.

    Examples
    --------
    >>> path = OpenGraph(EdgeList(tail=[0, 1], head=[1, 2]))
    >>> path.degrees, path.is_read
    (array([1., 2., 1.]), False)
    """

    def __init__(
        self,
        graph: GraphLike,
        n_edges: int | None = None,
        sparsifier: GraphLike | None = None,
        random_state: RandomState = None,
        progress: Progress = False,
    ) -> None:
        source = rereadable(graph)
        self.source, self.progress = source, progress
        self._rng = np.random.default_rng(random_state)
        self.is_read = (
            not isinstance(source, EdgeList) or n_edges is not None or sparsifier is not None
        )
        if not source.is_materialized:
            raise InputError(
                "the projection of an entity-attribute table is never built, and its degrees are "
                "not known: sparsify it, and look at the sparsifier"
            )
        self.held: EdgeList
        if not self.is_read and isinstance(source, EdgeList):
            self.held = source
        else:
            is_open = n_edges is None and sparsifier is None
            budget = Budget(n_edges, 0.5 if is_open else None, None)
            kept = find_sparsifier(source, budget, sparsifier, self.seed(), progress)
            self.held = kept.in_id_order()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.held.n_nodes

    @property
    def certificate(self) -> Certificate | None:
        """What is proved of a graph in memory that is a certified sparsifier of another one."""
        known = None if self.is_read else self.held.certificate
        return known if known is not None and not known.ridge and not known.problem else None

    def seed(self) -> int:
        """A seed for one more step."""
        return int(self._rng.integers(2**63))

    def batches(self, what: str = "reading") -> Iterator[tuple]:
        """All edges as (tail, head, weight), in one pass."""
        if not self.is_read:
            yield self.held.tail, self.held.head, self.held.weight
            return
        with reporter(self.progress, what) as tell:
            yield from self.laplacian.edges(tell)

    @cached_property
    def laplacian(self) -> StreamedLaplacian:
        """The product with the Laplacian, in one pass."""
        return StreamedLaplacian(self.source, self.held)

    @cached_property
    def simple(self) -> EdgeList:
        """What is held, parallel edges summed."""
        return self.held.simplified()

    @cached_property
    def degrees(self) -> np.ndarray:
        """Weighted degrees, in one pass."""
        total = np.zeros(self.n_nodes)
        for tail, head, weight in self.batches("summing degrees"):
            for ends in (tail, head):
                total += np.bincount(ends, weight, self.n_nodes)
        return total

    @cached_property
    def components(self) -> np.ndarray:
        """Number of the component of each node: the sparsifier has those of the graph."""
        return self.held.components()

    def solver(self, *, tol: float, ridge: ArrayLike = 0.0) -> LaplacianSolver | StreamedSolver:
        """A solver of L + diag(ridge), in memory or pass by pass."""
        if not self.is_read:
            return LaplacianSolver(self.held, ridge=ridge, tol=tol, random_state=self.seed())
        return StreamedSolver(
            self.source,
            sparsifier=self.held,
            ridge=ridge,
            tol=tol,
            random_state=self.seed(),
            progress=self.progress,
        )

    def eigenpairs(
        self, k: int, *, normalized: bool, tol: float, nodes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The smallest positive eigenvalues, and their vectors; of some components, if in memory.

        Parameters
        ----------
        k, normalized, tol
            Arguments of `smallest_eigenpairs`.
        nodes : ndarray of bool, optional
            Components of which they are wanted.
        """
        if nodes is None or nodes.all():
            graph, helped = self.source, self.held if self.is_read else None
            return smallest_eigenpairs(
                graph,
                k,
                sparsifier=helped,
                normalized=normalized,
                tol=tol,
                random_state=self.seed(),
                progress=self.progress,
            )
        inside = np.flatnonzero(nodes)
        if self.is_read:  # those of dust are larger, and zero on all other nodes
            values, vectors = self.eigenpairs(k + 2, normalized=normalized, tol=tol)
            own = np.flatnonzero((vectors[inside] ** 2).sum(axis=0) > 0.5)[:k]
            return values[own], vectors[:, own] * nodes[:, None]
        number = np.full(self.n_nodes, -1)
        number[inside] = np.arange(inside.size)
        kept = nodes[self.held.tail]
        part = EdgeList.from_validated(
            number[self.held.tail[kept]],
            number[self.held.head[kept]],
            self.held.weight[kept],
            inside.size,
        )
        values, own_vectors = smallest_eigenpairs(
            part, k, normalized=normalized, tol=tol, random_state=self.seed()
        )
        vectors = np.zeros((self.n_nodes, values.size))
        vectors[inside] = own_vectors
        return values, vectors

    def large_components(self, most: int) -> np.ndarray:
        """Nodes of the largest components: at most so many, and no dust beside the largest.

        Parameters
        ----------
        most : int

        Returns
        -------
        ndarray of bool, shape (n_nodes,)
        """
        size = np.bincount(self.components, minlength=1)
        order = np.argsort(-size, kind="stable")[:most]
        large = np.zeros(size.size, dtype=bool)
        large[order] = (size[order] > 1) & (_LARGE * size[order] >= size.max())
        return large[self.components]
