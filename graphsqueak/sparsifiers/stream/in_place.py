"""Many edges, added up and thinned where they stand: no second copy of what is kept.

*Adding up.* Edges are dealt into ranges of their upper node by swaps along cycles, a range fits the
cache, and within it they are ordered by that node and added up as in `edges`. What is left of the
ranges is moved together. Nodes are numbered as they come, so that the lower node of an edge is
often a hub: loops over the edges, in order of the upper node, find it in the cache.

*Drawing in order.* Thinning many edges by walks along closed tours (`thinning`) takes longer than
all the rest, and another 25 bytes per edge. The pivotal method in a given order [Cha12] passes
along the edges once. One edge with an open chance a meets the next one with chance b; if a + b < 1,
one of the two gets a + b and the other one is dropped, else one is kept and the other one goes on
with a + b - 1, by coins that keep both expectations. So every stretch of edges gets as many as it
expects, up to one: every node as far as its edges to earlier nodes go. Those are all or most
edges of a node with few, and a node with many hardly notices. Measured on R-MAT graphs, the error
is within one per cent of what walks give, on dense random graphs and blocks two or three, on
neighbor graphs five, where independent coins have five to ten per cent more. On grids it is a sixth
more: where degrees do not tell the resistances, edges are sent along walks however many there are.

Parts of the edges are fixed, and what they leave open is drawn in the same way: no result depends
on the number of threads.

References
----------
[Cha12] Chauvet. On a characterization of ordered pivotal sampling. Bernoulli 18(4), 2012.
"""

import numba
import numpy as np

from graphsqueak.randomness import ITEM_WORD, uniform
from graphsqueak.sampling import find_scale, find_scale_from_sums
from graphsqueak.sparsifiers.stream.edges import (
    LARGEST_INDEX,
    merge_ordered,
    order_by_node,
)
from graphsqueak.system.kernels import compiled, run, shared, subroutine

__all__ = [
    "choose_in_order",
    "coalesce_in_place",
    "keep_chosen",
    "scale_for_edges",
    "share_passing",
    "stricter_filter",
]

_WORK = 5  # elementary steps per edge
_N_PARTS = 64  # of the edges, whatever the threads
_N_GROUPS = 16  # of ranges, each with a table of all nodes
_RANGE_BITS = 9
_ENOUGH = 2**16  # edges that tell a scale
_TOO_MUCH = 1.15  # times what Foster's theorem says


def coalesce_in_place(edges, n_nodes, *, largest_index=LARGEST_INDEX):
    """Parallel edges summed, tail < head, ordered by head; how many are left, at the beginning.

    An edge is pinned if any of those it is made of was; each is one part.

    >>> from graphsqueak.sparsifiers.stream.edges import KeptEdges
    >>> pinned, ones = np.array([True, False, False]), np.ones(3, np.uint8)
    >>> edges = KeptEdges(np.array([3, 1, 0]), np.array([2, 0, 1]), np.ones(3), ones, pinned)
    >>> n_left = coalesce_in_place(edges, 4)
    >>> edges.weight[:n_left], edges.head[:n_left]
    (array([2., 1.]), array([1, 3]))
    """
    shift = max((n_nodes - 1).bit_length() - _RANGE_BITS, 0)
    n_ranges = (n_nodes - 1 >> shift) + 1
    start = np.zeros(n_ranges + 1, dtype=np.int64)
    _count_heads(edges.tail, edges.head, shift, start)
    start = start.cumsum()
    _deal_in_place(*edges, shift, start[:-1].copy(), start[1:])
    size = np.zeros_like(start)
    group = np.linspace(0, n_ranges, _N_GROUPS + 1).astype(np.int64)
    index = np.empty(0, np.int32 if edges.tail.size <= largest_index else np.int64)
    run(_merge_ranges, _WORK * edges.tail.size, group, start, shift, n_nodes, index, *edges, size)
    return _close_gaps(edges, start, size)


