"""Bounds on effective resistances that need no solve: from degrees, and from nested cuts.

*Degrees.* Shorting all nodes except u and v lowers r(u, v). Deleting all edges except those between
u and v raises it. With the degrees d and the weight w between the two nodes,

    (d_u + d_v - 2 w) / (d_u d_v - w^2) <= r(u, v) <= 1 / w.

The lower bound is k / (1 - w^2 / (d_u d_v)), where k = (d_u + d_v - 2 w) / (d_u d_v) is the part of
r that is known exactly (see `sketch`).

*Cuts.* Merge clusters along the edges from the heaviest to the lightest (single linkage). When
clusters A and B merge, let w(A, B) be the total weight of the edges between them, and let a and b
be the weights from A and from B to all other nodes. Shorting A, B and the rest to one node each
never raises a resistance (Rayleigh monotonicity), so every edge between A and B has

    r >= 1 / (w(A, B) + a b / (a + b)).

If A and B are a whole component, this is 1 / w(A, B). Across a bottleneck the bound is nearly the
whole resistance, and it has no noise. A sketch with k columns has an error there by a factor of
chi^2_k / k, the same one for all edges of the cut.

The weight c(A) of all edges that leave a cluster follows from those of the two clusters it is made
of, c(A + B) = c(A) + c(B) - 2 w(A, B), and a = c(A) - w(A, B). Cuts below the rounding errors of
these sums, about 1e-16 of all weights, may get a larger bound than stated above. Their edges are
then kept in any case.
"""

import numba
import numpy as np

from graphsqueak.system.kernels import njit_cached, parallel_njit, run_kernel


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
        tail.size,
        tail,
        head,
        parent,
        merge_of_node,
        merge_of_edge,
    )
    degree = np.bincount(tail, weight, n_nodes) + np.bincount(head, weight, n_nodes)
    between = np.bincount(merge_of_edge, weight, left.size)
    bound_of_merge = _bounds_of_merges(degree, left, right, between)
    return bound_of_merge[merge_of_edge]


def degree_terms(
    degree_tail: np.ndarray, degree_head: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what degrees determine about r(u, v): a part of it, a lower and an upper bound.

    Parameters
    ----------
    degree_tail, degree_head : ndarray
        Weighted degrees of u and v.
    weight : ndarray
        Total weight between u and v.

    Examples
    --------
    In a triangle r is 2/3:

    >>> degree_terms(np.array([2.0]), np.array([2.0]), np.array([1.0]))
    (array([0.5]), array([0.66666667]), array([1.]))
    """
    terms = np.empty((3, weight.size))
    _degree_terms(degree_tail, degree_head, weight, terms)
    return terms[0], terms[1], terms[2]


@njit_cached(inline="always")
def terms_of_degrees(d_u, d_v, w):
    """Return the part of r(u, v) that degrees determine, the lower and the upper bound."""
    # No product of two degrees, which might overflow.
    known = 1 / d_u + 1 / d_v - 2 * (w / d_u) / d_v
    if w == 0.0:
        return known, known, np.inf
    remainder = 1 - (w / d_u) * (w / d_v)
    # Both degrees equal w up to rounding: the edge is a component.
    lower = min(known / remainder, 1 / w) if remainder > 1e-12 else 1 / w
    return known, lower, 1 / w


@njit_cached
def _degree_terms(degree_tail, degree_head, weight, terms):
    for e in range(weight.size):
        terms[:, e] = terms_of_degrees(degree_tail[e], degree_head[e], weight[e])


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
def _bounds_of_merges(degree, left, right, between):
    """Return the bound of every merge, from the first merge to the last."""
    n_nodes = degree.size
    # Weight of all edges that leave a cluster.
    leaving = np.empty(n_nodes + left.size)
    leaving[:n_nodes] = degree
    bound = np.empty(left.size)
    for k in range(left.size):
        # Rounding of the subtraction may leave a tiny negative number.
        a = max(leaving[left[k]] - between[k], 0.0)
        b = max(leaving[right[k]] - between[k], 0.0)
        leaving[n_nodes + k] = a + b
        bound[k] = 1 / (between[k] + (a / (a + b) * b if a + b > 0 else 0.0))
    return bound
