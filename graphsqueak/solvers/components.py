"""Connected components of a graph, and the levels of a breadth-first search.

A component without any ridge is singular: A 1_C = 0. There, A x = b has a solution only if b sums
to zero over the component. It is unique up to a constant, and the one of mean zero is returned.

The breadth-first search that finds the components also measures the graph. The number of its levels
bounds the iterations of unpreconditioned methods from below. The sizes of its levels bound the cost
of an exact factorization from above.
"""

import copy

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.system.kernels import njit_cached

# Relative size of a sum that counts as rounding: about 1e3 (float32) and 1e7 (float64) times the
# unit roundoff. Centering a column of a million entries leaves up to about 1e3 roundoffs. Doubled
# or halved: no change, except for right-hand sides with such a sum.
MAX_RELATIVE_SUM = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}


class Components:
    """Connected components of A = L + diag(ridge), singular or not.

    Parameters
    ----------
    matrix : CSRLaplacian

    Attributes
    ----------
    label : ndarray of shape (n_nodes,)
        Component of every node; components are numbered by their first nodes.
    size : ndarray of shape (n_components,)
        Number of nodes.
    singular : ndarray of shape (n_components,)
        Whether no node of the component has a ridge.
    depth : int
        Largest number of levels of a breadth-first search from the first node of a component.
    level_cubes : float
        Sum of the cubed sizes of all levels.

    Examples
    --------
    Two edges, the second one with a ridge at node 2:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> graph = EdgeList(tail=[0, 2], head=[1, 3])
    >>> components = Components(build_laplacian(graph, np.array([0.0, 0.0, 1.0, 0.0])))
    >>> components.label.tolist(), components.singular.tolist()
    ([0, 0, 1, 1], [True, False])
    >>> components.depth, components.level_cubes
    (2, 4.0)
    >>> components.centered(np.array([[3.0], [1.0], [3.0], [1.0]])).ravel()
    array([ 1., -1.,  3.,  1.])
    """

    def __init__(self, matrix):
        self.label = np.full(matrix.n_nodes, -1, dtype=np.int32)
        queue = np.empty(matrix.n_nodes, dtype=matrix.neighbor.dtype)
        levels = _search_breadth_first(matrix.start, matrix.neighbor, self.label, queue)
        self.depth, self.level_cubes = levels
        self.size = np.bincount(self.label)
        self.singular = np.bincount(self.label, matrix.ridge) == 0

    def with_ridge(self, ridge):
        """Return the same components for another ridge."""
        other = copy.copy(self)
        other.singular = np.bincount(self.label, ridge) == 0
        return other

    def centered(self, block, out=None):
        """Return `block` minus its mean over every singular component, written to `out`."""
        mean = component_sums(self.label, self.size.size, block) / self.size[:, None]
        mean[~self.singular] = 0.0
        return self._subtract(block, mean, out)

    def check_consistent(self, block):
        """Return `block` centered; raise an InputError if its sums are larger than rounding."""
        total = component_sums(self.label, self.size.size, block)
        total[~self.singular] = 0.0
        magnitude = np.abs(block)
        scale = component_sums(self.label, self.size.size, magnitude)
        np.maximum(scale, magnitude.max(axis=0, initial=0), out=scale)
        inconsistent = np.argwhere(np.abs(total) > MAX_RELATIVE_SUM[block.dtype] * scale)
        if inconsistent.size:
            component, column = inconsistent[0]
            node = int(np.argmax(self.label == component))
            raise InputError(
                f"column {column} of the right-hand side sums to {total[component, column]:.6g} "
                f"over the connected component of node {node} ({self.size[component]} nodes), so "
                "no solution exists; subtract the mean over each component, or give a ridge"
            )
        return self._subtract(block, total / self.size[:, None])

    def _subtract(self, block, mean, out=None):
        out = np.empty(block.shape, block.dtype) if out is None else out
        _subtract_means(block, self.label, mean, out)
        return out


def component_sums(label, n_components, block):
    """Return the sum of every column over each component, shape (n_components, n_columns)."""
    total = np.zeros((n_components, block.shape[1]))
    _add_rows(label, block, total)
    return total


@njit_cached
def _add_rows(label, block, total):
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            total[label[i], k] += np.float64(block[i, k])


@njit_cached
def _subtract_means(block, label, mean, out):
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            out[i, k] = block[i, k] - mean[label[i], k]


@njit_cached
def _search_breadth_first(start, neighbor, label, queue):
    """Label the components; return the largest number of levels and the sum of cubed sizes."""
    n_nodes = start.size - 1
    n_reached = 0
    n_components = 0
    depth = 0
    level_cubes = 0.0
    for seed in range(n_nodes):
        if label[seed] >= 0:
            continue
        label[seed] = n_components
        queue[n_reached] = seed
        low = n_reached
        n_reached += 1
        n_levels = 0
        while low < n_reached:
            # The current level is queue[low : high].
            high = n_reached
            n_levels += 1
            level_cubes += float(high - low) ** 3
            # Once all nodes are reached, the edges of the last level need not be read.
            while low < high and n_reached < n_nodes:
                node = queue[low]
                low += 1
                for e in range(start[node], start[node + 1]):
                    other = neighbor[e]
                    if label[other] < 0:
                        label[other] = n_components
                        queue[n_reached] = other
                        n_reached += 1
            low = high
        depth = max(depth, n_levels)
        n_components += 1
    return depth, level_cubes
