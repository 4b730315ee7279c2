"""One interface to a graph in memory, and to a streamed graph with a sparsifier in memory.

All functions of `graphsqueak.analysis` use a graph in the same way: its nodes, its edges in
batches, its degrees, a linear solver and eigenvectors. `AnalyzedGraph` computes them from the graph
itself if it is in memory. Otherwise each of them takes passes over the edges, and a sparsifier is
the preconditioner of the solver and of the eigenvectors (`graphsqueak.outofcore`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import NodeMatching
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

# Components with fewer nodes than the largest one divided by this number are ignored by clusters
# and cuts: a component of a few nodes would be a perfect cluster, and of no interest. Part of the
# documented interface. Halved or doubled, components of 2.5 to 10 % of the largest are affected.
MAX_SIZE_RATIO = 20


class AnalyzedGraph:
    """A graph, and how its edges are read if it is not in memory.

    Parameters
    ----------
    graph : GraphLike
        An EdgeSource is streamed; its `to_edge_list()` is in memory.
    n_edges : int, optional
        Size of the sparsifier of a streamed graph. Default: predicted for epsilon = 0.5.
    sparsifier : any graph, optional
        An existing sparsifier with the ids of the graph. With `n_edges` or `sparsifier`, graphs in
        memory are also streamed.
    random_state : int, Generator or None
    progress : bool or callable

    Attributes
    ----------
    source : EdgeList or EdgeSource
        The graph as batches of edges.
    in_memory : EdgeList
        The graph itself or, if it is streamed, its sparsifier. Its nodes are the rows of all
        results.
    is_streamed : bool
    progress : bool or callable

    Examples
    --------
    >>> path = AnalyzedGraph(EdgeList(tail=[0, 1], head=[1, 2]))
    >>> path.degrees, path.is_streamed
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
        if not source.is_materialized:
            raise InputError(
                "the degrees of a one-mode projection are unknown, because its edges are not "
                "enumerated: sparsify it, and analyze the sparsifier"
            )
        self.source = source
        self.progress = progress
        self._rng = np.random.default_rng(random_state)
        has_budget = n_edges is not None or sparsifier is not None
        self.is_streamed = has_budget or not isinstance(source, EdgeList)
        self.in_memory: EdgeList
        if isinstance(source, EdgeList) and not has_budget:
            self.in_memory = source
        else:
            budget = Budget(n_edges=n_edges, epsilon=None if has_budget else 0.5, keep=None)
            found = find_sparsifier(source, budget, sparsifier, self.new_seed(), progress)
            # Files differ in the order in which nodes appear.
            self.in_memory = found.in_id_order()

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.in_memory.n_nodes

    @property
    def ids(self) -> np.ndarray:
        """Id of each node."""
        return self.in_memory.ids

    @property
    def certificate(self) -> Certificate | None:
        """Certificate of a graph in memory that is a sparsifier, if it bounds L without a ridge."""
        certificate = None if self.is_streamed else self.in_memory.certificate
        if certificate is None or certificate.ridge or certificate.problem:
            return None
        return certificate

    def bounds_on(
        self, values: ArrayLike, quantity: str, *, largest: float = np.inf
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Bound values of the graph that was sparsified; (None, None) without a certificate.

        Parameters
        ----------
        values : array-like
        quantity : str
            Argument of `Certificate.bounds_on`.
        largest : float
            A value that the quantity never exceeds.
        """
        if self.certificate is None:
            return None, None
        lower, upper = self.certificate.bounds_on(values, quantity=quantity)
        return lower, np.minimum(upper, largest)

    def new_seed(self) -> int:
        """Return a seed for the next random step."""
        return int(self._rng.integers(2**63))

    def batches(self, description: str) -> Iterator[tuple]:
        """Yield all edges as (tail, head, weight), in one pass; `description` is for progress."""
        if not self.is_streamed:
            yield self.in_memory.tail, self.in_memory.head, self.in_memory.weight
            return
        with reporter(self.progress, description) as report:
            yield from self.laplacian.edges(report)

    @cached_property
    def laplacian(self) -> StreamedLaplacian:
        """The Laplacian as an operator, one pass per product."""
        return StreamedLaplacian(self.source, self.in_memory)

    @cached_property
    def degrees(self) -> np.ndarray:
        """Weighted degrees, in one pass."""
        if not self.is_streamed:
            return self.in_memory.degrees()
        with reporter(self.progress, "summing degrees") as report:
            return self.laplacian.degrees(report)

    @cached_property
    def components(self) -> np.ndarray:
        """Component number of each node. The sparsifier has the components of the graph."""
        return self.in_memory.components()

    def solver(self, *, tol: float, ridge: ArrayLike = 0.0) -> LaplacianSolver | StreamedSolver:
        """Return a solver of L + diag(ridge), in memory or with one pass per iteration."""
        if not self.is_streamed:
            return LaplacianSolver(
                self.in_memory, ridge=ridge, tol=tol, random_state=self.new_seed()
            )
        return StreamedSolver(
            self.source,
            sparsifier=self.in_memory,
            ridge=ridge,
            tol=tol,
            random_state=self.new_seed(),
            progress=self.progress,
        )

    def eigenpairs(
        self, k: int, *, normalized: bool, tol: float, nodes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest positive eigenvalues, and eigenvectors on all nodes.

        Parameters
        ----------
        k, normalized, tol
            Arguments of `smallest_eigenpairs`.
        nodes : ndarray of bool, optional
            Components of interest; the vectors are zero elsewhere. Default: all.
        """
        is_inside = np.ones(self.n_nodes, dtype=bool) if nodes is None else nodes
        if self.is_streamed:
            # Eigenvalues of small components are large: two spare pairs are enough in practice.
            n_spare = 0 if is_inside.all() else 2
            values, vectors = smallest_eigenpairs(
                self.source,
                k + n_spare,
                sparsifier=self.in_memory,
                normalized=normalized,
                tol=tol,
                random_state=self.new_seed(),
                progress=self.progress,
            )
            # A vector of another component has no weight inside.
            is_wanted = (vectors[is_inside] ** 2).sum(axis=0) > 0.5
            wanted = np.flatnonzero(is_wanted)[:k]
            return values[wanted], vectors[:, wanted] * is_inside[:, None]
        inside = np.flatnonzero(is_inside)
        values, inside_vectors = smallest_eigenpairs(
            induced_subgraph(self.in_memory, inside),
            k,
            normalized=normalized,
            tol=tol,
            random_state=self.new_seed(),
        )
        vectors = np.zeros((self.n_nodes, values.size))
        vectors[inside] = inside_vectors
        return values, vectors

    def large_components(self, max_components: int) -> np.ndarray:
        """Select the nodes of the largest components.

        Parameters
        ----------
        max_components : int

        Returns
        -------
        ndarray of bool, shape (n_nodes,)
            Components of a single node, and those with less than 1/20 of the nodes of the largest
            component, are not selected.
        """
        size = np.bincount(self.components, minlength=1)
        largest = np.argsort(-size, kind="stable")[:max_components]
        is_large = np.zeros(size.size, dtype=bool)
        is_large[largest] = (size[largest] > 1) & (MAX_SIZE_RATIO * size[largest] >= size.max())
        return is_large[self.components]


def induced_subgraph(graph: EdgeList, nodes: np.ndarray) -> EdgeList:
    """Return the edges within `nodes` (ascending numbers), which are renumbered 0, 1, ...

    >>> path = EdgeList(tail=[0, 1, 2], head=[1, 2, 3])
    >>> induced_subgraph(path, np.array([2, 3])).tail.tolist()
    [0]
    """
    if nodes.size == graph.n_nodes:
        return graph
    number = np.full(graph.n_nodes, -1)
    number[nodes] = np.arange(nodes.size)
    tail = number[graph.tail]
    head = number[graph.head]
    is_inside = (tail >= 0) & (head >= 0)
    return EdgeList.from_validated(
        tail[is_inside], head[is_inside], graph.weight[is_inside], nodes.size
    )


def on_nodes_of(graph: EdgeList, other: EdgeList) -> EdgeList:
    """Return `other` in the node numbering of `graph`; raise if `graph` lacks one of its ids.

    >>> graph = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy")])
    >>> on_nodes_of(graph, EdgeList.from_pairs([("cy", "ann")])).tail.tolist()
    [2]
    """
    tail, head = NodeMatching(graph).ends(other)
    return EdgeList.from_validated(tail, head, other.weight, graph.n_nodes, graph.node_ids)
