"""L_G X for a graph that is read from its source, edge by edge, in one pass.

The product is taken in the numbering of another graph, the sparsifier: nodes are matched by id.
The first pass looks, in addition, for the connected components. Every pass counts its edges and
adds up a checksum of them, whatever their order: the passes must see one graph.

A source that knows a product of its own (`multiply` and `components`: a table of pairs) is asked
for that instead. It is the product with the graph that the source stands for, not with the edges
that it hands out.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, make_sets, union_edges
from graphsqueak.nodes.numbering import NodeMatching
from graphsqueak.randomness import mix64
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.system.kernels import njit_cached, parallel_njit, run_kernel

__all__ = ["StreamedLaplacian", "check_same_edges"]

_CACHE_BYTES = 2**22  # a sum that should stay in the cache beside three others
_MOST_TERMS = 64  # per node, in a float32 sum


class StreamedLaplacian:
    """The Laplacian of a stream as an operator on the nodes of `sparsifier`.

    Every pass cuts each batch into a fixed number of parts that are added up apart from each other,
    so that the sum does not depend on the number of threads.

    Attributes
    ----------
    n_passes, n_edges : int
        How often the source has been read, and how many edges a pass has; None before the first
        pass, unless the graph is in memory.
    is_held : bool
        Whether the graph is in memory, so that a pass reads nothing.
    is_materialized : bool
        False if the source has a product of its own, see `EdgeSource`.
    component : ndarray or None
        After the first pass: the smallest node of each node's component.
    fingerprint : tuple of two ints, or None
        Edges of a pass and their checksum, which every later pass must have; None before the first
        pass, and for a graph in memory, which does not change.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList.from_pairs([("ann", "bob"), ("bob", "cy", 2.0)])
    >>> other = EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")])
    >>> StreamedLaplacian(path, other).multiply(np.array([[1.0], [0.0], [0.0]]))
    array([[ 2.],
           [-2.],
           [ 0.]])
    """

    def __init__(self, source: EdgeSource | EdgeList, sparsifier: EdgeList) -> None:
        self._source = source
        self.is_held = isinstance(source, EdgeList)
        self.is_materialized = source.is_materialized
        self._matching = NodeMatching(sparsifier)
        self._parent = make_sets(sparsifier.n_nodes)
        self.n_passes = 0
        self.n_edges = source.n_edges if isinstance(source, EdgeList) else None
        self.component = self._node = None
        self.fingerprint: tuple | None = None

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """L_G X, in one pass over the source.

        A float32 X is multiplied in float32, twice as fast; the sums are moved to float64 before
        many terms have come together.
        """
        if not self.is_materialized:
            return self._ask_source(X, report)
        n_parts = 4 if X.nbytes <= _CACHE_BYTES else 2
        partial = np.zeros((n_parts, *X.shape), dtype=X.dtype)
        is_single = X.dtype == np.float32
        total, n_waiting = np.zeros(X.shape if is_single else 0), 0
        for tail, head, weight in self.edges(report):
            bounds = np.linspace(0, tail.size, n_parts + 1).astype(np.int64)
            work = tail.size * X.shape[1]
            weight = weight.astype(X.dtype, copy=False)
            run_kernel(_add_products, work, bounds, tail, head, weight, X, partial)
            n_waiting += tail.size
            if is_single and n_waiting >= _MOST_TERMS * X.shape[0]:
                _add_up(partial, total)
                partial[:], n_waiting = 0, 0
        if is_single:
            _add_up(partial, total)
            return total
        _add_up(partial[1:], partial[0])
        return partial[0].copy()  # a view would hold all parts

    def degrees(self, report: Callable | None = None) -> np.ndarray:
        """Weighted degrees, in one pass over the source."""
        total = np.zeros(self._parent.size)
        for tail, head, weight in self.edges(report):
            for ends in (tail, head):
                total += np.bincount(ends, weight, total.size)
        return total

    def to_edge_list(self, report: Callable | None = None) -> EdgeList:
        """The graph itself, on the nodes of the sparsifier, in one pass over the source."""
        columns = zip(*self.edges(report), strict=True)
        tail, head, weight = map(np.concatenate, columns)
        return EdgeList.from_validated(tail, head, weight, self._parent.size)

    def to_dense(self, report: Callable | None = None) -> np.ndarray:
        """L_G as an array, in one pass over the source."""
        n_nodes = self._parent.size
        if not self.is_materialized:
            return self._ask_source(np.eye(n_nodes), report)
        matrix = np.zeros((n_nodes, n_nodes))
        for tail, head, weight in self.edges(report):
            _add_edges(tail, head, weight, matrix)
        return matrix

    def _ask_source(self, X, report):
        """L X by the source itself; where it does not name a node of ours, that node is alone."""
        source: Any = self._source
        self.n_edges, self.is_held = source.n_pairs, True
        if self.component is None or self._node is None:
            names = EdgeList.from_validated([], [], [], source.n_nodes, source.ids)
            node = self._node = self._matching.nodes(names)
            self._is_same = np.array_equal(node, np.arange(self._parent.size))
            union_edges(self._parent, node, node[source.components()])
            self.component = find_all(self._parent)
        if self._is_same:
            product = source.multiply(X)
        else:
            product = np.zeros(X.shape)
            product[self._node] = source.multiply(X[self._node])
        self.n_passes += 1
        if report is not None:
            report(source.n_pairs, 1.0)
        return product

    def edges(self, report: Callable | None = None) -> Iterator[tuple]:
        """One pass: the ends of all edges as nodes of the sparsifier, and their weights."""
        n_edges, checksum = 0, 0
        for batch in self._source:
            tail, head = self._matching.ends(batch)
            if not self.is_held:
                checksum = (checksum + int(_checksum(tail, head, batch.weight))) % 2**64
            if self.component is None:
                union_edges(self._parent, tail, head)
            n_edges += batch.n_edges
            if report is not None:
                report(n_edges, self._source.fraction_read)
            yield tail, head, batch.weight
        if not self.is_held:
            self.fingerprint = check_same_edges(self.fingerprint, (n_edges, checksum))
        self.n_edges, self.n_passes = n_edges, self.n_passes + 1
        if self.component is None:
            self.component = find_all(self._parent)


def _add_up(parts, total):
    """Add to `total`, part after part, without another array."""
    for part in parts:
        total += part


def check_same_edges(before: tuple | None, now: tuple) -> tuple:
    """The fingerprint of a pass; an InputError if an earlier pass had another.

    >>> check_same_edges((4, 7), (5, 9))
    Traceback (most recent call last):
    graphsqueak.errors.InputError: the input had 4 edges in an earlier pass and has 5 now; ...
    """
    if before not in (None, now):
        said = f"{before[0]:,} edges in an earlier pass and has {now[0]:,} now"
        if before[0] == now[0]:
            said = f"other edges in an earlier pass, as many as now, {now[0]:,}"
        raise InputError(f"the input had {said}; it must not change while it is read: read a copy")
    return now


@parallel_njit
def _add_products(bounds, tail, head, weight, X, partial):
    for part in numba.prange(bounds.size - 1):
        sums = partial[part]
        for e in range(bounds[part], bounds[part + 1]):
            u, v, w = tail[e], head[e], weight[e]
            for k in range(X.shape[1]):
                flow = w * (X[u, k] - X[v, k])
                sums[u, k] += flow
                sums[v, k] -= flow


@njit_cached
def _add_edges(tail, head, weight, matrix):
    for e in range(tail.size):
        u, v, w = tail[e], head[e], weight[e]
        matrix[u, u] += w
        matrix[v, v] += w
        matrix[u, v] -= w
        matrix[v, u] -= w


@njit_cached
def _checksum(tail, head, weight):
    """A sum over the edges, so that neither their order nor the batches matter."""
    bits = weight.view(np.uint64)
    total = np.uint64(0)
    for e in range(tail.size):
        total += mix64((np.uint64(tail[e]) << np.uint64(32)) ^ mix64(np.uint64(head[e]) ^ bits[e]))
    return total
