"""The edges that a stream keeps, as columns that grow."""

from typing import NamedTuple

import numba
import numpy as np

__all__ = ["Kept", "KeptBuffer"]


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

    def reweight(self, weight):
        """Give the edges new weights and drop those of weight zero."""
        self.size = _append(self.edges()._replace(weight=weight), self._columns, 0)

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