def stricter_filter(arrival_filter, edges, n_nodes, target, favored, *, is_new=False):
    """The filter at a scale at which it passes `target` kept edges, told by some of them.

    It stays as it is where its leverages add up to more than Foster's theorem says: resistances
    have fallen since it was made. One that `is_new` has no scale yet, and sets the boost of favored
    edges.
    """
    step = 1 + edges.tail.size // _ENOUGH
    some = edges.select(slice(None, None, step))
    leverage, free = arrival_filter.leverages(*some[:3]), ~some.pinned
    total = step * np.minimum(leverage, 1.0).sum()
    n_free = target / step - np.count_nonzero(some.pinned)
    some, leverage = some.select(free), leverage[free]
    if is_new:
        favored.boost = favored.boost_edges(some, leverage / some.weight, n_free)[1]
    elif total > _TOO_MUCH * n_nodes:
        return arrival_filter
    if favored.boost > 1:
        leverage[favored.edges(*some[:2])] *= favored.boost
    scale = find_scale(leverage, max(n_free, 1.0))
    return arrival_filter._replace(scale=min(arrival_filter.scale, scale))


def share_passing(arrival_filter, edges):
    """About which share of kept edges would pass the filter again, told by some of them."""
    some = edges.select(slice(None, None, 1 + edges.tail.size // _ENOUGH))
    prob = np.minimum(arrival_filter.scale * arrival_filter.leverages(*some[:3]), 1.0)
    return np.where(some.pinned, 1.0, prob).mean()


def choose_in_order(edges, resistance, scale, *, seed):
    """Mask of edges, each chosen with probability min(1, scale w r), pinned ones always, in order.

    The number of edges is that expected, up to one.

    >>> from graphsqueak.sparsifiers.stream.edges import KeptEdges
    >>> ends, ones, free = (np.zeros(4, int), np.arange(1, 5)), np.ones(4), np.zeros(4, bool)
    >>> star = KeptEdges(*ends, ones, np.ones(4, np.uint8), free)
    >>> chosen = choose_in_order(star, ones, 0.5, seed=7)
    >>> keep_chosen(star, ones, 0.5, chosen).weight
    array([2., 2.])
    """
    part = np.linspace(0, edges.tail.size, _N_PARTS + 1).astype(np.int64)
    chosen = np.empty(edges.tail.size, dtype=np.bool_)
    left, chance = np.full(_N_PARTS, -1, dtype=np.int64), np.zeros(_N_PARTS)
    work, columns = _WORK * chosen.size, (edges.weight, edges.pinned, resistance, scale)
    run(_draw_parts, work, part, *columns, np.uint64(seed), chosen, left, chance)
    _draw_rest(left, chance, np.uint64(seed), chosen)
    return chosen


def keep_chosen(edges, resistance, scale, chosen):
    """The chosen edges, of weights w / min(1, scale w r), at the beginning of the same memory."""
    part = np.linspace(0, edges.tail.size, _N_PARTS + 1).astype(np.int64)
    size = np.zeros_like(part)
    run(_keep_parts, _WORK * chosen.size, part, *edges, resistance, scale, chosen, size)
    return edges.select(slice(0, _close_gaps(edges, part, size)))


def scale_for_edges(edges, resistance, budget, *, pinned=True):
    """`find_scale` of the leverages w r, of those not pinned if `pinned` is false."""
    part = np.linspace(0, edges.tail.size, _N_PARTS + 1).astype(np.int64)
    n_edges = edges.tail.size - (0 if pinned else np.count_nonzero(edges.pinned))

    def sums(scale):
        n_certain, total = np.zeros(_N_PARTS, dtype=np.int64), np.zeros(_N_PARTS)
        columns = (edges.weight, edges.pinned, resistance)
        run(_sums, edges.tail.size, part, *columns, pinned, scale, n_certain, total)
        return n_certain.sum(), total.sum()

    return find_scale_from_sums(sums, n_edges, budget)


def _close_gaps(edges, start, size):
    """Move what is left of every part to the part before; returns how many there are."""
    first = size.cumsum()
    for column in edges:
        for r in np.flatnonzero(first[:-1] < start[:-1]):
            column[first[r] : first[r + 1]] = column[start[r] : start[r] + size[r + 1]]
    return int(first[-1])


@compiled
def _count_heads(tail, head, shift, count):
    for e in range(tail.size):
        count[(max(tail[e], head[e]) >> shift) + 1] += 1


@compiled
def _deal_in_place(tail, head, weight, copies, pinned, shift, following, ends):
    """Swap edges, lower node first, into the range of their upper node."""
    for r in range(ends.size):
        while following[r] < ends[r]:
            e = following[r]
            u, v = min(tail[e], head[e]), max(tail[e], head[e])
            w, c, p = weight[e], copies[e], pinned[e]
            own = v >> shift
            while own != r:
                at = following[own]
                following[own] = at + 1
                next_u, next_v = min(tail[at], head[at]), max(tail[at], head[at])
                next_w, next_c, next_p = weight[at], copies[at], pinned[at]
                tail[at], head[at], weight[at], copies[at], pinned[at] = u, v, w, c, p
                u, v, w, c, p = next_u, next_v, next_w, next_c, next_p
                own = v >> shift
            tail[e], head[e], weight[e], copies[e], pinned[e] = u, v, w, c, p
            following[r] = e + 1


@shared
def _merge_ranges(group, start, shift, n_nodes, index, tail, head, weight, copies, pinned, size):
    """Order every range by head and sum what is parallel; size[r + 1] edges are left in range r."""
    for g in numba.prange(group.size - 1):
        slot = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            a, b = start[r], start[r + 1]
            order, bounds = order_by_node(head[a:b], r << shift, 1 << shift, index)
            ends = (head[a:b].copy(), tail[a:b].copy())
            own = (*ends, weight[a:b].copy(), copies[a:b].copy(), pinned[a:b].copy())
            new = (head, tail, weight, copies, pinned)
            size[r + 1] = merge_ordered(order, bounds, slot, 1, own, new, a) - a


@shared
def _draw_parts(part, weight, pinned, resistance, scale, seed, chosen, left, chance):
    """Draw within every part; the edge that stays open, -1 for none, and its chance."""
    for p in numba.prange(part.size - 1):
        active, a = np.int64(-1), 0.0
        for e in range(part[p], part[p + 1]):
            b = scale * weight[e] * resistance[e]
            if pinned[e] or b >= 1.0:
                chosen[e] = True
            elif active < 0:
                active, a = e, b
            else:
                coin = uniform(seed, np.uint64(e), ITEM_WORD)
                active, a = _meet(active, a, e, b, coin, chosen)
        left[p], chance[p] = active, a


@subroutine
def _meet(active, a, e, b, coin, chosen):
    """Decide one of two edges; the other one and its chance."""
    if a + b < 1.0:
        stays, goes = (active, e) if coin * (a + b) < a else (e, active)
        chosen[goes] = False
        return stays, a + b
    kept, stays = (active, e) if coin * (2.0 - a - b) < 1.0 - b else (e, active)
    chosen[kept] = True
    return stays, a + b - 1.0


@compiled
def _draw_rest(left, chance, seed, chosen):
    """Draw among the edges that parts left open, and toss a coin for the last one."""
    active, a = np.int64(-1), 0.0
    for p in range(left.size):
        if left[p] >= 0 and active < 0:
            active, a = left[p], chance[p]
        elif left[p] >= 0:
            coin = uniform(seed, np.uint64(chosen.size + p), ITEM_WORD)
            active, a = _meet(active, a, left[p], chance[p], coin, chosen)
    if active >= 0:
        chosen[active] = uniform(seed, np.uint64(chosen.size + left.size), ITEM_WORD) < a


@shared
def _keep_parts(part, tail, head, weight, copies, pinned, resistance, scale, chosen, size):
    """Move what is chosen to the beginning of every part; size[p + 1] edges are left in part p."""
    for p in numba.prange(part.size - 1):
        at = part[p]
        for e in range(part[p], part[p + 1]):
            if chosen[e]:
                prob = scale * weight[e] * resistance[e]
                certain = pinned[e] or prob >= 1.0
                tail[at], head[at] = tail[e], head[e]
                weight[at] = weight[e] if certain else weight[e] / prob
                copies[at], pinned[at] = copies[e], pinned[e]
                at += 1
        size[p + 1] = at - part[p]


@shared
def _sums(part, weight, pinned, resistance, all_count, scale, n_certain, total):
    """How many have scale * w r >= 1, and the sum of the others, in every part."""
    for p in numba.prange(part.size - 1):
        count, rest = 0, 0.0
        for e in range(part[p], part[p + 1]):
            if all_count or not pinned[e]:
                leverage = np.float64(weight[e]) * resistance[e]
                if scale * leverage >= 1.0:
                    count += 1
                else:
                    rest += leverage
        n_certain[p], total[p] = count, rest
