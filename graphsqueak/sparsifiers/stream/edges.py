"""The edges that a stream keeps: columns that grow, parallel edges made one, degrees matched.

Coalescing takes time linear in the number of edges and runs on all cores. Edges are dealt into
ranges of their lower node, so that a range fits the cache; within a range they are sorted by that
node, and `slot[v]` says where (u, v) stands, if it is there already. Parts of the edges and groups
of ranges are fixed: no result depends on the number of threads.

*Calibration.* A stream knows every node's weighted degree exactly, in one number per node. With
scales s,

    w_uv  ->  s_u s_v w_uv,     s_u sum_v w_uv s_v = d_u  for every u,

is Sinkhorn's problem; a few damped steps bring the degrees close. The scales stay within [1/2, 2]:
on sparse graphs the exact solution may not exist, and chasing it drives weights to zero. Bridges,
which are never thinned, keep their weights.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.graph.forest import add_degrees
from graphsqueak.system.threads import run

__all__ = ["LARGEST_INDEX", "KeptBuffer", "KeptEdges", "calibrate", "coalesce"]

_N_PARTS = 8  # of the edges, dealt apart
_N_GROUPS = 16  # of ranges, each with a table of all nodes
_RANGE_BITS = 8
_STEPS = 10  # elementary steps per edge
_CALIBRATION_STEPS = 10
_CALIBRATION_PARTS = 4  # of the edges, summed apart: no result depends on the number of threads
_LARGEST_FACTOR = 2.0  # by which calibration scales a node
LARGEST_INDEX = np.iinfo(np.int32).max  # indices beyond take 64 bits


class KeptEdges(NamedTuple):
    """KeptEdges edges, each of `copies` equal parts that are thinned apart.

    `pinned` ones belong to the spanning forest and are never thinned.
    """

    tail: np.ndarray
    head: np.ndarray
    weight: np.ndarray
    copies: np.ndarray
    pinned: np.ndarray

    def select(self, chosen):
        """The edges of an index or slice."""
        return KeptEdges(*(column[chosen] for column in self))


class KeptBuffer:
    """`KeptEdges` with room at the end, so that appending is cheap.

    >>> buffer = KeptBuffer()
    >>> two = (np.array([0, 1]), np.array([1, 2]), np.array([2.0, 0.0]), np.ones(2, np.int32))
    >>> buffer.append(KeptEdges(*two, np.zeros(2, bool)))
    >>> buffer.edges().weight
    array([2.])
    """

    def __init__(self, edges=None):
        if edges is None:
            kinds = (np.int32, np.int32, np.float64, np.int32, np.bool_)
            edges = KeptEdges(*(np.zeros(0, kind) for kind in kinds))
        self._columns = edges
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
            grown = KeptEdges(*(np.empty(room, column.dtype) for column in self._columns))
            for new, old in zip(grown, self._columns, strict=True):
                new[: self.size] = old[: self.size]
            self._columns = grown


def coalesce(edges, n_nodes, *, n_copies=1, largest_index=LARGEST_INDEX):
    """Parallel edges summed, with at most `n_copies` equal parts; tail < head, sorted by tail.

    An edge is pinned if any of those it is made of was.

    >>> pinned = np.array([True, False])
    >>> twice = KeptEdges(np.array([1, 0]), np.array([0, 1]), np.ones(2), np.ones(2, int), pinned)
    >>> one = coalesce(twice, 2)
    >>> one.weight, one.pinned
    (array([2.]), array([ True]))
    """
    shift = max((n_nodes - 1).bit_length() - _RANGE_BITS, 0)
    n_ranges = (n_nodes - 1 >> shift) + 1
    n_edges = edges.tail.size
    work, part = _STEPS * n_edges, np.linspace(0, n_edges, _N_PARTS + 1).astype(np.int64)
    counts = np.zeros((_N_PARTS, n_ranges), dtype=np.int64)
    run(_count, work, part, edges.tail, edges.head, shift, counts)
    ends = counts.T.cumsum().reshape(n_ranges, _N_PARTS)
    following = ends.T - counts
    start = np.concatenate([[0], ends[:, -1]])
    dealt, merged = (KeptEdges(*map(np.empty_like, edges)) for _ in range(2))
    run(_deal, work, part, *edges, shift, following, *dealt)
    size = np.zeros(n_ranges + 1, dtype=np.int64)
    group = np.linspace(0, n_ranges, _N_GROUPS + 1).astype(np.int64)
    index = np.empty(0, np.int32 if n_edges <= largest_index else np.int64)
    run(_merge, work, group, start, shift, n_nodes, n_copies, index, *dealt, *merged, size)
    first = size.cumsum()
    for old, new in zip(merged, dealt, strict=True):
        run(_gather, n_edges, start, first, old, new)
    return dealt.select(slice(0, first[-1]))


def calibrate(edges, degree, fixed=None):
    """The same edges with weights whose degrees are close to `degree`; `fixed` ones as they are.

    >>> ends, weight = (np.array([0, 1, 2]), np.array([1, 2, 0])), np.array([1.0, 1.0, 2.0])
    >>> triangle = KeptEdges(*ends, weight, np.ones(3, int), np.zeros(3, bool))
    >>> calibrate(triangle, np.array([2.0, 2.0, 2.0])).weight.round(2)
    array([1., 1., 1.])
    """
    weight = edges.weight
    if fixed is not None and fixed.any():
        weight = np.where(fixed, 0.0, weight)
        degree = degree.copy()
        add_degrees(degree, edges.tail[fixed], edges.head[fixed], -edges.weight[fixed])
    part = np.linspace(0, edges.tail.size, _CALIBRATION_PARTS + 1).astype(np.int64)
    sums = np.empty((_CALIBRATION_PARTS, degree.size))
    columns, scale = (edges.tail, edges.head, weight), np.ones(degree.size)
    for _ in range(_CALIBRATION_STEPS):
        run(_degrees, _STEPS * edges.tail.size, part, *columns, scale, sums)
        own = sums.sum(axis=0)
        ratio = np.divide(degree * scale, own, out=np.ones_like(own), where=own > 0)
        scale = np.clip(np.sqrt(np.maximum(ratio, 0.0)), 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)
    scaled = weight * scale[edges.tail] * scale[edges.head]
    return edges._replace(weight=np.where(weight > 0, scaled, edges.weight))


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


@numba.njit(cache=True, nogil=True, parallel=True)
def _count(part, tail, head, shift, counts):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            counts[p, min(tail[e], head[e]) >> shift] += 1


@numba.njit(cache=True, nogil=True, parallel=True)
def _deal(part, tail, head, weight, copies, pinned, shift, following, *dealt):
    """Copy every edge, lower node first, to the next index of its part in its range."""
    low, high, new_weight, new_copies, new_pinned = dealt
    for p in numba.prange(part.size - 1):
        own = following[p]
        for e in range(part[p], part[p + 1]):
            u, v = min(tail[e], head[e]), max(tail[e], head[e])
            at = own[u >> shift]
            own[u >> shift] += 1
            low[at], high[at] = u, v
            new_weight[at], new_copies[at], new_pinned[at] = weight[e], copies[e], pinned[e]


@numba.njit(cache=True, nogil=True, parallel=True)
def _merge(group, start, shift, n_nodes, n_copies, index, low, high, weight, copies, *rest):
    """Sum what is parallel within every range; size[r + 1] edges are left in range r."""
    pinned, new_low, new_high, new_weight, new_copies, new_pinned, size = rest
    for g in numba.prange(group.size - 1):
        slot = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            order, bounds = _sorted(low[start[r] : start[r + 1]], r << shift, 1 << shift, index)
            end = start[r]
            for u in range(bounds.size - 1):
                first = end
                for i in range(bounds[u], bounds[u + 1]):
                    e = start[r] + order[i]
                    at = slot[high[e]]
                    if at >= first:
                        new_weight[at] += weight[e]
                        new_copies[at] = min(new_copies[at] + copies[e], n_copies)
                        new_pinned[at] |= pinned[e]
                    else:
                        slot[high[e]] = end
                        new_low[end], new_high[end] = low[e], high[e]
                        new_weight[end] = weight[e]
                        new_copies[end], new_pinned[end] = copies[e], pinned[e]
                        end += 1
            size[r + 1] = end - start[r]


@numba.njit(cache=True, nogil=True)
def _sorted(low, first, n_nodes, index):
    """Order of the edges by their node first, ..., first + n_nodes - 1, and where each begins."""
    bounds = np.zeros(n_nodes + 1, dtype=index.dtype)
    for e in range(low.size):
        bounds[low[e] - first + 1] += 1
    for u in range(n_nodes):
        bounds[u + 1] += bounds[u]
    following = bounds[:-1].copy()
    order = np.empty(low.size, dtype=index.dtype)
    for e in range(low.size):
        order[following[low[e] - first]] = e
        following[low[e] - first] += 1
    return order, bounds


@numba.njit(cache=True, nogil=True, parallel=True)
def _gather(start, first, old, new):
    for r in numba.prange(start.size - 1):
        n_left = first[r + 1] - first[r]
        new[first[r] : first[r + 1]] = old[start[r] : start[r] + n_left]


@numba.njit(cache=True, nogil=True, parallel=True)
def _degrees(part, tail, head, weight, scale, sums):
    """Sums of w_uv s_v at u and of w_uv s_u at v, for each part of the edges."""
    for p in numba.prange(part.size - 1):
        own = sums[p]
        own[:] = 0.0
        for e in range(part[p], part[p + 1]):
            u, v, w = tail[e], head[e], weight[e]
            own[u] += w * scale[v]
            own[v] += w * scale[u]
