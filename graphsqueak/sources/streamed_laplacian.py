"""Products with the Laplacian L_G of a graph that is streamed from its source.

Certificates, eigenvectors and solves of a graph that does not fit into memory need L_G X for blocks
of vectors X: each product is one pass over the edges. Products are in the node numbers of another
graph, the sparsifier, whose nodes are matched by id. The first pass also finds the connected
components. Every pass counts the edges and computes a checksum that does not depend on their order,
since all passes must have the same edges.

A source whose graph is never built (`is_materialized` is False, such as a projection) has a product
of its own, which is used instead. It is the product with the whole graph, not with the sampled
edges that the source yields.
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

# A block X up to this size is summed in four partial sums, which then fit into the cache. A larger
# X has two, to take less memory. Halved or doubled, blocks of 2 to 8 MiB are summed by two instead
# of four threads, or take two blocks more.
MAX_BYTES_FOR_FOUR_PARTS = 2**22

# Edges per node after which float32 partial sums are added to the float64 total: the rounding error
# of a sum grows with its number of terms. Halved or doubled, so does its bound.
MAX_EDGES_PER_NODE_IN_FLOAT32 = 64


class StreamedLaplacian:
    """The Laplacian of a stream as an operator on the nodes of `sparsifier`.

    Every batch is split into a fixed number of parts with a partial sum each, so that the result
    does not depend on the number of threads.

    Parameters
    ----------
    source : EdgeSource or EdgeList
    sparsifier : EdgeList

    Attributes
    ----------
    n_passes : int
        Number of passes over the source.
    n_edges : int or None
        Edges per pass; None before the first pass, unless the graph is in memory.
    is_in_memory : bool
        Whether a product reads nothing from the source.
    is_materialized : bool
        False if the source has a product of its own, see `EdgeSource`.
    component : ndarray or None
        Smallest node of the component of every node; None before the first pass.
    fingerprint : tuple of two ints, or None
        Number of edges and checksum of a pass, which all later passes must have. None before the
        first pass, and for a graph in memory, which does not change.

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
        self.is_materialized = source.is_materialized
        self.is_in_memory = isinstance(source, EdgeList)
        self.n_edges = source.n_edges if isinstance(source, EdgeList) else None
        self.n_passes = 0
        self.component: np.ndarray | None = None
        self.fingerprint: tuple | None = None
        self._n_nodes = sparsifier.n_nodes
        self._matching = NodeMatching(sparsifier)
        self._parent = make_sets(sparsifier.n_nodes)
        # The nodes of a source with a product of its own, as nodes of the sparsifier.
        self._source_nodes: np.ndarray | None = None

    def multiply(self, X: np.ndarray, report: Callable | None = None) -> np.ndarray:
        """Return L_G X, in one pass over the source.

        A float32 X is multiplied in float32, which takes half the time, and summed in float64.
        """
        if not self.is_materialized:
            return self._multiply_by_source(X, report)
        # One partial sum per part, so that threads do not write to the same numbers.
        n_parts = 4 if X.nbytes <= MAX_BYTES_FOR_FOUR_PARTS else 2
        partial = np.zeros((n_parts, *X.shape), dtype=X.dtype)
        total = np.zeros(X.shape)
        n_pending = 0
        for tail, head, weight in self.edges(report):
            bounds = np.linspace(0, tail.size, n_parts + 1).astype(np.int64)
            work = tail.size * X.shape[1]
            weight = weight.astype(X.dtype, copy=False)
            run_kernel(_add_products, work, bounds, tail, head, weight, X, partial)
            # A float32 sum is moved to the float64 total before it has too many terms.
            n_pending += tail.size
            is_full = n_pending >= MAX_EDGES_PER_NODE_IN_FLOAT32 * X.shape[0]
            if X.dtype == np.float32 and is_full:
                for part in partial:
                    total += part
                partial[:] = 0
                n_pending = 0
        for part in partial:
            total += part
        return total

    def degrees(self, report: Callable | None = None) -> np.ndarray:
        """Return the weighted degrees, in one pass over the source."""
        degree = np.zeros(self._n_nodes)
        for tail, head, weight in self.edges(report):
            degree += np.bincount(tail, weight, self._n_nodes)
            degree += np.bincount(head, weight, self._n_nodes)
        return degree

    def to_edge_list(self, report: Callable | None = None) -> EdgeList:
        """Return the graph on the nodes of the sparsifier, in one pass over the source."""
        tail, head, weight = zip(*self.edges(report), strict=True)
        return EdgeList.from_validated(
            np.concatenate(tail), np.concatenate(head), np.concatenate(weight), self._n_nodes
        )

    def to_dense(self, report: Callable | None = None) -> np.ndarray:
        """Return L_G as an array, in one pass over the source."""
        if not self.is_materialized:
            return self._multiply_by_source(np.eye(self._n_nodes), report)
        matrix = np.zeros((self._n_nodes, self._n_nodes))
        for tail, head, weight in self.edges(report):
            _add_edges(tail, head, weight, matrix)
        return matrix

    def edges(self, report: Callable | None = None) -> Iterator[tuple]:
        """Yield tail, head and weight of batches of edges, on the nodes of the sparsifier."""
        n_edges = 0
        checksum = 0
        for batch in self._source.batches():
            tail, head = self._matching.ends(batch)
            # A graph in memory does not change between passes.
            if not self.is_in_memory:
                checksum = (checksum + int(_checksum(tail, head, batch.weight))) % 2**64
            if self.component is None:
                union_edges(self._parent, tail, head)
            n_edges += batch.n_edges
            if report is not None:
                report(n_edges, self._source.fraction_read)
            yield tail, head, batch.weight
        if not self.is_in_memory:
            self.fingerprint = check_same_edges(self.fingerprint, (n_edges, checksum))
        self.n_edges = n_edges
        self.n_passes += 1
        if self.component is None:
            self.component = find_all(self._parent)

    def _multiply_by_source(self, X, report):
        """Return the source's own product; nodes that it does not have are isolated."""
        source: Any = self._source
        if self._source_nodes is None:
            # Reads the source, if nothing has; only then are its nodes known.
            # Its product costs one step per pair, and reads nothing from now.
            self.n_edges = source.n_pairs
            self.is_in_memory = True
            names = EdgeList.from_validated([], [], [], source.n_nodes, source.ids)
            self._source_nodes = self._matching.nodes(names)
            first = self._source_nodes[source.components()]
            union_edges(self._parent, self._source_nodes, first)
            self.component = find_all(self._parent)
        # Often the sparsifier has the same nodes, and nothing needs to be copied.
        nodes = self._source_nodes
        if np.array_equal(nodes, np.arange(self._n_nodes)):
            product = source.multiply(X)
        else:
            product = np.zeros(X.shape)
            product[nodes] = source.multiply(X[nodes])
        self.n_passes += 1
        if report is not None:
            report(source.n_pairs, 1.0)
        return product


