"""Deterministic graphs as streams, with known effective resistances and spectra.

Use them to test against exact answers at any size. Each function returns a `SyntheticSource`: a
stream of batches that is never in memory, and can be read more than once; `.to_edge_list()` returns
the graph itself. Edge e is a function of e alone, so that the stream does not depend on the batch
size. With unit weights, the effective resistance r between two nodes and the eigenvalues of the
Laplacian are

    path            r = |u - v|                         2 - 2 cos(pi k / n)
    cycle           r = k (n - k) / n, k = |u - v|      2 - 2 cos(2 pi k / n)
    star            r = 1 to the hub, 2 among leaves    0, 1 (n - 2 times), n
    complete        r = 2 / n                           0, n (n - 1 times)
    bipartite a, b  r = (a + b - 1) / (a b) on edges    0, a, b, a + b
    hypercube d     r = (2^d - 1) / (d 2^(d-1)) on edges   2 k, C(d, k) times
    barbell         r = 1 on the bridge                 -
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.sources.edge_source import EdgeSource
from graphsqueak.validation import check_count

Ends: TypeAlias = Callable[[int, int], tuple[np.ndarray, np.ndarray]]


class SyntheticSource(EdgeSource):
    """Stream of edges of weight 1 that are computed when they are read.

    Parameters
    ----------
    n_nodes, n_edges : int
        Numbers of nodes and of edges.
    ends : callable
        ends(start, stop) returns tail and head of edges start, ..., stop - 1. A source can be
        pickled if this can: a function of a module, or a `partial` of one, not a local function.
    batch_size : int
        Edges per batch; only the last one may be smaller.

    Examples
    --------
    >>> [batch.n_edges for batch in path(10, batch_size=4)]
    [4, 4, 1]
    """

    def __init__(
        self, n_nodes: int, n_edges: int, ends: Ends, *, batch_size: int = 1_000_000
    ) -> None:
        super().__init__()
        self.n_nodes = n_nodes
        self.n_edges = n_edges
        self.batch_size = check_count("batch_size", batch_size)
        self.ends = ends

    def _batches(self):
        for start in range(0, self.n_edges, self.batch_size):
            stop = min(start + self.batch_size, self.n_edges)
            tail, head = self.ends(start, stop)
            self.fraction_read = stop / self.n_edges
            yield EdgeList.from_validated(tail, head, np.ones(tail.size), self.n_nodes)

    def __repr__(self) -> str:
        return f"SyntheticSource(n_nodes={self.n_nodes}, n_edges={self.n_edges})"


def path(n_nodes: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return the path 0 - 1 - ... - (n_nodes - 1).

    Parameters
    ----------
    n_nodes : int
    batch_size : int
        Edges per batch; only the last one may be smaller.

    Examples
    --------
    >>> path(3).to_edge_list().head
    array([1, 2], dtype=int32)
    """
    check_count("n_nodes", n_nodes)
    return grid(1, n_nodes, batch_size=batch_size)


def cycle(n_nodes: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return the cycle 0 - 1 - ... - (n_nodes - 1) - 0.

    Parameters
    ----------
    n_nodes : int
        At least 3.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes, least=3)
    ends = partial(_cycle_ends, n_nodes)
    return SyntheticSource(n_nodes, n_nodes, ends, batch_size=batch_size)


def star(n_nodes: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return the star: node 0 joined to all others.

    Parameters
    ----------
    n_nodes : int
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes)
    ends = partial(_bipartite_ends, 1, n_nodes - 1)
    return SyntheticSource(n_nodes, n_nodes - 1, ends, batch_size=batch_size)


