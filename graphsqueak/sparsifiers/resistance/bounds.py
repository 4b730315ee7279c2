"""Bounds on effective resistances that need no solve: from degrees, and from nested cuts.

*Degrees.* Shorting all nodes except u and v lowers r(u, v). Deleting all edges except those between
u and v raises it. With the degrees d and the weight w between the two nodes,

    (d_u + d_v - 2 w) / (d_u d_v - w^2) <= r(u, v) <= 1 / w.

*Cuts.* Merge clusters along the edges from the heaviest to the lightest (single linkage). When
clusters A and B merge, let w(A, B) be the total weight of the edges between them, and let a and b
be the weights from A and from B to all other nodes. Shorting A, B and the rest to one node each
never raises a resistance (Rayleigh monotonicity), so every edge between A and B has

    r >= 1 / (w(A, B) + a b / (a + b)).

If A and B are a whole component, this is 1 / w(A, B). Across a bottleneck the bound is nearly the
whole resistance, and it has no noise. A sketch with k columns has an error there by a factor of
chi^2_k / k, the same one for all edges of the cut.

No sum below suffers from cancellation: an edge is never heavier than the edge that merges its ends,
so later terms of a sum are not small compared with earlier ones.
"""

import numba
import numpy as np

from graphsqueak.system.kernels import STEPS_PER_EDGE, njit_cached, parallel_njit, run_kernel

__all__ = ["cut_bounds", "degree_bound", "resistance_bounds"]


def cut_bounds(tail: np.ndarray, head: np.ndarray, weight: np.ndarray, n_nodes: int) -> np.ndarray:
    """Return a lower bound on the resistance of every edge, from the cuts of single linkage.

    Parameters
    ----------
    tail, head, weight : ndarray
        The edges, without self-loops.
    n_nodes : int

    Examples
    --------
    Two triangles joined by two edges of weight 0.001, whose resistance is a little above 500:

    >>> tail, head = np.array([0, 1, 2, 3, 4, 5, 0, 1]), np.array([1, 2, 0, 4, 5, 3, 3, 4])
    >>> weight = np.repeat([1.0, 0.001], [6, 2])
    >>> cut_bounds(tail, head, weight, 6)[6:]
    array([500., 500.])
    """
    heaviest_first = np.argsort(-weight, kind="stable")
    parent, merge_of_node, left, right = _merge_clusters(tail, head, heaviest_first, n_nodes)
    merge_of_edge = np.empty(tail.size, dtype=np.int64)
    run_kernel(
        _find_merges_of_edges,
        STEPS_PER_EDGE * tail.size,
        tail,
        head,
        parent,
        merge_of_node,
        merge_of_edge,
    )
    first, last = _order_clusters(left, right, n_nodes)
    latest_first = np.argsort(-merge_of_edge, kind="stable")
    bound_of_merge = _bounds_of_merges(
        tail, head, weight, merge_of_edge, latest_first, left, right, first, last
    )
    return bound_of_merge[merge_of_edge]


