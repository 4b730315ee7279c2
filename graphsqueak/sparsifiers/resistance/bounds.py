"""Bounds on resistances that cost no solve: from degrees, and from a hierarchy of cuts.

Shorting all nodes but u and v to one lowers r(u, v), deleting all edges but those between the two
raises it. With the degrees d and the weight w between them,

    (d_u + d_v - 2 w) / (d_u d_v - w^2) <= r(u, v) <= 1 / w.

*Cuts.* Merge clusters along the edges from the heaviest to the lightest (single linkage). The edges
that join two clusters A and B at the moment of their merge weigh w(A, B) together; a and b is what
A and B weigh towards all other nodes. Shorting each of the three, A, B and the rest, to one node
never raises a resistance (Rayleigh), so for every edge between A and B

    r >= 1 / (w(A, B) + a b / (a + b)),

exactly 1 / w(A, B) where the two are all there is. Across a weak cut this is nearly the whole
resistance, and it has no noise: a sketch of k signs is off there by a factor of chi^2_k / k, the
same one for all edges of the cut.

An edge weighs at most as much as the one that merges its ends, and both a cluster's edges outwards
and those added before it in the order of merges do: so no sum below cancels.
"""

import numba
import numpy as np

from graphsqueak.system.kernels import njit_cached, parallel_njit, run_kernel

__all__ = ["cut_bounds", "degree_bound", "resistance_bounds"]

_WORK = 20  # elementary steps per edge


def cut_bounds(tail, head, weight, n_nodes):
    """Lower bound on r(tail, head) of every edge.

    Parameters
    ----------
    tail, head, weight : arrays
        The edges, none of them a loop.
    n_nodes : int

    Examples
    --------
    Two triangles joined by two edges of weight 0.001, whose resistance is a little above 500:

    >>> tail, head = np.array([0, 1, 2, 3, 4, 5, 0, 1]), np.array([1, 2, 0, 4, 5, 3, 3, 4])
    >>> weight = np.repeat([1.0, 0.001], [6, 2])
    >>> cut_bounds(tail, head, weight, 6)[6:]
    array([500., 500.])
    """
    order = np.argsort(-weight, kind="stable")
    parent, merge, left, right = _merge_clusters(tail, head, order, n_nodes)
    at = np.empty(tail.size, dtype=np.int64)
    run_kernel(_merges_of_edges, _WORK * tail.size, tail, head, parent, merge, at)
    first, last = _ranges(left, right, n_nodes)
    bound = _bounds(
        tail, head, weight, at, np.argsort(-at, kind="stable"), left, right, first, last
    )
    return bound[at]


def resistance_bounds(degree_tail, degree_head, weight):
    """Bounds on r(u, v) from the degrees and the (summed) weight w between the two nodes.

    >>> resistance_bounds(np.array([2.0]), np.array([2.0]), np.array([1.0]))  # a triangle: 2/3
    (array([0.66666667]), array([1.]))
    """
    lower, upper = np.empty(weight.size), np.empty(weight.size)
    _degree_bounds(degree_tail, degree_head, weight, lower, upper)
    return lower, upper


@njit_cached(inline="always")
def degree_bound(d_u, d_v, w):
    """Lower and upper bound, in units of w: (x + y - 2) / (x y - 1) cannot overflow."""
    if w == 0.0:
        return 1 / d_u + 1 / d_v, np.inf
    x, y = d_u / w, d_v / w
    if x * y <= 1 + 1e-12:  # the edge is a component by itself
        return 1 / w, 1 / w
    return min((x + y - 2) / (x * y - 1), 1.0) / w, 1 / w


@njit_cached
def _degree_bounds(degree_tail, degree_head, weight, lower, upper):
    for e in range(weight.size):
        lower[e], upper[e] = degree_bound(degree_tail[e], degree_head[e], weight[e])


@njit_cached
def _merge_clusters(tail, head, order, n_nodes):
    """Kruskal: a tree of all nodes by size, the merge that hung each up, and what merges joined.

    Clusters 0, ..., n_nodes - 1 are single nodes, n_nodes + k is made by merge k.
    """
    parent = np.arange(n_nodes)
    merge = np.full(n_nodes, n_nodes)  # none
    size = np.ones(n_nodes, dtype=np.int64)
    cluster = np.arange(n_nodes)
    left, right = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    n_merges = 0
    for e in order:
        u, v = tail[e], head[e]
        while parent[u] != u:
            u = parent[u]
        while parent[v] != v:
            v = parent[v]
        if u == v:
            continue
        if size[u] > size[v]:
            u, v = v, u
        parent[u], merge[u] = v, n_merges
        size[v] += size[u]
        left[n_merges], right[n_merges] = cluster[u], cluster[v]
        cluster[v] = n_nodes + n_merges
        n_merges += 1
    return parent, merge, left[:n_merges], right[:n_merges]


@parallel_njit
def _merges_of_edges(tail, head, parent, merge, at):
    """The merge that joined the two ends of every edge: the latest between them in the tree."""
    for e in numba.prange(tail.size):
        u, v = np.int64(tail[e]), np.int64(head[e])
        latest = np.int64(0)
        while u != v:
            if merge[u] < merge[v]:
                latest, u = merge[u], parent[u]
            else:
                latest, v = merge[v], parent[v]
        at[e] = latest


@njit_cached
def _ranges(left, right, n_nodes):
    """An order of the nodes in which every cluster c is first[c], ..., last[c] - 1."""
    n_clusters = n_nodes + left.size
    size = np.ones(n_clusters, dtype=np.int64)
    inside = np.zeros(n_clusters, dtype=np.bool_)
    for k in range(left.size):
        size[n_nodes + k] = size[left[k]] + size[right[k]]
        inside[left[k]] = inside[right[k]] = True
    first = np.zeros(n_clusters, dtype=np.int64)
    end = 0
    for c in range(n_clusters - 1, -1, -1):
        if not inside[c]:
            first[c] = end
            end += size[c]
        if c >= n_nodes:
            first[left[c - n_nodes]] = first[c]
            first[right[c - n_nodes]] = first[c] + size[left[c - n_nodes]]
    return first, first + size


@njit_cached
def _bounds(tail, head, weight, at, order, left, right, first, last):
    """The bound of every merge, from the last one to the first, in a tree of partial sums."""
    n_nodes = first.size - left.size
    sums = np.zeros(n_nodes + 1)
    bound = np.empty(left.size)
    start = 0
    for k in range(left.size - 1, -1, -1):
        a = _range_sum(sums, first[left[k]], last[left[k]])
        b = _range_sum(sums, first[right[k]], last[right[k]])
        between = 0.0
        stop = start
        while stop < order.size and at[order[stop]] == k:
            between += weight[order[stop]]
            stop += 1
        bound[k] = 1 / (between + (a / (a + b) * b if a > 0 and b > 0 else 0.0))
        for i in range(start, stop):
            e = order[i]
            _add(sums, first[tail[e]], weight[e])
            _add(sums, first[head[e]], weight[e])
        start = stop
    return bound


@njit_cached(inline="always")
def _add(sums, index, value):
    i = index + 1
    while i < sums.size:
        sums[i] += value
        i += i & -i


@njit_cached(inline="always")
def _range_sum(sums, low, high):
    total = 0.0
    while high > low:
        total += sums[high]
        high -= high & -high
    while low > high:
        total -= sums[low]
        low -= low & -low
    return max(total, 0.0)
