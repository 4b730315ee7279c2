"""Merge parallel edges: add the weights of edges between the same two nodes.

Both functions take linear time. Edges are first distributed into ranges of one of their nodes, each
small enough for the cache. Within a range they are sorted by that node, and a table with one entry
per node finds an earlier parallel edge. The number of ranges and of groups of ranges is fixed, so
that no result depends on the number of threads.

`coalesce` copies the edges. `coalesce_in_place` swaps them along cycles instead, for samples of
which a second copy would not fit into memory. It sorts by the larger node: nodes are
numbered as they appear, so that the smaller node of an edge is often a hub, whose entry in a table
of nodes is in the cache whenever loops run over edges in order of the larger node.
"""

import numba
import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
from graphsqueak.system.kernels import (
    STEPS_PER_EDGE,
    inline_njit,
    njit_cached,
    parallel_njit,
    run_kernel,
)

__all__ = ["LARGEST_INT32", "close_gaps", "coalesce", "coalesce_in_place", "repeated_fraction"]

LARGEST_INT32 = np.iinfo(np.int32).max
# Edges are distributed in this many parts at the same time. It bounds the number of threads.
_N_PARTS = 8
# Groups of ranges that threads merge; each needs a table of all nodes.
_N_GROUPS = 16
# 2^8 ranges: of a million edges, the columns of one range take 70 kB, less than the L2 cache.
_LOG2_RANGES = 8
# Samples that are merged in place are larger.
_LOG2_RANGES_IN_PLACE = 9
# Until a process has coalesced this many edges, numpy sorts them: that takes less time than
# compiling the kernels.
_MAX_EDGES_UNCOMPILED = 2**18
# Sampled pairs by which the fraction of repeated edges is estimated: within 0.01.
_N_SAMPLED_PAIRS = 2**15


def coalesce(
    edges, n_nodes, *, largest_index=LARGEST_INT32, max_edges_uncompiled=_MAX_EDGES_UNCOMPILED
):
    """Return the edges with parallel ones merged, tail < head, sorted by tail.

    A merged edge is in the forest if one of its parts was.

    Parameters
    ----------
    edges : SampledEdges
    n_nodes : int
    largest_index : int
        Edge numbers above it take 64 bits.
    max_edges_uncompiled : int
        The kernels are compiled when this process has coalesced more edges. The result is the same.

    Examples
    --------
    >>> in_forest = np.array([True, False])
    >>> twice = SampledEdges(np.array([1, 0]), np.array([0, 1]), np.ones(2), in_forest)
    >>> one = coalesce(twice, 2)
    >>> one.weight, one.in_forest
    (array([2.]), array([ True]))
    """
    n_edges = edges.n_edges
    if edges.weight.dtype == np.float64 and not _merge_ranges.pays(n_edges, max_edges_uncompiled):
        return _coalesce_by_sorting(edges, n_nodes)
    shift, n_ranges = _range_shift(n_nodes, _LOG2_RANGES)
    steps = STEPS_PER_EDGE * n_edges

    # Count the edges of every part in every range, and give each part its own slots there.
    part = np.linspace(0, n_edges, _N_PARTS + 1).astype(np.int64)
    counts = np.zeros((_N_PARTS, n_ranges), dtype=np.int64)
    run_kernel(_count_tails, steps, part, edges.tail, edges.head, shift, counts)
    slot_end = counts.T.cumsum().reshape(n_ranges, _N_PARTS)
    next_slot = slot_end.T - counts
    range_start = np.concatenate([[0], slot_end[:, -1]])
    distributed = SampledEdges(*map(np.empty_like, edges))
    run_kernel(_distribute, steps, part, *edges, shift, next_slot, *distributed)

    merged = SampledEdges(*map(np.empty_like, edges))
    size = np.zeros(n_ranges + 1, dtype=np.int64)
    group = np.linspace(0, n_ranges, _N_GROUPS + 1).astype(np.int64)
    index = _empty_index(n_edges, largest_index)
    run_kernel(
        _merge_ranges,
        steps,
        group,
        range_start,
        shift,
        n_nodes,
        index,
        *distributed,
        *merged,
        size,
    )
    first = size.cumsum()
    for old, new in zip(merged, distributed, strict=True):
        for r in range(n_ranges):
            new[first[r] : first[r + 1]] = old[range_start[r] : range_start[r] + size[r + 1]]
    return distributed.select(slice(0, first[-1]))


