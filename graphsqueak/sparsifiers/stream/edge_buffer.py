"""Columns of the edges that a stream has sampled so far, with spare capacity at the end."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList


class SampledEdges(NamedTuple):
    """Edges in a sample, as columns.

    Attributes
    ----------
    tail, head : ndarray of int32
    weight : ndarray of float64 or float32
        In units of `StreamState.weight_scale`, divided by the sampling probability.
    in_forest : ndarray of bool
        Whether the edge belongs to the spanning forest, which is sampled with probability 1.
    """

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    in_forest: np.ndarray

    @classmethod
    def empty(cls) -> "SampledEdges":
        """Return no edges."""
        ends = np.zeros((2, 0), dtype=np.int32)
        return cls.without_forest(ends[0], ends[1], np.zeros(0))

    @classmethod
    def without_forest(
        cls, tail: np.ndarray, head: np.ndarray, weight: np.ndarray
    ) -> "SampledEdges":
        """Return edges none of which belongs to the spanning forest."""
        return cls(tail, head, weight, in_forest=np.zeros(tail.size, dtype=np.bool_))

    @property
    def n_edges(self) -> int:
        return self.tail.size

    def select(self, index: np.ndarray | slice) -> "SampledEdges":
        """Return the edges of an index array, a mask or a slice."""
        return SampledEdges(*(column[index] for column in self))

    def to_edge_list(self, n_nodes: int, ids: Any = None) -> EdgeList:
        """Return the edges as a graph."""
        return EdgeList.from_validated(self.tail, self.head, self.weight, n_nodes, ids)

    def copy(self) -> "SampledEdges":
        """Return a copy with columns of its own."""
        return SampledEdges(*(column.copy() for column in self))


def fits_float32(weight: np.ndarray, *, exactly: bool = False) -> bool:
    """Return whether single precision can represent weights and their sums.

    Parameters
    ----------
    weight : ndarray
    exactly : bool
        Whether every weight must be represented without rounding.

    Examples
    --------
    >>> fits_float32(np.array([0.1])), fits_float32(np.array([0.1]), exactly=True)
    (True, False)
    """
    if exactly:
        return bool((weight.astype(np.float32) == weight).all())
    # About 2^64: sums of as many weights cannot overflow.
    largest = np.sqrt(np.finfo(np.float32).max)
    return bool(weight.max() <= largest and weight.min() >= 1 / largest)


class EdgeBuffer:
    """Growable columns of `SampledEdges`.

    Examples
    --------
    >>> buffer = EdgeBuffer()
    >>> in_forest = np.zeros(2, dtype=bool)
    >>> buffer.append(SampledEdges(np.array([0, 1]), np.array([1, 2]), np.ones(2), in_forest))
    >>> buffer.edges().head
    array([1, 2], dtype=int32)
    """

    def __init__(self, edges: SampledEdges | None = None) -> None:
        self._columns: SampledEdges = SampledEdges.empty() if edges is None else edges
        self._n_edges = self._columns.n_edges

    @property
    def n_edges(self) -> int:
        """Number of edges in use."""
        return self._n_edges

    def edges(self) -> SampledEdges:
        """Return the edges as views of the buffer."""
        return self._columns.select(slice(0, self._n_edges))

    def append(self, edges: SampledEdges) -> None:
        """Append edges."""
        n_edges = self._n_edges + edges.n_edges
        if n_edges > self._columns.n_edges:
            # Memory that is never written is only reserved, so that a generous capacity is free.
            self._grow(8 * n_edges)
        for column, new in zip(self._columns, edges, strict=True):
            column[self._n_edges : n_edges] = new
        self._n_edges = n_edges

    def replace_blocks(
        self, choose: Callable[[SampledEdges, int], SampledEdges], block_size: int
    ) -> None:
        """Replace all edges by what `choose` returns for one block of edges after the other.

        Parameters
        ----------
        choose : callable
            `choose(edges, first)` returns a subset of a block that begins with edge `first`.
        block_size : int
            Edges of a block; bounds temporary memory.
        """
        edges = self.edges()
        self._n_edges = 0
        for start in range(0, edges.n_edges, block_size):
            block = edges.select(slice(start, start + block_size))
            self.append(choose(block, start))

    def truncate(self, n_edges: int) -> None:
        """Keep only the first `n_edges` edges."""
        self._n_edges = n_edges

    def release_capacity(self) -> None:
        """Free the memory beyond the edges in use; views of the buffer become invalid."""
        for column in self._columns:
            if column.flags.owndata and column.flags.writeable:
                column.resize(self._n_edges, refcheck=False)

    @property
    def weight_dtype(self) -> np.dtype:
        return self._columns.weight.dtype

    def set_weight_dtype(self, dtype: type) -> None:
        """Store the weights in single or double precision."""
        if dtype == self.weight_dtype:
            return
        weight: np.ndarray = np.empty(self._columns.weight.size, dtype=dtype)
        weight[: self._n_edges] = self._columns.weight[: self._n_edges]
        self._columns = self._columns._replace(weight=weight)

    def _grow(self, capacity):
        columns = list(self._columns)
        # Drop the reference to all columns, so that each old one is freed before the next is made.
        self._columns = SampledEdges.empty()
        for number in range(len(columns)):
            grown = np.empty(capacity, dtype=columns[number].dtype)
            grown[: self._n_edges] = columns[number][: self._n_edges]
            columns[number] = grown
        self._columns = SampledEdges(*columns)
