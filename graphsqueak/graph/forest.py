"""A spanning forest kept while edges pass by: union-find over the stream.

The edges that join two components form a forest with exactly the components of the whole graph.
Memory is one integer per node. The exact degrees, one number per node, are added up alongside.

Taking an edge out of the forest parts the nodes of its component in two, a cut of the graph.

*Bridges.* Give every other edge a random word and let each node hold the exclusive or of the words
at it. Summed (by exclusive or) over one side of a forest edge's cut, words of edges inside the side
come twice and vanish; what is left are the edges that cross. It is zero for bridges, and for others
with probability 2^-64.

*Paths.* The path in a forest between two nodes leads over their lowest common ancestor, found by
jumps along chains of nodes, each continued by its child with the largest subtree: at most log2(n)
of them.

*Weak cuts.* The cuts of the lightest forest edges are where a sparsifier that went wrong went
wrong most. Eight of them are one byte per node: bit k of a node tells its side of cut k.
"""

import math

import numpy as np

from graphsqueak.randomness import random_bits
from graphsqueak.system.kernels import inline_njit, njit_cached, read_only_views

__all__ = [
    "add_degrees",
    "extended",
    "find_bridges",
    "heavy_forest",
    "join",
    "labels",
    "path_resistances",
    "rooted",
    "roots",
    "weak_cuts",
]

_N_CUTS = 8
_CLASS_BITS = 6  # of classes by weight


def roots(n_nodes):
    """Every node alone, the root of itself."""
    return np.arange(n_nodes, dtype=np.int32 if n_nodes < 2**31 else np.int64)