def coalesce_in_place(edges, n_nodes, *, largest_index=LARGEST_INT32):
    """Merge parallel edges within their columns; return how many are left, at the beginning.

    Afterwards tail < head, and edges are sorted by head.

    Parameters
    ----------
    edges : SampledEdges
        Overwritten.
    n_nodes, largest_index : int
        As in `coalesce`.

    Examples
    --------
    >>> in_forest = np.array([True, False, False])
    >>> edges = SampledEdges(np.array([3, 1, 0]), np.array([2, 0, 1]), np.ones(3), in_forest)
    >>> n_left = coalesce_in_place(edges, 4)
    >>> edges.weight[:n_left], edges.head[:n_left]
    (array([2., 1.]), array([1, 3]))
    """
    shift, n_ranges = _range_shift(n_nodes, _LOG2_RANGES_IN_PLACE)
    count = np.zeros(n_ranges + 1, dtype=np.int64)
    _count_heads(edges.tail, edges.head, shift, count)
    start = count.cumsum()
    _distribute_in_place(*edges, shift, start[:-1].copy(), start[1:])
    size = np.zeros_like(start)
    group = np.linspace(0, n_ranges, _N_GROUPS + 1).astype(np.int64)
    index = _empty_index(edges.n_edges, largest_index)
    steps = STEPS_PER_EDGE * edges.n_edges
    run_kernel(_merge_ranges_in_place, steps, group, start, shift, n_nodes, index, *edges, size)
    return close_gaps(edges, start, size)


def close_gaps(edges, start, size):
    """Move the first size[p + 1] edges of every part p together; return how many there are.

    Parameters
    ----------
    edges : SampledEdges
        Overwritten.
    start : ndarray
        Where every part begins.
    size : ndarray
        Edges left in every part, after a leading 0.
    """
    first = size.cumsum()
    for column in edges:
        for p in np.flatnonzero(first[:-1] < start[:-1]):
            column[first[p] : first[p + 1]] = column[start[p] : start[p] + size[p + 1]]
    return int(first[-1])


