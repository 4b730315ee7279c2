"""Cut numbered edges into batches of a fixed size, dropping what says nothing.

Readers hand over chunks as they come (a block of lines, a row group); consumers get batches that
depend on the stream of edges and on `batch_size` alone. Self-loops and edges of weight zero are
dropped and counted; their nodes stay.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.graph.edge_list import EdgeList

__all__ = ["BYTES_PER_NODE", "Batcher", "Chunk"]

BYTES_PER_NODE = 40  # of a reader: its id, twice, and its place in the table
_INT32_MAX = np.iinfo(np.int32).max
_NOTHING = np.zeros(0)


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


class Batcher:
    """Collect numbered edges and give out full batches.

    Parameters
    ----------
    batch_size : int
        Edges per batch; only the last one may be smaller.
    ids : object
        Handed on to every batch.

    Examples
    --------
    >>> batcher = Batcher(2, ids=None)
    >>> nodes = np.array([[0, 1], [1, 1], [1, 2], [0, 2]])
    >>> [batch.n_nodes for batch in batcher.add(nodes, None)]
    [3]
    >>> batcher.rest().head, batcher.n_self_loops
    (array([2], dtype=int32), 1)
    """

    def __init__(self, batch_size, ids):
        self.n_nodes = self.n_self_loops = self.n_zero_weights = 0
        self._size, self._ids = batch_size, ids
        self._ones = np.ones(0)
        self._open()

    def _open(self):
        fits = self.n_nodes + 2 * self._size <= _INT32_MAX
        index = np.int32 if fits else np.int64
        self._tail = np.empty(self._size, dtype=index)
        self._head = np.empty(self._size, dtype=index)
        self._weight = None
        self._n_filled = 0

    def add(self, nodes, weight):
        """Append edges (n, 2) and yield every batch that is full and has a successor."""
        place = 0
        while True:
            place = self._fill(nodes, weight, place)
            if place == len(nodes):
                return
            yield self._close()

    def _fill(self, nodes, weight, place):
        if weight is not None and self._weight is None:
            self._weight = np.empty(self._size)
        place, self._n_filled, n_loops, n_zeros, self.n_nodes = _fill(
            nodes,
            _NOTHING if weight is None else weight,
            place,
            self._tail,
            self._head,
            _NOTHING if weight is None else self._weight,
            self._n_filled,
            self.n_nodes,
        )
        self.n_self_loops += n_loops
        self.n_zero_weights += n_zeros
        return place

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
        batch = EdgeList.from_clean(
            self._tail[:n], self._head[:n], weight[:n], self.n_nodes, self._ids
        )
        self._open()
        return batch


@numba.njit(cache=True, nogil=True)
def _fill(nodes, weight, place, tail, head, filled_weight, n_filled, n_nodes):
    """Copy edges from `place` on until one is left that no longer fits."""
    weighted = weight.size > 0
    n_loops = n_zeros = 0
    while place < nodes.shape[0]:
        u, v = nodes[place, 0], nodes[place, 1]
        if u == v:
            n_loops += 1
        elif weighted and weight[place] == 0:
            n_zeros += 1
        elif n_filled == tail.size:
            break
        else:
            tail[n_filled], head[n_filled] = u, v
            if weighted:
                filled_weight[n_filled] = weight[place]
            n_filled += 1
        n_nodes = max(n_nodes, u + 1, v + 1)
        place += 1
    return place, n_filled, n_loops, n_zeros, n_nodes