def check_same_edges(before: tuple | None, now: tuple) -> tuple:
    """Return the fingerprint of a pass; an InputError if an earlier pass had another one.

    >>> check_same_edges((4, 7), (5, 9))
    Traceback (most recent call last):
    graphsqueak.errors.InputError: the input had 4 edges in an earlier pass and has 5 now; ...
    """
    if before is not None and before != now:
        change = f"{before[0]:,} edges in an earlier pass and has {now[0]:,} now"
        if before[0] == now[0]:
            change = f"other edges in an earlier pass, as many as now, {now[0]:,}"
        raise InputError(
            f"the input had {change}; it must not change while it is read: read a copy"
        )
    return now


@parallel_njit
def _add_products(bounds, tail, head, weight, X, partial):
    for part in numba.prange(bounds.size - 1):
        sums = partial[part]
        for e in range(bounds[part], bounds[part + 1]):
            u = tail[e]
            v = head[e]
            w = weight[e]
            for k in range(X.shape[1]):
                # (L x)_u = sum_v w (x_u - x_v)
                flow = w * (X[u, k] - X[v, k])
                sums[u, k] += flow
                sums[v, k] -= flow


@njit_cached
def _add_edges(tail, head, weight, matrix):
    for e in range(tail.size):
        u = tail[e]
        v = head[e]
        w = weight[e]
        matrix[u, u] += w
        matrix[v, v] += w
        matrix[u, v] -= w
        matrix[v, u] -= w


@njit_cached
def _checksum(tail, head, weight):
    """Return a sum over the edges, which does not depend on their order or on batches."""
    bits = weight.view(np.uint64)
    total = np.uint64(0)
    for e in range(tail.size):
        # Unsigned sums wrap around, in any order to the same number.
        total += mix64((np.uint64(tail[e]) << np.uint64(32)) ^ mix64(np.uint64(head[e]) ^ bits[e]))
    return total
