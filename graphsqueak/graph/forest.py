"""Union-find over a stream of edges, and algorithms on spanning forests.

The edges that merge two components, in the order of the stream, form a spanning forest with the
same components as the graph. Union-find (`make_sets`, `union_edges`, `find_all`) finds them with
one integer per node. The exact degrees, one number per node, are summed in the same pass.

Each forest edge e defines a cut of the graph: removing e splits its component into two sides.

*Bridges* (cycle space sampling [PT11]). Every edge outside the forest gets a random 64-bit word,
and every node the exclusive or of the words of its edges. Take the exclusive or over all nodes on
one side of the cut of a forest edge. Words of edges inside the side cancel, and those of edges that
cross the cut remain. The result is zero for bridges, and for others with probability 2^-64.

*Paths*. The path between two nodes of a forest runs through their lowest common ancestor. The
heavy-path decomposition [ST83] finds it with at most log2(n) jumps.

*Bottleneck cuts*. The cuts of the lightest edges of a maximum spanning forest are where the error
of a bad sparsifier is largest. Eight of them take one byte per node: bit k is the side of cut k.

References
----------
[PT11] Pritchard, Thurimella. Fast computation of small cuts via cycle space sampling. ACM
       Transactions on Algorithms 7(4), 2011.
[ST83] Sleator, Tarjan. A data structure for dynamic trees. Journal of Computer and System
       Sciences 26(3), 1983.
"""

import numpy as np

from graphsqueak.randomness import random_bits
from graphsqueak.system.kernels import inline_njit, njit_cached, read_only_views


def make_sets(n_nodes):
    """Return the union-find parents of single nodes: each node is its own root."""
    return np.arange(n_nodes, dtype=np.int32 if n_nodes < 2**31 else np.int64)


def union_edges(parent, tail, head):
    """Merge the components of both ends of every edge, in order; `parent` is changed in place.

    Returns
    -------
    ndarray of bool
        Whether an edge merged two components. These edges are a spanning forest.

    Examples
    --------
    >>> union_edges(make_sets(4), np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3])).tolist()
    [True, True, False, True]
    """
    in_forest = np.empty(tail.size, dtype=np.bool_)
    # Read-only views, so that the kernel is compiled for one kind of array only.
    _union_edges(parent, *read_only_views(tail, head), in_forest)
    return in_forest


def find_all(parent):
    """Return the root of every node, the smallest node of its component.

    >>> parent = make_sets(3)
    >>> _ = union_edges(parent, np.array([2]), np.array([1]))
    >>> find_all(parent).tolist()
    [0, 1, 1]
    """
    return _find_all(parent)


