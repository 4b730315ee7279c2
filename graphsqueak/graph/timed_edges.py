"""Edges with time stamps: an `EdgeList` with a fourth column, usable wherever an `EdgeList` is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import GOLDEN_GAMMA, mix64
from graphsqueak.system.kernels import njit_cached, read_only_views


class TimedEdges(EdgeList):
    """Immutable list of weighted, undirected edges, each with its time.

    Parameters
    ----------
    tail, head : array of int, shape (n_edges,)
        The two ends of each edge, in either order.
    time : array of float, shape (n_edges,)
        Time of each edge, in any unit. Windows and half-lives use the same unit.
    weight : array of float, shape (n_edges,), optional
        Default: every edge has weight 1.
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
            raise InputError(
                f"time has {times.size} entries for {np.size(tail)} edges; pass one per edge"
            )
        if not np.isfinite(times).all():
            edge = int(np.argmin(np.isfinite(times)))
            raise InputError(
                f"the time of edge {edge} is infinite or not a number ({times[edge]}); "
                "repair or drop that edge"
            )
        if self.n_edges < times.size:
            # The base class dropped self-loops and edges of weight zero.
            keep = np.asarray(tail) != np.asarray(head)
            if weight is not None:
                keep &= np.asarray(weight) != 0
            times = times[keep]
        self.__dict__["time"] = times

    @classmethod
    def from_edges(cls, edges: EdgeList, time: np.ndarray) -> TimedEdges:
        """Add times to edges, without checks and without a copy.

        Parameters
        ----------
        edges : EdgeList
        time : array of float, shape (n_edges,)
            Finite.
        """
        timed = cls.__new__(cls)
        timed.__dict__.update(edges.__dict__, time=time)
        return timed

    def part(self, start: int, stop: int | None = None) -> TimedEdges:
        """Return edges start, ..., stop - 1 on the same nodes, as views."""
        return self.from_edges(super().part(start, stop), self.time[start:stop])


def checksum(edges: TimedEdges, before: int = 0) -> int:
    """Return the checksum of a stream of edges, given that of the batches before this one.

    The result does not depend on how a stream is cut into batches.

    >>> edges = TimedEdges(tail=[0, 1], head=[1, 2], time=[5, 7])
    >>> checksum(edges.part(1), checksum(edges.part(0, 1))) == checksum(edges)
    True
    """
    times = np.ascontiguousarray(edges.time, dtype=np.float64)
    numbers = (edges.weight.view(np.uint64), times.view(np.uint64))
    return int(_hash_edges(np.uint64(before), *read_only_views(edges.tail, edges.head, *numbers)))


@njit_cached
def _hash_edges(checksum, tail, head, weight, time):
    """Hash one edge after the other, each with the hash of all edges before it."""
    for e in range(tail.size):
        checksum = mix64(checksum ^ (np.uint64(tail[e]) * GOLDEN_GAMMA + np.uint64(head[e])))
        checksum = mix64(checksum ^ (weight[e] * GOLDEN_GAMMA + time[e]))
    return checksum
