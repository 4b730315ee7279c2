"""Connected components and the constants that a Laplacian cannot see.

A component without any ridge is singular: A 1_C = 0. There, A x = b has a solution only if b sums
to zero over the component, and then many; the one of mean zero is taken.
"""

import numba
import numpy as np

from graphsqueak.errors import InputError

__all__ = ["Components"]

ROUNDING = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


class Components:
    """The components of A = L + diag(ridge), and which of them are singular.

    Attributes
    ----------
    label : ndarray of shape (n_nodes,)
        Number of every node's component, numbered by their first nodes.
    size, singular : ndarray of shape (n_components,)
        Number of nodes; whether no node has a ridge.
    separator, depth, cubes : int, int, float
        Of a breadth-first search from every component's first node: smallest level in the middle
        third of a component (the largest such), number of levels (the largest), and sum of all
        cubed level sizes. This is what `choice` knows of the graph's shape.

    Examples
    --------
    Two edges, the second one with a ridge at node 2:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> graph = EdgeList(tail=[0, 2], head=[1, 3])
    >>> parts = Components(build_rows(graph, np.array([0.0, 0.0, 1.0, 0.0])))
    >>> parts.label.tolist(), parts.singular.tolist()
    ([0, 0, 1, 1], [True, False])
    >>> parts.separator, parts.depth, parts.cubes
    (1, 2, 4.0)
    >>> parts.centered(np.array([[3.0], [1.0], [3.0], [1.0]])).ravel()
    array([ 1., -1.,  3.,  1.])
    """

    def __init__(self, rows):
        self.label, self.separator, self.depth, self.cubes = _search(rows.start, rows.neighbor)
        self.size = np.bincount(self.label)
        self.singular = np.bincount(self.label, rows.ridge) == 0

    def centered(self, block):
        """`block` with its mean over every singular component taken away."""
        mean = _sums(self.label, self.size.size, block, False) / self.size[:, None]
        mean[~self.singular] = 0.0
        return _minus(block, self.label, mean)

    def consistent(self, block):
        """`block` centered; an InputError if it does not sum to zero but for rounding."""
        total = _sums(self.label, self.size.size, block, False)
        total[~self.singular] = 0.0
        size = _sums(self.label, self.size.size, block, True)
        limit = ROUNDING[block.dtype] * np.maximum(size, np.abs(block).max(axis=0, initial=0))
        wrong = np.argwhere(np.abs(total) > limit)
        if wrong.size:
            component, column = wrong[0]
            node = int(np.argmax(self.label == component))
            raise InputError(
                f"column {column} of the right-hand side sums to {total[component, column]:.6g} "
                f"over the connected component of node {node} ({self.size[component]} nodes), so "
                "no solution exists; subtract the mean over each component, or give a ridge"
            )
        return _minus(block, self.label, total / self.size[:, None])


@numba.njit(cache=True, nogil=True)
def _search(start, neighbor):
    """Breadth-first search that stops as soon as every node has been reached."""
    n_nodes = start.size - 1
    label = np.full(n_nodes, -1, dtype=np.int32)
    queue = np.empty(n_nodes, dtype=neighbor.dtype)
    level = np.empty(n_nodes + 1, dtype=np.int64)
    reached = n_components = separator = depth = 0
    cubes = 0.0
    for seed in range(n_nodes):
        if label[seed] >= 0:
            continue
        label[seed] = n_components
        queue[reached] = seed
        first = low = reached
        reached += 1
        n_levels = 0
        while low < reached:
            level[n_levels] = low
            n_levels += 1
            cubes += float(reached - low) ** 3
            high = reached
            while low < high and reached < n_nodes:
                node = queue[low]
                low += 1
                for e in range(start[node], start[node + 1]):
                    other = neighbor[e]
                    if label[other] < 0:
                        label[other] = n_components
                        queue[reached] = other
                        reached += 1
            low = high
        level[n_levels] = reached
        depth = max(depth, n_levels)
        separator = max(separator, _middle_level(level[: n_levels + 1], first, reached))
        n_components += 1
    return label, separator, depth, cubes


@numba.njit(cache=True, nogil=True)
def _middle_level(level, first, last):
    """Size of the smallest level that reaches into the middle third of the nodes."""
    smallest = last - first
    for i in range(level.size - 1):
        if 3 * (level[i] - first) <= 2 * (last - first) <= 6 * (level[i + 1] - first):
            smallest = min(smallest, level[i + 1] - level[i])
    return smallest


@numba.njit(cache=True, nogil=True)
def _sums(label, n_components, block, absolute):
    total = np.zeros((n_components, block.shape[1]))
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            value = np.float64(block[i, k])
            total[label[i], k] += abs(value) if absolute else value
    return total


@numba.njit(cache=True, nogil=True)
def _minus(block, label, mean):
    out = np.empty_like(block)
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            out[i, k] = block[i, k] - mean[label[i], k]
    return out