def append_growable(values, more):
    """Return an array of `values` followed by `more`, with spare memory for later calls.

    The buffer of the result is 1.5 times as long as needed. Appending to the result again reuses
    it, so that adding n values a few at a time copies O(n) values in total. The arguments do not
    change.

    >>> append_growable(append_growable(np.array([3, 4]), np.array([5])), np.array([6])).tolist()
    [3, 4, 5, 6]
    """
    size = values.size + more.size
    buffer = values.base
    # Reuse the buffer only if no other array was extended into its spare part.
    is_reusable = (
        isinstance(buffer, _GrowableBuffer) and buffer.n_used == values.size and buffer.size >= size
    )
    if not is_reusable:
        buffer = _GrowableBuffer(size + size // 2, values.dtype)
        buffer[: values.size] = values
    buffer[values.size : size] = more
    buffer.n_used = size
    return np.ndarray(size, values.dtype, buffer=buffer)


class _GrowableBuffer(np.ndarray):
    """Memory whose first `n_used` values are in use."""

    n_used = 0


def find_bridges(tail, head, in_forest, n_nodes, *, seed):
    """Return a mask of the edges whose removal disconnects their ends.

    Parameters
    ----------
    tail, head : arrays of int
        The edges, without parallel edges.
    in_forest : array of bool
        Mask of the edges of a spanning forest.
    n_nodes, seed : int

    Examples
    --------
    A triangle with one more edge at node 2:

    >>> tail, head = np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3])
    >>> find_bridges(tail, head, np.array([True, True, False, True]), 4, seed=7)
    array([False, False, False,  True])
    """
    forest = np.flatnonzero(in_forest)
    order, parent, parent_edge = root_forest(tail[forest], head[forest], n_nodes)
    is_bridge = np.zeros(tail.size, dtype=np.bool_)
    _mark_bridges(
        tail, head, in_forest, forest, order, parent, parent_edge, np.uint64(seed), is_bridge
    )
    return is_bridge


def path_resistances(tail, head, weight, in_forest, n_nodes):
    """Return the resistance between both ends of every edge along the path in a forest.

    The resistance of a path is the sum of 1 / weight of its edges.

    Parameters
    ----------
    tail, head, weight : arrays
        The edges.
    in_forest : array of bool
        Mask of the edges of a spanning forest.
    n_nodes : int

    Examples
    --------
    A cycle of four edges; the forest is the path of the first three:

    >>> tail, head = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    >>> in_forest = np.array([True, True, True, False])
    >>> path_resistances(tail, head, np.array([1.0, 2.0, 4.0, 1.0]), in_forest, 4)
    array([1.  , 0.5 , 0.25, 1.75])
    """
    forest = np.flatnonzero(in_forest)
    order, parent, parent_edge = root_forest(tail[forest], head[forest], n_nodes)
    top, depth, distance = _heavy_paths(order, parent, parent_edge, 1 / weight[forest])
    resistance = np.empty(tail.size)
    _path_sums(tail, head, parent, top, depth, distance, resistance)
    return resistance


def approx_max_forest(tail, head, weight, n_nodes):
    """Return the edges of a spanning forest of nearly maximum weight, heavy edges first.

    Kruskal's algorithm on the binary exponents of the weights. Unlike weights, exponents are
    16-bit integers, which numpy sorts in linear time.

    >>> tail, head = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> approx_max_forest(tail, head, np.array([1.0, 2.0, 4.0]), 3).tolist()
    [2, 1]
    """
    exponent = np.frexp(weight)[1].astype(np.int16)
    order = np.argsort(-exponent, kind="stable")
    return order[union_edges(make_sets(n_nodes), tail[order], head[order])]


def bottleneck_cuts(tail, head, weight, n_nodes):
    """Return one byte per node: bit k is its side of the cut of the k-th lightest forest edge.

    The forest is that of `approx_max_forest`.

    >>> bottleneck_cuts(np.array([0, 1]), np.array([1, 2]), np.array([5.0, 2.0]), 3)
    array([0, 2, 3], dtype=uint8)
    """
    forest = approx_max_forest(tail, head, weight, n_nodes)
    n_cuts = min(forest.size, np.iinfo(np.uint8).bits)
    # Heavy edges come first: the last forest edge is the lightest and gets bit 0.
    bit_of_edge = np.zeros(forest.size, dtype=np.uint8)
    bit_of_edge[forest.size - n_cuts :] = 1 << np.arange(n_cuts - 1, -1, -1, dtype=np.uint8)
    order, parent, parent_edge = root_forest(tail[forest], head[forest], n_nodes)
    sides = np.zeros(n_nodes, dtype=np.uint8)
    _mark_sides(order, parent, parent_edge, bit_of_edge, sides)
    return sides


def root_forest(tail, head, n_nodes):
    """Root every tree of a forest at its smallest node.

    Returns
    -------
    order : ndarray of int, shape (n_nodes,)
        The nodes, parents before their children.
    parent, parent_edge : ndarray of int, shape (n_nodes,)
        Parent of each node and the edge to it; -1 for roots.

    Examples
    --------
    >>> order, parent, parent_edge = root_forest(np.array([1, 0]), np.array([2, 2]), 3)
    >>> order.tolist(), parent.tolist(), parent_edge.tolist()
    ([0, 2, 1], [-1, 2, 0], [-1, 0, 1])
    """
    # Twice the number must fit: the other end of an edge is tail + head - end.
    dtype = np.int32 if n_nodes < 2**30 else np.int64
    order, parent, parent_edge = (np.full(n_nodes, -1, dtype) for _ in range(3))
    _remove_leaves(tail, head, order, parent, parent_edge)
    return order, parent, parent_edge


@njit_cached
def add_degrees(degree, tail, head, weight):
    """Add the weights of edges to the degrees of their ends, in order."""
    for e in range(tail.size):
        degree[tail[e]] += weight[e]
        degree[head[e]] += weight[e]


@njit_cached
def add_degrees_and_squares(degree, square_sum, tail, head, weight):
    """Add the weights of edges, and their squares, at both ends, in order."""
    # Two loops take two thirds of the time of one, since the cache holds one array of nodes.
    for e in range(tail.size):
        degree[tail[e]] += weight[e]
        degree[head[e]] += weight[e]
    for e in range(tail.size):
        square = weight[e] * weight[e]
        square_sum[tail[e]] += square
        square_sum[head[e]] += square


@inline_njit
def _find_root(parent, node):
    """Return the root of a node, halving the path to it."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@inline_njit
def _union(parent, u, v):
    """Merge the components of two nodes; return whether they were different."""
    # Most edges lie inside a component, whose nodes mostly point to its root already.
    if parent[u] == parent[v]:
        return False
    u = _find_root(parent, u)
    v = _find_root(parent, v)
    # The smaller root stays, so that the root is the smallest node of its component.
    parent[max(u, v)] = min(u, v)
    return u != v


@njit_cached
def _union_edges(parent, tail, head, in_forest):
    for e in range(tail.size):
        in_forest[e] = _union(parent, tail[e], head[e])


@njit_cached
def _find_all(parent):
    root = np.empty_like(parent)
    for node in range(parent.size):
        root[node] = _find_root(parent, node)
    return root


@njit_cached
def _remove_leaves(tail, head, order, parent, parent_edge):
    """Remove a leaf at a time, the largest first: its last edge leads to its parent."""
    n_nodes = order.size
    n_edges_left = np.zeros(n_nodes, order.dtype)
    # Exclusive or of the edges of a node: of a leaf, it is its last edge.
    edges_left = np.zeros(n_nodes, order.dtype)
    for e in range(tail.size):
        for u in (tail[e], head[e]):
            n_edges_left[u] += 1
            edges_left[u] ^= e
    n_left = n_nodes
    for first in range(n_nodes - 1, -1, -1):
        u = first
        # All larger leaves are gone. Removing u may turn its parent into another one. The smallest
        # node of a tree is left without edges: it is the root.
        while u >= first and n_edges_left[u] == 1:
            e = edges_left[u]
            # The other end, without a branch on which end u is.
            p = tail[e] + head[e] - u
            n_left -= 1
            order[n_left] = u
            parent[u] = p
            parent_edge[u] = e
            n_edges_left[u] = 0
            n_edges_left[p] -= 1
            edges_left[p] ^= e
            u = p
    # Roots come before all other nodes.
    for u in range(n_nodes):
        if parent[u] < 0:
            n_left -= 1
            order[n_left] = u


@njit_cached
def _mark_bridges(tail, head, in_forest, forest, order, parent, parent_edge, seed, is_bridge):
    words = np.zeros(order.size, dtype=np.uint64)
    for e in range(tail.size):
        if not in_forest[e]:
            word = random_bits(seed, np.uint64(tail[e]), np.uint64(head[e]))
            words[tail[e]] ^= word
            words[head[e]] ^= word
    # Children come before their parents: words[u] then covers the subtree of u.
    for u in order[::-1]:
        if parent[u] >= 0:
            is_bridge[forest[parent_edge[u]]] = words[u] == 0
            words[parent[u]] ^= words[u]


@njit_cached
def _mark_sides(order, parent, parent_edge, bit_of_edge, sides):
    for u in order:
        if parent[u] >= 0:
            sides[u] = sides[parent[u]] ^ bit_of_edge[parent_edge[u]]


@njit_cached
def _heavy_paths(order, parent, parent_edge, length):
    """Return for each node the top of its heavy path, its depth and its distance from the root."""
    n_nodes = order.size
    subtree_size = np.ones(n_nodes, dtype=np.int64)
    heavy_child = np.full(n_nodes, -1, dtype=np.int64)
    for u in order[::-1]:
        p = parent[u]
        if p >= 0:
            subtree_size[p] += subtree_size[u]
            if heavy_child[p] < 0 or subtree_size[u] > subtree_size[heavy_child[p]]:
                heavy_child[p] = u
    top = np.arange(n_nodes)
    depth = np.zeros(n_nodes, dtype=np.int64)
    distance = np.zeros(n_nodes)
    for u in order:
        p = parent[u]
        if p >= 0:
            depth[u] = depth[p] + 1
            distance[u] = distance[p] + length[parent_edge[u]]
            # The path of the parent continues at its heavy child; other children start a path.
            if heavy_child[p] == u:
                top[u] = top[p]
    return top, depth, distance


@njit_cached
def _path_sums(tail, head, parent, top, depth, distance, out):
    for e in range(tail.size):
        u = tail[e]
        v = head[e]
        # Leave the heavy path with the deeper top until both nodes are on the same path.
        while top[u] != top[v]:
            if depth[top[u]] < depth[top[v]]:
                v = parent[top[v]]
            else:
                u = parent[top[u]]
        ancestor = u if depth[u] < depth[v] else v
        out[e] = distance[tail[e]] + distance[head[e]] - 2 * distance[ancestor]