def complete(n_nodes: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return the complete graph: all pairs, in the order (1, 0), (2, 0), (2, 1), (3, 0), ...

    Parameters
    ----------
    n_nodes : int
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_nodes", n_nodes)
    n_edges = n_nodes * (n_nodes - 1) // 2
    return SyntheticSource(n_nodes, n_edges, _complete_ends, batch_size=batch_size)


def complete_bipartite(
    n_left: int, n_right: int, *, batch_size: int = 1_000_000
) -> SyntheticSource:
    """Return the graph of nodes 0, ..., n_left - 1, each joined to the n_right nodes after them.

    Parameters
    ----------
    n_left, n_right : int
        Nodes on each side.
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("n_left", n_left)
    check_count("n_right", n_right)
    ends = partial(_bipartite_ends, n_left, n_right)
    return SyntheticSource(n_left + n_right, n_left * n_right, ends, batch_size=batch_size)


def grid(n_rows: int, n_columns: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return a rectangular grid: first the edges along the rows, then those along the columns.

    Parameters
    ----------
    n_rows, n_columns : int
        Nodes along each side.
    batch_size : int
        Edges per batch; only the last one may be smaller.

    Examples
    --------
    >>> grid(2, 3).n_edges
    7
    """
    check_count("n_rows", n_rows)
    check_count("n_columns", n_columns)
    # Edges along the rows; the others are along the columns.
    n_across = n_rows * (n_columns - 1)
    ends = partial(_grid_ends, n_across, n_columns)
    n_nodes = n_rows * n_columns
    return SyntheticSource(
        n_nodes, n_across + (n_rows - 1) * n_columns, ends, batch_size=batch_size
    )


def barbell(
    clique_size: int, bridge_length: int = 1, *, batch_size: int = 1_000_000
) -> SyntheticSource:
    """Return two complete graphs joined by a path.

    Parameters
    ----------
    clique_size : int
        Nodes of each complete graph, at least 2.
    bridge_length : int
        Edges of the path.
    batch_size : int
        Edges per batch; only the last one may be smaller.

    Examples
    --------
    >>> barbell(3, 2)
    SyntheticSource(n_nodes=7, n_edges=8)
    """
    check_count("clique_size", clique_size, least=2)
    check_count("bridge_length", bridge_length)
    first_of_second = clique_size + bridge_length - 1
    clique = complete(clique_size)
    bridge = path(bridge_length + 1)
    # Each source with the number of its first node: the path joins the last node of the first
    # clique to the first node of the second one.
    parts = [(clique, 0), (clique, first_of_second), (bridge, clique_size - 1)]
    n_nodes = first_of_second + clique_size
    return joined(n_nodes, parts, batch_size=batch_size)


def joined(
    n_nodes: int, parts: list[tuple[SyntheticSource, int]], *, batch_size: int
) -> SyntheticSource:
    """Return a graph with the edges of all parts, one part after the other.

    Parameters
    ----------
    n_nodes : int
    parts : list of (SyntheticSource, int)
        Sources, each with the number that its first node has in the graph.
    batch_size : int
        Edges per batch; only the last one may be smaller.

    Examples
    --------
    >>> joined(4, [(path(2), 0), (path(2), 2)], batch_size=10).to_edge_list().tail
    array([0, 2], dtype=int32)
    """
    n_edges = sum(source.n_edges for source, _ in parts)
    return SyntheticSource(n_nodes, n_edges, partial(_joined_ends, parts), batch_size=batch_size)


def hypercube(dimension: int, *, batch_size: int = 1_000_000) -> SyntheticSource:
    """Return the graph of 2^dimension nodes whose binary numbers differ in one digit.

    Parameters
    ----------
    dimension : int
    batch_size : int
        Edges per batch; only the last one may be smaller.
    """
    check_count("dimension", dimension, least=0)
    # Each digit has an edge per number of the other digits.
    half = 2**dimension // 2
    ends = partial(_hypercube_ends, half)
    return SyntheticSource(2**dimension, dimension * half, ends, batch_size=batch_size)


def _cycle_ends(n_nodes, start, stop):
    tail = np.arange(start, stop)
    return tail, (tail + 1) % n_nodes


def _bipartite_ends(n_left, n_right, start, stop):
    left, right = np.divmod(np.arange(start, stop), n_right)
    return left, n_left + right


def _grid_ends(n_across, n_columns, start, stop):
    edge = np.arange(start, stop)
    row, column = np.divmod(np.minimum(edge, n_across - 1), max(n_columns - 1, 1))
    is_across = edge < n_across
    tail = np.where(is_across, row * n_columns + column, edge - n_across)
    return tail, tail + np.where(is_across, 1, n_columns)


def _joined_ends(parts, start, stop):
    ends = []
    for source, first_node in parts:
        # An empty range if this part has none of the edges.
        within = np.clip((start, stop), 0, source.n_edges)
        ends.append(np.add(source.ends(*within), first_node))
        start -= source.n_edges
        stop -= source.n_edges
    return np.concatenate(ends, axis=1)


def _hypercube_ends(half, start, stop):
    # Insert a zero at the digit: bits above it are shifted by one, bits below it stay.
    digit, rest = np.divmod(np.arange(start, stop), half)
    bit = np.left_shift(1, digit)
    tail = (rest // bit) * (2 * bit) + rest % bit
    return tail, tail + bit


def _complete_ends(start, stop):
    """Return pair number e of (1, 0), (2, 0), (2, 1), ...: tail (tail - 1) / 2 + head = e."""
    edge = np.arange(start, stop)
    tail = ((1 + np.sqrt(8.0 * edge + 1)) / 2).astype(np.int64)
    # The square root is rounded: the tail may be off by one.
    tail -= tail * (tail - 1) // 2 > edge
    tail += tail * (tail + 1) // 2 <= edge
    return tail, edge - tail * (tail - 1) // 2
