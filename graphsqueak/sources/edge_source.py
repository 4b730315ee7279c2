"""A stream of batches of edges that can be read again and counts what it drops.

Every source of edges (a file, a synthetic graph, the neighbors of points) subclasses `EdgeSource`
and writes one generator, `_batches`. Whoever consumes edges needs only

    for batch in source: ...

where each batch is an `EdgeList` over the nodes seen so far.

A source whose edges come in chunks of any length (a block of lines, a row group) hands them to a
`Batcher`, so that its batches depend on the stream of edges and on `batch_size` alone. Self-loops
and edges of weight zero are dropped and counted there; their nodes stay.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import first_ids
from graphsqueak.graph.timed_edges import TimedEdges
from graphsqueak.nodes.numbering import ids_between
from graphsqueak.system.kernels import njit_cached

__all__ = [
    "BYTES_PER_NODE",
    "Batcher",
    "Chunk",
    "EdgeSource",
    "Opened",
]

BYTES_PER_NODE = 40  # of a reader: its id, twice, and its slot in the table
_NOTHING = np.zeros(0)


class EdgeSource:
    """A re-iterable stream of edges; subclasses write `_batches`.

    Each iteration is one pass and yields the same batches with the same numbering. The counters
    tell of the current pass, up to where it has come; run one pass at a time to trust them.

    Attributes
    ----------
    n_nodes : int
        Nodes seen so far, or all of them where the source knows beforehand.
    n_edges_read : int
        Edges handed out: every line of a file is one, so parallel edges count singly.
    n_self_loops, n_zero_weights, n_bad_lines : int
        What was dropped. A self-loop of weight zero counts as a self-loop.
    fraction_read : float
        Share of the source that is behind us, in [0, 1]; NaN where its size is unknown.
    is_rereadable : bool
        False for a pipe or a reader of record batches, which can be read once.
    is_materialized : bool
        False if the edges are a sample of a graph that is never built. Such a source has
        `multiply`, the exact product with its matrix, and `sample_for`, another sample.
    is_exact : bool
        Whether the edges are all edges of the graph.
    id_kind : {"integer", "text"}
        What `ids` holds.

    Examples
    --------
    >>> class Star(EdgeSource):
    ...     def _batches(self) -> Iterator[EdgeList]:
    ...         for leaf in (1, 2, 3):
    ...             yield EdgeList.from_validated([0], [leaf], [1.0], n_nodes=leaf + 1)
    >>> star = Star()
    >>> [batch.n_nodes for batch in star]
    [2, 3, 4]
    >>> star.to_edge_list().degrees()
    array([3., 1., 1., 1.])
    >>> star.n_edges_read
    3
    """

    is_rereadable = True
    is_materialized = True
    id_kind = "integer"

    def __init__(self) -> None:
        self.n_nodes = 0
        self._ids: Any = None
        self._reset()

    @property
    def is_exact(self) -> bool:
        """Whether the edges are all edges of the graph."""
        return True

    def _reset(self) -> None:
        self.n_edges_read = self.n_self_loops = self.n_zero_weights = self.n_bad_lines = 0
        self.fraction_read = 0.0

    def __iter__(self) -> Iterator[EdgeList]:
        self._reset()
        for batch in self._batches():
            self.n_nodes = batch.n_nodes
            self.n_edges_read += batch.n_edges
            yield batch
        self.fraction_read = 1.0

    def _batches(self):
        """Yield one `EdgeList` after the other.

        Nodes and edges are counted here in the base class. What was dropped, `fraction_read` and
        `_ids` (an array or alike, None for 0, ..., n_nodes - 1) are the subclass's to set. At least
        one batch is yielded, an empty one if there are no edges.
        """
        raise NotImplementedError

    def expect_seconds(self) -> None:
        """Refuse times that are not in seconds, as spans such as 7d are; for sources of files."""

    @property
    def ids(self) -> np.ndarray:
        """The user's own name of each node seen so far, shape (n_nodes,)."""
        return self.ids_between(0, self.n_nodes)

    def ids_between(self, start: int, stop: int) -> np.ndarray:
        """The ids of nodes start, ..., stop - 1, without looking at the others.

        Parameters
        ----------
        start, stop : int
        """
        return ids_between(self._ids, start, stop)

    def to_edge_list(self) -> EdgeList:
        """Read everything into one `EdgeList` in memory."""
        parts = [EdgeList.from_validated([], [], [], n_nodes=0), *self]
        tail = np.concatenate([batch.tail for batch in parts])
        head = np.concatenate([batch.head for batch in parts])
        weight = np.concatenate([batch.weight for batch in parts])
        ids = first_ids(self._ids, self.n_nodes)
        edges = EdgeList.from_validated(
            tail,
            head,
            weight,
            self.n_nodes,
            ids,
            n_self_loops=self.n_self_loops,
            n_zero_weights=self.n_zero_weights,
        )
        return edges.in_id_order()


class Chunk(NamedTuple):
    """Edges as a reader delivers them, before their nodes are numbered.

    `ends` is (n, 2) of integer ids (uint64 ones as int64 of the same bits), or (n, 4) of start and
    stop of the source's and the target's text in `text`. `nodes` are ids to number first.
    """

    ends: np.ndarray
    weight: np.ndarray | None = None
    text: np.ndarray | None = None
    nodes: np.ndarray | None = None
    n_bad_lines: int = 0
    fraction_read: float = 0.0
    time: np.ndarray | None = None
    where: Callable[[int], str] | None = None  # in what line or row an edge is, where it has a time
    has_dates: bool = False  # whether the times were written as dates


