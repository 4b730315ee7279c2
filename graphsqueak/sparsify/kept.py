"""The edges that a stream keeps: columns that grow, and parallel edges made one."""

from typing import NamedTuple

import numba
import numpy as np

__all__ = ["Kept", "KeptBuffer", "coalesced"]


class Kept(NamedTuple):
    """Kept edges, each of `copies` equal parts that are thinned apart.

    `pinned` ones belong to the spanning forest and are never thinned.
    """

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    copies: np.ndarray
    pinned: np.ndarray

    def select(self, chosen):
        """The edges of an index or slice."""
        return Kept(*(column[chosen] for column in self))


class KeptBuffer:
    """`Kept` with room at the end, so that appending is cheap.

    >>> buffer = KeptBuffer()
    >>> two = (np.array([0, 1]), np.array([1, 2]), np.array([2.0, 0.0]), np.ones(2, np.int32))
    >>> buffer.append(Kept(*two, np.zeros(2, bool)))
    >>> buffer.edges().weight
    array([2.])
    """

    def __init__(self, edges=None):
        kinds = (np.int32, np.int32, np.float64, np.int32, np.bool_)
        self._columns = Kept(*(np.zeros(0, kind) for kind in kinds)) if edges is None else edges
        self.size = self._columns.tail.size

    def append(self, edges):
        """Add those of positive weight."""
        self._reserve(self.size + edges.tail.size)
        self.size = _append(edges, self._columns, self.size)

    def edges(self):
        """What is there, as views."""
        return self._columns.select(slice(0, self.size))

    def _reserve(self, n_edges):
        if n_edges > self._columns.tail.size:
            room = max(n_edges, self._columns.tail.size * 3 // 2)
            grown = Kept(*(np.empty(room, column.dtype) for column in self._columns))
            for new, old in zip(grown, self._columns, strict=True):
                new[: self.size] = old[: self.size]
            self._columns = grown


def coalesced(edges, n_nodes, *, n_copies=1):
    """Parallel edges summed, with at most `n_copies` equal parts; tail < head, sorted by tail.

    An edge is pinned if any of those it is made of was.

    >>> pinned = np.array([True, False])
    >>> twice = Kept(np.array([1, 0]), np.array([0, 1]), np.ones(2), np.ones(2, int), pinned)
    >>> one = coalesced(twice, 2)
    >>> one.weight, one.pinned
    (array([2.]), array([ True]))
    """
    columns, size = _coalesce(edges, n_nodes, n_copies)
    return columns.select(slice(0, size))


@numba.njit(cache=True, nogil=True)
def _append(edges, columns, size):
    for e in range(edges.tail.size):
        if edges.weight[e] > 0:
            columns.tail[size] = edges.tail[e]
            columns.head[size] = edges.head[e]
            columns.weight[size] = edges.weight[e]
            columns.copies[size] = edges.copies[e]
            columns.pinned[size] = edges.pinned[e]
            size += 1
    return size


@numba.njit(cache=True, nogil=True)
def _coalesce(edges, n_nodes, n_copies):
    """Bucket the edges by their lower node; `slot[v]` is where (u, v) stands, if already there."""
    tail, head, weight, copies, pinned = edges
    start = np.zeros(n_nodes + 1, dtype=np.int64)
    for e in range(tail.size):
        start[min(tail[e], head[e]) + 1] += 1
    for u in range(n_nodes):
        start[u + 1] += start[u]
    order = np.empty(tail.size, dtype=np.int32)
    place = start[:-1].copy()
    for e in range(tail.size):
        u = min(tail[e], head[e])
        order[place[u]] = e
        place[u] += 1
    new = Kept(
        np.empty_like(tail),
        np.empty_like(head),
        np.empty_like(weight),
        np.empty_like(copies),
        np.empty_like(pinned),
    )
    slot = np.full(n_nodes, -1, dtype=np.int32)
    size = 0
    for u in range(n_nodes):
        first = size
        for i in range(start[u], start[u + 1]):
            e = order[i]
            v = max(tail[e], head[e])
            if slot[v] >= first:
                new.weight[slot[v]] += weight[e]
                new.copies[slot[v]] = min(new.copies[slot[v]] + copies[e], n_copies)
                new.pinned[slot[v]] |= pinned[e]
            else:
                slot[v] = size
                new.tail[size], new.head[size] = u, v
                new.copies[size] = copies[e]
                new.weight[size], new.pinned[size] = weight[e], pinned[e]
                size += 1
    return new, size
