"""The edges that a stream keeps: columns that grow, parallel edges made one.

Coalescing takes time linear in the number of edges and runs on all cores. Edges are dealt into
ranges of their lower node, so that a range fits the cache; within a range they are sorted by that
node, and `slot[v]` says where (u, v) stands, if it is there already. Parts of the edges and groups
of ranges are fixed: no result depends on the number of threads.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import compiled, run, shared, subroutine

__all__ = [
    "LARGEST_INDEX",
    "KeptBuffer",
    "KeptEdges",
    "coalesce",
    "copies_kind",
    "fits_single",
    "merge_ordered",
    "order_by_node",
    "repeated_share",
]

_N_PARTS = 8  # of the edges, dealt apart
_N_GROUPS = 16  # of ranges, each with a table of all nodes
_RANGE_BITS = 8
_STEPS = 10  # elementary steps per edge
_MANY = 2**18  # edges from which on the whole room is reserved
_FEW = 2**18  # edges, of all calls so far, that numpy has sorted before a kernel is compiled
_BLOCK = 2**20  # edges that are replaced at a time
_ENOUGH = 2**15  # pairs that tell a share of repeats
_LARGEST_SINGLE = 2.0**80  # weight, in units, that single precision is taken to hold
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


def copies_kind(n_copies):
    """The type that holds numbers of copies up to `n_copies`: a byte, if it can.

    >>> copies_kind(1), copies_kind(1000)
    (dtype('uint8'), dtype('int32'))
    """
    return np.dtype(np.uint8 if n_copies <= np.iinfo(np.uint8).max else np.int32)


def fits_single(weight, *, exactly=False):
    """Whether single precision holds weights, and sums of them, and every digit if `exactly`.

    >>> fits_single(np.array([0.1])), fits_single(np.array([0.1]), exactly=True)
    (True, False)
    """
    if exactly:
        return bool((weight.astype(np.float32) == weight).all())
    return bool(weight.min() >= 1 / _LARGEST_SINGLE and weight.max() <= _LARGEST_SINGLE)


class KeptBuffer:
    """`KeptEdges` with room at the end, so that appending is cheap.

    >>> buffer = KeptBuffer()
    >>> two = (np.array([0, 1]), np.array([1, 2]), np.array([2.0, 3.0]), np.ones(2, np.int32))
    >>> buffer.append(KeptEdges(*two, np.zeros(2, bool)))
    >>> buffer.edges().weight
    array([2., 3.])
    """

    def __init__(self, edges=None, *, n_copies=1):
        if edges is None:
            kinds = (np.int32, np.int32, np.float64, copies_kind(n_copies), np.bool_)
            edges = KeptEdges(*(np.zeros(0, kind) for kind in kinds))
        self._columns = edges
        self.size = self._columns.tail.size

    def append(self, edges, *, room=0):
        """Add edges; `room` is how many there may be in the end."""
        size = self.size + edges.tail.size
        self._reserve(size, room)
        for own, new in zip(self._columns, edges, strict=True):
            own[self.size : size] = new
        self.size = size

    def replace(self, choose, source=None):
        """Put what `choose` makes of blocks of edges, fewer each time, in the place of all edges.

        They are our own edges, or those of `source`; `choose` is told where a block begins.
        """
        edges = self.edges() if source is None else source
        self.size = 0
        for start in range(0, edges.tail.size, _BLOCK):
            self.append(choose(edges.select(slice(start, start + _BLOCK)), start))

    def edges(self):
        """What is there, as views."""
        return self._columns.select(slice(0, self.size))

    def cut(self, size):
        """Keep the first `size` edges."""
        self.size = size

    def trim(self):
        """Give up the room behind the edges; no view of them may be left."""
        for column in self._columns:
            if column.flags.owndata and column.flags.writeable:
                column.resize(self.size, refcheck=False)

    @property
    def precision(self):
        """The type of the weights."""
        return self._columns.weight.dtype

    def hold_weights_as(self, dtype):
        """Hold the weights in single or double precision."""
        if dtype != self.precision:
            weight = np.empty(self._columns.weight.size, dtype)
            weight[: self.size] = self._columns.weight[: self.size]
            self._columns = self._columns._replace(weight=weight)

    def _reserve(self, n_edges, room):
        held = self._columns.tail.size
        if n_edges > held:  # memory that is never written is never taken
            room = max(n_edges, held * 3 // 2, room if held > _MANY else 0)
            columns, self._columns = list(self._columns), None
            for number, old in enumerate(columns):  # each old one goes before the next is made
                columns[number] = np.empty(room, old.dtype)
                columns[number][: self.size] = old[: self.size]
            self._columns = KeptEdges(*columns)


def coalesce(edges, n_nodes, *, n_copies=1, largest_index=LARGEST_INDEX, few=_FEW):
    """Parallel edges summed, with at most `n_copies` equal parts; tail < head, sorted by tail.

    An edge is pinned if any of those it is made of was. A process that has no more than a `few`
    edges needs no kernels; the result is the same.

    >>> pinned = np.array([True, False])
    >>> twice = KeptEdges(np.array([1, 0]), np.array([0, 1]), np.ones(2), np.ones(2, int), pinned)
    >>> one = coalesce(twice, 2)
    >>> one.weight, one.pinned
    (array([2.]), array([ True]))
    """
    n_edges = edges.tail.size
    if edges.weight.dtype == np.float64 and not _merge.pays(n_edges, few):
        return _coalesce_few(edges, n_nodes, n_copies)
    shift = max((n_nodes - 1).bit_length() - _RANGE_BITS, 0)
    n_ranges = (n_nodes - 1 >> shift) + 1
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
        for r in range(n_ranges):
            new[first[r] : first[r + 1]] = old[start[r] : start[r] + size[r + 1]]
    return dealt.select(slice(0, first[-1]))


def _coalesce_few(edges, n_nodes, n_copies):
    low, high = np.minimum(edges.tail, edges.head), np.maximum(edges.tail, edges.head)
    key = low.astype(np.int64) * n_nodes + high
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    in_order = np.lexsort((first, low[first]))  # at a node, by the first of parallel edges
    place, first = np.empty(first.size, np.int64), first[in_order]
    place[in_order] = np.arange(first.size)
    place = place[pair]
    weight, copies, pinned = (np.bincount(place, column) for column in edges[2:])
    copies = np.minimum(copies, n_copies).astype(edges.copies.dtype)
    return KeptEdges(low[first], high[first], weight.astype(np.float64), copies, pinned > 0)


def repeated_share(tail, head):
    """Share of the edges that are parallel to an earlier one, told by some of the pairs.

    >>> tail, head = np.zeros(1000, np.int32), np.repeat(np.arange(1, 501, dtype=np.int32), 2)
    >>> repeated_share(tail, head)
    0.5
    """
    one_in = 1 << max((tail.size // _ENOUGH).bit_length() - 1, 0)
    keys = np.empty(4 * tail.size // one_in + 64, dtype=np.uint64)
    n_keys = _sample_pairs(tail, head, np.uint64(one_in - 1), keys)
    return 1 - np.unique(keys[:n_keys]).size / n_keys if n_keys else 0.0


@compiled
def _sample_pairs(tail, head, mask, keys):
    """Keys of the pairs whose hash is zero where the mask is not, while there is room."""
    n_keys = 0
    for e in range(tail.size):
        low, high = np.uint64(min(tail[e], head[e])), np.uint64(max(tail[e], head[e]))
        key = mix64((low << np.uint64(32)) | high)
        if key & mask == 0 and n_keys < keys.size:
            keys[n_keys] = key
            n_keys += 1
    return n_keys


@shared
def _count(part, tail, head, shift, counts):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            counts[p, min(tail[e], head[e]) >> shift] += 1


@shared
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


@shared
def _merge(group, start, shift, n_nodes, n_copies, index, low, high, weight, copies, *rest):
    """Sum what is parallel within every range; size[r + 1] edges are left in range r."""
    pinned, new_low, new_high, new_weight, new_copies, new_pinned, size = rest
    for g in numba.prange(group.size - 1):
        slot = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            a, b = start[r], start[r + 1]
            order, bounds = order_by_node(low[a:b], r << shift, 1 << shift, index)
            own = (low[a:b], high[a:b], weight[a:b], copies[a:b], pinned[a:b])
            new = (new_low, new_high, new_weight, new_copies, new_pinned)
            size[r + 1] = merge_ordered(order, bounds, slot, n_copies, own, new, a) - a


@subroutine
def merge_ordered(order, bounds, slot, n_copies, own, new, end):
    """Write edges, ordered by one of their nodes, from `end` on with parallel ones summed.

    `own` and `new` are columns: that node, the other node, weight, copies, pinned. `slot` has an
    entry for every node, below `end`. Returns the new end.
    """
    node, other, weight, copies, pinned = own
    new_node, new_other, new_weight, new_copies, new_pinned = new
    for u in range(bounds.size - 1):
        first = end
        for i in range(bounds[u], bounds[u + 1]):
            e = order[i]
            at = slot[other[e]]
            if at >= first:
                new_weight[at] += weight[e]
                new_copies[at] = min(new_copies[at] + copies[e], n_copies)
                new_pinned[at] |= pinned[e]
            else:
                slot[other[e]] = end
                new_node[end], new_other[end] = node[e], other[e]
                new_weight[end] = weight[e]
                new_copies[end], new_pinned[end] = copies[e], pinned[e]
                end += 1
    return end


@subroutine
def order_by_node(node, first, n_nodes, index):
    """Order of the edges by their node first, ..., first + n_nodes - 1, and where each begins."""
    bounds = np.zeros(n_nodes + 1, dtype=index.dtype)
    for e in range(node.size):
        bounds[node[e] - first + 1] += 1
    for u in range(n_nodes):
        bounds[u + 1] += bounds[u]
    following = bounds[:-1].copy()
    order = np.empty(node.size, dtype=index.dtype)
    for e in range(node.size):
        order[following[node[e] - first]] = e
        following[node[e] - first] += 1
    return order, bounds