def repeated_fraction(tail, head):
    """Estimate the fraction of edges that are parallel to an earlier one.

    Pairs of nodes are sampled by their hash, so that all edges of a pair are sampled or none.

    >>> tail, head = np.zeros(1000, np.int32), np.repeat(np.arange(1, 501, dtype=np.int32), 2)
    >>> repeated_fraction(tail, head)
    0.5
    """
    one_in = 1 << max((tail.size // _N_SAMPLED_PAIRS).bit_length() - 1, 0)
    keys = np.empty(4 * tail.size // one_in + 64, dtype=np.uint64)
    n_keys = _sample_pairs(tail, head, np.uint64(one_in - 1), keys)
    if n_keys == 0:
        return 0.0
    return 1 - np.unique(keys[:n_keys]).size / n_keys


def _range_shift(n_nodes, log2_ranges):
    """Return by how many bits a node is shifted to its range, and the number of ranges."""
    shift = max((n_nodes - 1).bit_length() - log2_ranges, 0)
    return shift, (n_nodes - 1 >> shift) + 1


def _empty_index(n_edges, largest_index):
    """Return an empty array whose type numbers all edges: kernels take their type from it."""
    return np.empty(0, dtype=np.int32 if n_edges <= largest_index else np.int64)


def _coalesce_by_sorting(edges, n_nodes):
    low = np.minimum(edges.tail, edges.head)
    high = np.maximum(edges.tail, edges.head)
    key = low.astype(np.int64) * n_nodes + high
    _, first, pair = np.unique(key, return_index=True, return_inverse=True)
    # The kernels order the edges of a node by the first of the parallel ones.
    order = np.lexsort((first, low[first]))
    position = np.empty(first.size, dtype=np.int64)
    position[order] = np.arange(first.size)
    position = position[pair]
    first = first[order]
    return SampledEdges(
        tail=low[first],
        head=high[first],
        weight=np.bincount(position, edges.weight).astype(np.float64),
        in_forest=np.bincount(position, edges.in_forest) > 0,
    )


@njit_cached
def _sample_pairs(tail, head, mask, keys):
    """Write the keys of pairs whose hash is 0 under the mask; return how many there are."""
    n_keys = 0
    for e in range(tail.size):
        low = np.uint64(min(tail[e], head[e]))
        high = np.uint64(max(tail[e], head[e]))
        key = mix64((low << np.uint64(32)) | high)
        if key & mask == 0 and n_keys < keys.size:
            keys[n_keys] = key
            n_keys += 1
    return n_keys


@parallel_njit
def _count_tails(part, tail, head, shift, counts):
    for p in numba.prange(part.size - 1):
        for e in range(part[p], part[p + 1]):
            counts[p, min(tail[e], head[e]) >> shift] += 1


@parallel_njit
def _distribute(
    part,
    tail,
    head,
    weight,
    in_forest,
    shift,
    next_slot,
    new_tail,
    new_head,
    new_weight,
    new_in_forest,
):
    """Copy every edge, smaller node first, to the next slot of its part in its range."""
    for p in numba.prange(part.size - 1):
        slots = next_slot[p]
        for e in range(part[p], part[p + 1]):
            low = min(tail[e], head[e])
            slot = slots[low >> shift]
            slots[low >> shift] += 1
            new_tail[slot] = low
            new_head[slot] = max(tail[e], head[e])
            new_weight[slot] = weight[e]
            new_in_forest[slot] = in_forest[e]


@parallel_njit
def _merge_ranges(
    group,
    start,
    shift,
    n_nodes,
    index,
    tail,
    head,
    weight,
    in_forest,
    new_tail,
    new_head,
    new_weight,
    new_in_forest,
    size,
):
    """Merge parallel edges within every range; size[r + 1] edges are left in range r."""
    for g in numba.prange(group.size - 1):
        slot_of_node = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            a = start[r]
            b = start[r + 1]
            order, bounds = _order_by_node(tail[a:b], r << shift, 1 << shift, index)
            old = (tail[a:b], head[a:b], weight[a:b], in_forest[a:b])
            new = (new_tail, new_head, new_weight, new_in_forest)
            size[r + 1] = _merge_ordered(order, bounds, slot_of_node, old, new, a) - a


@njit_cached
def _count_heads(tail, head, shift, count):
    for e in range(tail.size):
        count[(max(tail[e], head[e]) >> shift) + 1] += 1


@njit_cached
def _distribute_in_place(tail, head, weight, in_forest, shift, next_slot, end):
    """Swap edges, smaller node first, into the range of their larger node."""
    for r in range(end.size):
        while next_slot[r] < end[r]:
            e = next_slot[r]
            low, high = min(tail[e], head[e]), max(tail[e], head[e])
            w, f = weight[e], in_forest[e]
            # Follow the cycle: put the edge in hand into its range, and take out what is there.
            target = high >> shift
            while target != r:
                slot = next_slot[target]
                next_slot[target] = slot + 1
                next_low, next_high = min(tail[slot], head[slot]), max(tail[slot], head[slot])
                next_w, next_f = weight[slot], in_forest[slot]
                tail[slot], head[slot], weight[slot], in_forest[slot] = low, high, w, f
                low, high, w, f = next_low, next_high, next_w, next_f
                target = high >> shift
            tail[e], head[e], weight[e], in_forest[e] = low, high, w, f
            next_slot[r] = e + 1


@parallel_njit
def _merge_ranges_in_place(
    group, start, shift, n_nodes, index, tail, head, weight, in_forest, size
):
    """Sort every range by head and merge parallel edges; size[r + 1] are left in range r."""
    for g in numba.prange(group.size - 1):
        slot_of_node = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            a = start[r]
            b = start[r + 1]
            order, bounds = _order_by_node(head[a:b], r << shift, 1 << shift, index)
            old = (head[a:b].copy(), tail[a:b].copy(), weight[a:b].copy(), in_forest[a:b].copy())
            new = (head, tail, weight, in_forest)
            size[r + 1] = _merge_ordered(order, bounds, slot_of_node, old, new, a) - a


@inline_njit
def _merge_ordered(order, bounds, slot_of_node, old, new, end):
    """Write edges, ordered by one of their nodes, from `end` on with parallel ones merged.

    `old` and `new` are the columns node, other node, weight, in_forest. Entries of `slot_of_node`
    below `end` are those of earlier nodes. Returns the new end.
    """
    node, other, weight, in_forest = old
    new_node, new_other, new_weight, new_in_forest = new
    for u in range(bounds.size - 1):
        first = end
        for i in range(bounds[u], bounds[u + 1]):
            e = order[i]
            slot = slot_of_node[other[e]]
            if slot >= first:
                new_weight[slot] += weight[e]
                new_in_forest[slot] |= in_forest[e]
            else:
                slot_of_node[other[e]] = end
                new_node[end] = node[e]
                new_other[end] = other[e]
                new_weight[end] = weight[e]
                new_in_forest[end] = in_forest[e]
                end += 1
    return end


@inline_njit
def _order_by_node(node, first, n_nodes, index):
    """Return the order of edges by node first, ..., first + n_nodes - 1, and where each begins."""
    bounds = np.zeros(n_nodes + 1, dtype=index.dtype)
    for e in range(node.size):
        bounds[node[e] - first + 1] += 1
    for u in range(n_nodes):
        bounds[u + 1] += bounds[u]
    next_slot = bounds[:-1].copy()
    order = np.empty(node.size, dtype=index.dtype)
    for e in range(node.size):
        order[next_slot[node[e] - first]] = e
        next_slot[node[e] - first] += 1
    return order, bounds