def extended(values, more):
    """Values of nodes with those of more nodes behind them.

    There is room for half as many again, which the next calls take: nodes that come a few at a time
    are not copied each time. What was handed in stays as it is.

    >>> extended(extended(np.array([3, 4]), np.array([5])), np.array([6])).tolist()
    [3, 4, 5, 6]
    """
    n_nodes, room = values.size + more.size, values.base
    if not isinstance(room, _Room) or room.n_used != values.size or room.size < n_nodes:
        room = _Room(n_nodes + n_nodes // 2, values.dtype)
        room[: values.size] = values
    room[values.size : n_nodes] = more
    room.n_used = n_nodes
    return np.ndarray(n_nodes, values.dtype, buffer=room)


class _Room(np.ndarray):
    """Memory of which the first `n_used` values are in use."""

    n_used = 0


def join(parent, tail, head):
    """Unite the ends of every edge, in order; true where an edge joined two components.

    `parent` is changed in place.

    >>> join(roots(4), np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3])).tolist()
    [True, True, False, True]
    """
    joins = np.empty(tail.size, dtype=np.bool_)
    _join(parent, *read_only_views(tail, head), joins)
    return joins


def labels(parent):
    """The smallest node of each node's component.

    >>> parent = roots(3)
    >>> _ = join(parent, np.array([2]), np.array([1]))
    >>> labels(parent).tolist()
    [0, 1, 1]
    """
    out = np.empty_like(parent)
    _labels(parent, out)
    return out


def find_bridges(tail, head, in_forest, n_nodes, *, seed):
    """Mask of the forest edges that no other edge goes round.

    Parameters
    ----------
    tail, head : arrays of int
        The edges, none of them parallel to another.
    in_forest : array of bool
        Which of them are a spanning forest.
    n_nodes, seed : int

    Examples
    --------
    A triangle with a tail:

    >>> tail, head = np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3])
    >>> find_bridges(tail, head, np.array([True, True, False, True]), 4, seed=7)
    array([False, False, False,  True])
    """
    forest = np.flatnonzero(in_forest)
    order, parent, above = rooted(tail[forest], head[forest], n_nodes)
    words = np.zeros(n_nodes, dtype=np.uint64)
    _add_words(tail, head, in_forest, np.uint64(seed), words)
    bridge = np.zeros(forest.size, dtype=np.bool_)
    _mark_bridges(order, parent, above, words, bridge)
    mask = np.zeros(tail.size, dtype=np.bool_)
    mask[forest] = bridge
    return mask


def path_resistances(tail, head, weight, in_forest, n_nodes):
    """Sum of 1 / weight along the forest's path between the ends of every edge.

    Parameters
    ----------
    tail, head, weight : arrays
        The edges.
    in_forest : array of bool
        Which of them are a spanning forest.
    n_nodes : int

    Examples
    --------
    A square without its last edge is a path; the resistances along it add up:

    >>> tail, head = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    >>> in_forest = np.array([True, True, True, False])
    >>> path_resistances(tail, head, np.array([1.0, 2.0, 4.0, 1.0]), in_forest, 4)
    array([1.  , 0.5 , 0.25, 1.75])
    """
    forest = np.flatnonzero(in_forest)
    order, parent, above = rooted(tail[forest], head[forest], n_nodes)
    out = np.empty(tail.size)
    _path_sums(order, parent, above, 1 / weight[forest], tail, head, out)
    return out


def heavy_forest(tail, head, weight, n_nodes):
    """Edges of a spanning forest of nearly maximal weight, heavy ones first.

    Edges are taken by the binary exponents of their weights (by pairs of these, or more, where
    there are more than 64). So two parts that only light edges join are joined by one of them.

    >>> tail, head = np.array([0, 1, 0]), np.array([1, 2, 2])
    >>> heavy_forest(tail, head, np.array([1.0, 2.0, 4.0]), 3).tolist()
    [2, 1]
    """
    forest = np.empty(n_nodes, _kind_for(tail.size))
    if tail.size == 0:
        return forest[:0]
    lowest, highest = np.frexp(np.array([weight.min(), weight.max()], dtype=np.float64))[1]
    shift = max(int(highest - lowest).bit_length() - _CLASS_BITS, 0)
    weight_class = np.empty(tail.size, np.uint8)
    _tell_classes(weight, highest, shift, weight_class)
    n_classes = (highest - lowest >> shift) + 1
    n_joins = _heavy_forest(tail, head, weight_class, n_classes, roots(n_nodes), forest)
    return forest[:n_joins]


def weak_cuts(tail, head, weight, n_nodes):
    """One byte per node: its sides of eight cuts, those of the lightest edges of `heavy_forest`.

    >>> weak_cuts(np.array([0, 1]), np.array([1, 2]), np.array([5.0, 2.0]), 3)
    array([0, 2, 3], dtype=uint8)
    """
    forest = heavy_forest(tail, head, weight, n_nodes)
    bit = np.zeros(forest.size, dtype=np.uint8)
    bit[-_N_CUTS:] = (1 << np.arange(_N_CUTS, dtype=np.uint8))[: bit.size][::-1]
    order, parent, above = rooted(tail[forest], head[forest], n_nodes)
    sides = np.zeros(n_nodes, dtype=np.uint8)
    _mark_sides(order, parent, above, bit, sides)
    return sides


def rooted(tail, head, n_nodes):
    """Nodes of a forest, parents first, their parents, and the edges up to these; -1 for none.

    >>> order, parent, above = rooted(np.array([1, 0]), np.array([2, 2]), 3)
    >>> order.tolist(), parent.tolist(), above.tolist()
    ([0, 2, 1], [-1, 2, 0], [-1, 0, 1])
    """
    kind = _kind_for(n_nodes)
    start, at = np.zeros(n_nodes + 2, kind), np.empty(2 * tail.size, kind)
    order, parent, above = (np.full(n_nodes, -1, kind) for _ in range(3))
    _root_forest(tail, head, start, at, order, parent, above)
    return order, parent, above


def _kind_for(largest):
    """The type in which numbers up to twice as large are held."""
    return np.int32 if largest < 2**30 else np.int64


@njit_cached
def add_degrees(degree, tail, head, weight):
    """Add the weights of edges to the degrees of their ends, in order."""
    for e in range(tail.size):
        degree[tail[e]] += weight[e]
        degree[head[e]] += weight[e]


@inline_njit
def _root(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@njit_cached
def _join(parent, tail, head, joins):
    for e in range(tail.size):
        if parent[tail[e]] == parent[head[e]]:
            joins[e] = False
            continue
        u, v = _root(parent, tail[e]), _root(parent, head[e])
        joins[e] = u != v
        if u < v:
            parent[v] = u
        else:
            parent[u] = v


@njit_cached
def _labels(parent, out):
    for node in range(parent.size):
        out[node] = _root(parent, node)


@njit_cached
def _tell_classes(weight, highest, shift, weight_class):
    """Classes by binary exponents, 0 for the heaviest."""
    for e in range(weight.size):
        weight_class[e] = (highest - math.frexp(weight[e])[1]) >> shift


@njit_cached
def _heavy_forest(tail, head, weight_class, n_classes, parent, forest):
    """Edges that join components, taken class by class; how many."""
    n_joins = 0
    for own in range(n_classes):
        for e in range(tail.size):
            if weight_class[e] != own or parent[tail[e]] == parent[head[e]]:
                continue
            u, v = _root(parent, tail[e]), _root(parent, head[e])
            if u != v:
                parent[max(u, v)] = min(u, v)
                forest[n_joins] = e
                n_joins += 1
    return n_joins


@njit_cached
def _root_forest(tail, head, start, at, order, parent, above):
    """Breadth-first search. The edges at a node u are at[start[u]], ..., at[start[u + 1] - 1]."""
    for e in range(tail.size):
        start[tail[e] + 2] += 1
        start[head[e] + 2] += 1
    for u in range(start.size - 1):
        start[u + 1] += start[u]
    for e in range(tail.size):
        for u in (tail[e], head[e]):
            at[start[u + 1]] = e
            start[u + 1] += 1
    end = 0
    for root in range(order.size):
        if parent[root] >= 0:
            continue
        parent[root] = root
        order[end] = root
        cursor = end
        end += 1
        while cursor < end:
            u = order[cursor]
            cursor += 1
            for i in range(start[u], start[u + 1]):
                v = tail[at[i]] + head[at[i]] - u
                if parent[v] < 0:
                    parent[v], above[v] = u, at[i]
                    order[end] = v
                    end += 1
        parent[root] = -1


@njit_cached
def _add_words(tail, head, pinned, seed, words):
    for e in range(tail.size):
        if not pinned[e]:
            word = random_bits(seed, np.uint64(tail[e]), np.uint64(head[e]))
            words[tail[e]] ^= word
            words[head[e]] ^= word


@njit_cached
def _mark_bridges(order, parent, above, words, bridge):
    for i in range(order.size - 1, -1, -1):
        u = order[i]
        if parent[u] >= 0:
            bridge[above[u]] = words[u] == 0
            words[parent[u]] ^= words[u]


@njit_cached
def _mark_sides(order, parent, above, bit, sides):
    for u in order:
        if parent[u] >= 0:
            sides[u] = sides[parent[u]] ^ bit[above[u]]


@njit_cached
def _path_sums(order, parent, above, length, tail, head, out):
    n_nodes = order.size
    size = np.ones(n_nodes, dtype=np.int64)
    following = np.full(n_nodes, -1, dtype=np.int64)  # of a node, its child on the same chain
    for i in range(n_nodes - 1, -1, -1):
        u, p = order[i], parent[order[i]]
        if p >= 0:
            size[p] += size[u]
            if following[p] < 0 or size[u] > size[following[p]]:
                following[p] = u
    depth = np.zeros(n_nodes, dtype=np.int64)
    distance = np.zeros(n_nodes)
    top = np.arange(n_nodes)
    for u in order:
        p = parent[u]
        if p >= 0:
            depth[u] = depth[p] + 1
            distance[u] = distance[p] + length[above[u]]
            if following[p] == u:
                top[u] = top[p]
    for e in range(tail.size):
        u, v = tail[e], head[e]
        while top[u] != top[v]:
            if depth[top[u]] < depth[top[v]]:
                v = parent[top[v]]
            else:
                u = parent[top[u]]
        meet = u if depth[u] < depth[v] else v
        out[e] = distance[tail[e]] + distance[head[e]] - 2 * distance[meet]