def resistance_bounds(
    degree_tail: np.ndarray, degree_head: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds on r(u, v) from degrees.

    Parameters
    ----------
    degree_tail, degree_head : ndarray
        Weighted degrees of u and v.
    weight : ndarray
        Total weight between u and v.

    Examples
    --------
    In a triangle r is 2/3:

    >>> resistance_bounds(np.array([2.0]), np.array([2.0]), np.array([1.0]))
    (array([0.66666667]), array([1.]))
    """
    lower = np.empty(weight.size)
    upper = np.empty(weight.size)
    _degree_bounds(degree_tail, degree_head, weight, lower, upper)
    return lower, upper


@njit_cached(inline="always")
def degree_bound(d_u, d_v, w):
    """Return the lower and the upper bound on r(u, v) from degrees."""
    if w == 0.0:
        return 1 / d_u + 1 / d_v, np.inf
    # In units of w, (x + y - 2) / (x y - 1) cannot overflow.
    x, y = d_u / w, d_v / w
    # Both degrees equal w up to rounding: the edge is a component.
    if x * y <= 1 + 1e-12:
        return 1 / w, 1 / w
    return min((x + y - 2) / (x * y - 1), 1.0) / w, 1 / w


@njit_cached
def _degree_bounds(degree_tail, degree_head, weight, lower, upper):
    for e in range(weight.size):
        lower[e], upper[e] = degree_bound(degree_tail[e], degree_head[e], weight[e])


@njit_cached
def _merge_clusters(tail, head, order, n_nodes):
    """Merge clusters by Kruskal's algorithm, with union by size.

    Returns the union-find tree, the merge that attached each node to its parent, and the two
    clusters of each merge. Clusters 0, ..., n_nodes - 1 are single nodes; merge k makes cluster
    n_nodes + k. Paths are not compressed: `_find_merges_of_edges` needs the merges along them.
    """
    parent = np.arange(n_nodes)
    # n_nodes, which is after all merges, for nodes that were never attached.
    merge_of_node = np.full(n_nodes, n_nodes)
    size = np.ones(n_nodes, dtype=np.int64)
    cluster = np.arange(n_nodes)
    left = np.empty(n_nodes, dtype=np.int64)
    right = np.empty(n_nodes, dtype=np.int64)
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
        parent[u] = v
        merge_of_node[u] = n_merges
        size[v] += size[u]
        left[n_merges] = cluster[u]
        right[n_merges] = cluster[v]
        cluster[v] = n_nodes + n_merges
        n_merges += 1
    return parent, merge_of_node, left[:n_merges], right[:n_merges]


@parallel_njit
def _find_merges_of_edges(tail, head, parent, merge_of_node, merge_of_edge):
    """Find the merge that joined the ends of each edge: the latest one on their path."""
    for e in numba.prange(tail.size):
        u, v = np.int64(tail[e]), np.int64(head[e])
        latest = np.int64(0)
        # Merges increase towards the root, so the end with the earlier merge moves up.
        while u != v:
            if merge_of_node[u] < merge_of_node[v]:
                latest = merge_of_node[u]
                u = parent[u]
            else:
                latest = merge_of_node[v]
                v = parent[v]
        merge_of_edge[e] = latest


@njit_cached
def _order_clusters(left, right, n_nodes):
    """Order the nodes so that every cluster c occupies positions first[c], ..., last[c] - 1."""
    n_clusters = n_nodes + left.size
    size = np.ones(n_clusters, dtype=np.int64)
    is_inside_another = np.zeros(n_clusters, dtype=np.bool_)
    for k in range(left.size):
        size[n_nodes + k] = size[left[k]] + size[right[k]]
        is_inside_another[left[k]] = is_inside_another[right[k]] = True
    first = np.zeros(n_clusters, dtype=np.int64)
    end = 0
    # From the largest clusters to single nodes: outer clusters are placed before inner ones.
    for c in range(n_clusters - 1, -1, -1):
        if not is_inside_another[c]:
            first[c] = end
            end += size[c]
        if c >= n_nodes:
            first[left[c - n_nodes]] = first[c]
            first[right[c - n_nodes]] = first[c] + size[left[c - n_nodes]]
    return first, first + size


@njit_cached
def _bounds_of_merges(tail, head, weight, merge_of_edge, order, left, right, first, last):
    """Return the bound of every merge, from the last merge to the first.

    A Fenwick tree over the ordered nodes holds the weights of all edges of later merges. These are
    the edges that leave the two clusters of the current merge.
    """
    n_nodes = first.size - left.size
    sums = np.zeros(n_nodes + 1)
    bound = np.empty(left.size)
    start = 0
    for k in range(left.size - 1, -1, -1):
        a = _range_sum(sums, first[left[k]], last[left[k]])
        b = _range_sum(sums, first[right[k]], last[right[k]])
        between = 0.0
        stop = start
        while stop < order.size and merge_of_edge[order[stop]] == k:
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
    """Add a value to one entry of a Fenwick tree."""
    i = index + 1
    while i < sums.size:
        sums[i] += value
        i += i & -i


@njit_cached(inline="always")
def _range_sum(sums, low, high):
    """Return the sum of entries low, ..., high - 1 of a Fenwick tree of positive numbers."""
    total = 0.0
    while high > low:
        total += sums[high]
        high -= high & -high
    while low > high:
        total -= sums[low]
        low -= low & -low
    # Rounding of the subtraction may leave a tiny negative number.
    return max(total, 0.0)
