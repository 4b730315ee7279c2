"""Edges that say when they were: an `EdgeList` with a fourth column.

Whoever knows nothing of times takes it for the `EdgeList` that it is.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList

__all__ = ["NO_CHECKSUMS", "TimedEdges", "checksums"]

NO_CHECKSUMS = (0, 0, 0, 0)  # of no edges at all


class TimedEdges(EdgeList):
    """A list of weighted, undirected edges, each with its time.

    Parameters
    ----------
    tail, head : array of int, shape (n_edges,)
        The two ends of each edge; their order carries no meaning.
    time : array of float, shape (n_edges,)
        When each edge was, in any unit: windows and half-lives are in the same one.
    weight : array of float, shape (n_edges,), optional
        Default: every edge weighs 1.
    n_nodes : int, optional
        Default: one more than the largest end. Larger values add isolated nodes.
    ids : array of int or str, shape (n_nodes,), optional
        The user's own name of each node. Default: 0, ..., n_nodes - 1.

    Examples
    --------
    >>> edges = TimedEdges(tail=[0, 1, 1], head=[1, 1, 2], time=[5, 6, 7])
    >>> edges.time, edges.n_self_loops
    (array([5., 7.]), 1)
    """

    time: np.ndarray

    def __init__(
        self,
        *,
        tail: ArrayLike,
        head: ArrayLike,
        time: ArrayLike,
        weight: ArrayLike | None = None,
        n_nodes: int | None = None,
        ids: Any = None,
    ) -> None:
        super().__init__(tail=tail, head=head, weight=weight, n_nodes=n_nodes, ids=ids)
        times = np.asarray(time, dtype=np.float64)
        if times.shape != np.shape(tail):
            raise InputError(f"time has {times.size} entries for {np.size(tail)} edges")
        if not np.isfinite(times).all():
            raise InputError("a time is infinite or not a number; repair or drop that edge")
        if self.n_edges < times.size:
            keep = np.asarray(tail) != np.asarray(head)
            times = times[keep if weight is None else keep & (np.asarray(weight) != 0)]
        self.__dict__["time"] = times

    @classmethod
    def from_edges(cls, edges: EdgeList, time: np.ndarray) -> "TimedEdges":
        """The same edges with times, without checks and without a copy: for streams.

        Parameters
        ----------
        edges : EdgeList
        time : array of float, shape (n_edges,)
            Finite.
        """
        timed = cls.__new__(cls)
        timed.__dict__.update(edges.__dict__, time=time)
        return timed

    def part(self, start: int, stop: int | None = None) -> "TimedEdges":
        """Edges start, ..., stop - 1 on the same nodes, as views."""
        return self.from_edges(super().part(start, stop), self.time[start:stop])


def checksums(edges: TimedEdges, before: tuple[int, ...] = NO_CHECKSUMS) -> tuple[int, ...]:
    """Checks of tails, heads, weights and times, of all batches so far, however they were cut.

    >>> edges = TimedEdges(tail=[0, 1], head=[1, 2], time=[5, 7])
    >>> checksums(edges.part(1), checksums(edges.part(0, 1))) == checksums(edges)
    True
    """
    columns = (edges.tail, edges.head, edges.weight, edges.time)
    return tuple(
        zlib.crc32(np.ascontiguousarray(column).data, check)
        for column, check in zip(columns, before, strict=True)
    )