class Opened(NamedTuple):
    """A file at its beginning: how it is understood, and the chunks to come.

    `columns` are the names, or numbers, of source, target and weight; `kind` is None for a file
    without data. Without its chunks, it is what the first file, by `name`, settles for all.
    """

    kind: str | None
    is_weighted: bool
    chunks: Iterator[Chunk] | None
    columns: tuple = ()
    remarks: tuple = ()
    name: str = ""
    time: str | int | None = None  # the column of times


class Batcher:
    """Collect numbered edges and give out full batches.

    Parameters
    ----------
    batch_size : int
        Edges per batch; only the last one may be smaller.
    ids : object
        Handed on to every batch.
    largest_index : int
        Up to this number of nodes their numbers are int32.

    Examples
    --------
    >>> batcher = Batcher(2, ids=None)
    >>> nodes = np.array([[0, 1], [1, 1], [1, 2], [0, 2]])
    >>> [batch.n_nodes for batch in batcher.add(nodes, None)]
    [3]
    >>> batcher.rest().head, batcher.n_self_loops
    (array([2], dtype=int32), 1)
    """

    def __init__(self, batch_size, ids, *, largest_index=2**31 - 1):
        self.n_nodes = self.n_self_loops = self.n_zero_weights = 0
        self._size, self._ids, self._largest_index = batch_size, ids, largest_index
        self._ones = np.ones(0)
        self._open()

    def _open(self):
        fits = self.n_nodes + 2 * self._size <= self._largest_index
        index = np.int32 if fits else np.int64
        self._tail = np.empty(self._size, dtype=index)
        self._head = np.empty(self._size, dtype=index)
        self._weight = self._time = None
        self._n_filled = 0

    def add(self, nodes, weight, time=None):
        """Append edges (n, 2) and yield every batch that is full and has a successor."""
        cursor = 0
        while True:
            cursor = self._fill(nodes, weight, time, cursor)
            if cursor == len(nodes):
                return
            yield self._close()

    def _fill(self, nodes, weight, time, cursor):
        if weight is not None and self._weight is None:
            self._weight = np.empty(self._size)
        if time is not None and self._time is None:
            self._time = np.empty(self._size)
        cursor = self._copy_clean(nodes, weight, time, cursor)
        if cursor == len(nodes):
            return cursor
        cursor, self._n_filled, n_loops, n_zeros, self.n_nodes = _fill(
            nodes,
            _NOTHING if weight is None else weight,
            _NOTHING if time is None else time,
            cursor,
            self._tail,
            self._head,
            _NOTHING if weight is None else self._weight,
            _NOTHING if time is None else self._time,
            self._n_filled,
            self.n_nodes,
        )
        self.n_self_loops += n_loops
        self.n_zero_weights += n_zeros
        return cursor

    def _copy_clean(self, nodes, weight, time, cursor):
        """Copy as many edges as fit, if none of them is to be dropped; returns where they end."""
        new = slice(cursor, min(cursor + self._size - self._n_filled, len(nodes)))
        n_new = new.stop - cursor
        tail, head = nodes[new].T
        if n_new <= 0 or (tail == head).any() or (weight is not None and not weight[new].all()):
            return cursor
        own = slice(self._n_filled, self._n_filled + n_new)
        self._tail[own], self._head[own] = tail, head
        if weight is not None:
            self._weight[own] = weight[new]
        if time is not None:
            self._time[own] = time[new]
        self.n_nodes = max(self.n_nodes, int(tail.max()) + 1, int(head.max()) + 1)
        self._n_filled += n_new
        return new.stop

    def rest(self):
        """The last, smaller batch; it may be empty."""
        return self._close()

    def _close(self):
        n = self._n_filled
        weight = self._weight
        if weight is None:
            if self._ones.size < n:
                self._ones = np.ones(n)
            weight = self._ones
        batch = EdgeList.from_validated(
            self._tail[:n], self._head[:n], weight[:n], self.n_nodes, self._ids
        )
        if self._time is not None:
            batch = TimedEdges.from_edges(batch, self._time[:n])
        self._open()
        return batch


@njit_cached
def _fill(nodes, weight, time, cursor, tail, head, filled_weight, filled_time, n_filled, n_nodes):
    """Copy edges from `cursor` on until one is left that no longer fits."""
    weighted, timed = weight.size > 0, time.size > 0
    n_loops = n_zeros = 0
    while cursor < nodes.shape[0]:
        u, v = nodes[cursor, 0], nodes[cursor, 1]
        if u == v:
            n_loops += 1
        elif weighted and weight[cursor] == 0:
            n_zeros += 1
        elif n_filled == tail.size:
            break
        else:
            tail[n_filled], head[n_filled] = u, v
            if weighted:
                filled_weight[n_filled] = weight[cursor]
            if timed:
                filled_time[n_filled] = time[cursor]
            n_filled += 1
        n_nodes = max(n_nodes, u + 1, v + 1)
        cursor += 1
    return cursor, n_filled, n_loops, n_zeros, n_nodes
