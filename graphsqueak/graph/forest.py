"""A spanning forest kept while edges pass by: union-find over the stream.

The edges that join two components form a forest with exactly the components of the whole graph.
Memory is one integer per node. The exact degrees, one number per node, are added up alongside.
"""

import numba
import numpy as np

__all__ = ["add_degrees", "join", "labels", "roots"]


def roots(n_nodes):
    """Every node alone, the root of itself."""
    return np.arange(n_nodes, dtype=np.int32 if n_nodes < 2**31 else np.int64)


def join(parent, tail, head):
    """Unite the ends of every edge, in order; true where an edge joined two components.

    `parent` is changed in place.

    >>> join(roots(4), np.array([0, 1, 0, 2]), np.array([1, 2, 2, 3])).tolist()
    [True, True, False, True]
    """
    joins = np.empty(tail.size, dtype=np.bool_)
    _join(parent, tail, head, joins)
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


@numba.njit(cache=True, nogil=True)
def add_degrees(degree, tail, head, weight):
    """Add the weights of edges to the degrees of their ends, in order."""
    for e in range(tail.size):
        degree[tail[e]] += weight[e]
        degree[head[e]] += weight[e]


@numba.njit(cache=True, nogil=True)
def _root(parent, node):
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@numba.njit(cache=True, nogil=True)
def _join(parent, tail, head, joins):
    for e in range(tail.size):
        u, v = _root(parent, tail[e]), _root(parent, head[e])
        joins[e] = u != v
        if u < v:
            parent[v] = u
        else:
            parent[u] = v


@numba.njit(cache=True, nogil=True)
def _labels(parent, out):
    for node in range(parent.size):
        out[node] = _root(parent, node)
