"""Merge parallel edges: add the weights of edges between the same two nodes.

Edges are swapped within their columns, in linear time, since a second copy of a large sample might
not fit into memory. They are first distributed into ranges of their larger node, each small enough
for the cache. Within a range they are sorted by that node, and a table with one entry per node
finds an earlier parallel edge. Threads merge groups of ranges, whose number is fixed, so that no
result depends on the number of threads.

Nodes are numbered as they appear, so that the smaller node of an edge is often a hub, whose entry
in a table of nodes is in the cache whenever loops run over edges in order of the larger node.
"""

import numba
import numpy as np
from scipy.sparse import get_index_dtype

from graphsqueak.system.kernels import (
    inline_njit,
    njit_cached,
    parallel_njit,
    parts,
    run_kernel,
)

# 2^8 ranges of nodes: of a million edges, the columns of one range take 70 kB, less than the L2
# cache. With 2^7 or 2^9 ranges, merging three million edges takes up to 40 % longer.
_LOG2_RANGES = 8


def coalesce(edges, n_nodes):
    """Merge parallel edges within their columns; return how many are left, at the beginning.

    Afterwards tail < head, and edges are sorted by head. A merged edge is in the forest if one of
    its parts was.

    Parameters
    ----------
    edges : SampledEdges
        Overwritten.
    n_nodes : int

    Examples
    --------
    >>> from graphsqueak.sparsifiers.stream.edge_buffer import SampledEdges
    >>> in_forest = np.array([True, False, False])
    >>> edges = SampledEdges(np.array([3, 1, 0]), np.array([2, 0, 1]), np.ones(3), in_forest)
    >>> n_left = coalesce(edges, 4)
    >>> edges.weight[:n_left], edges.head[:n_left]
    (array([2., 1.]), array([1, 3]))
    """
    # A node is shifted by this number of bits to its range.
    shift = max((n_nodes - 1).bit_length() - _LOG2_RANGES, 0)
    n_ranges = (n_nodes - 1 >> shift) + 1
    count = np.zeros(n_ranges + 1, dtype=np.int64)
    _count_heads(edges.tail, edges.head, shift, count)
    start = count.cumsum()
    _distribute(*edges, shift, start[:-1].copy(), start[1:])
    size = np.zeros_like(start)
    run_kernel(
        _merge_ranges,
        edges.n_edges,
        parts(n_ranges),
        start,
        shift,
        n_nodes,
        # Kernels number edges by integers of this type.
        np.empty(0, dtype=get_index_dtype(maxval=edges.n_edges)),
        *edges,
        size,
    )
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


@njit_cached
def _count_heads(tail, head, shift, count):
    for e in range(tail.size):
        count[(max(tail[e], head[e]) >> shift) + 1] += 1


@njit_cached
def _distribute(tail, head, weight, in_forest, shift, next_slot, end):
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
def _merge_ranges(group, start, shift, n_nodes, index, tail, head, weight, in_forest, size):
    """Sort every range by head and merge parallel edges; size[r + 1] are left in range r."""
    for g in numba.prange(group.size - 1):
        slot_of_node = np.full(n_nodes, -1, dtype=index.dtype)
        for r in range(group[g], group[g + 1]):
            a = start[r]
            b = start[r + 1]
            columns = (tail[a:b], head[a:b], weight[a:b], in_forest[a:b])
            size[r + 1] = _merge_range(r << shift, 1 << shift, index, slot_of_node, columns, a)


@inline_njit
def _merge_range(first_node, n_nodes, index, slot_of_node, edges, start):
    """Sort edges by head and merge parallel ones; return how many are left.

    Slots are numbered from `start`. Smaller entries of `slot_of_node` are those of earlier nodes.
    """
    new_tail, new_head, new_weight, new_in_forest = edges
    order, bounds = _order_by_node(new_head, first_node, n_nodes, index)
    tail = new_tail.copy()
    head = new_head.copy()
    weight = new_weight.copy()
    in_forest = new_in_forest.copy()
    end = 0
    for u in range(n_nodes):
        first = end
        for i in range(bounds[u], bounds[u + 1]):
            e = order[i]
            slot = slot_of_node[tail[e]] - start
            if slot >= first:
                new_weight[slot] += weight[e]
                new_in_forest[slot] |= in_forest[e]
            else:
                slot_of_node[tail[e]] = start + end
                new_tail[end] = tail[e]
                new_head[end] = head[e]
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
