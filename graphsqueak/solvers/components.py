"""Connected components, the shape of a graph, and what it costs to solve a system on it.

A component without any ridge is singular: A 1_C = 0. There, A x = b has a solution only if b sums
to zero over the component, and then many; the one of mean zero is taken. An exact factorization
(`Direct`) grounds one node of every such component.

The breadth-first search that finds the components also measures the graph: its levels bound the
fill of a direct factorization and the steps that information needs from one end to the other. So
does the `dimension`, the rate at which balls grow around nodes: if a ball of radius r holds about
r^d nodes, then d = log2(|ball of 2 r| / |ball of r|), 1 on paths, 2 on planar meshes, 3 on solid
ones, large on expanders. A d-dimensional graph of n nodes has separators of order n^(1 - 1/d).
"""

import copy

import numpy as np
import scipy.sparse.linalg

from graphsqueak.errors import InputError
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["Components", "Direct", "component_sums", "dimension"]

ROUNDING = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}
N_BALLS = 16
SMALL_BALL = 40
MOST_EDGES = 10_000
HIGH = 10.0


class Components:
    """The components of A = L + diag(ridge), and which of them are singular.

    Attributes
    ----------
    label : ndarray of shape (n_nodes,)
        Number of every node's component, numbered by their first nodes.
    size, singular : ndarray of shape (n_components,)
        Number of nodes; whether no node has a ridge.
    order : ndarray of shape (n_nodes,)
        The nodes as a breadth-first search finds them.
    separator, depth, cubes : int, int, float
        Of a breadth-first search from every component's first node: smallest level in the middle
        third of a component (the largest such), number of levels (the largest), and sum of all
        cubed level sizes.

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
        self.label = np.full(rows.n_nodes, -1, dtype=np.int32)
        self.order = np.empty(rows.n_nodes, dtype=rows.neighbor.dtype)
        level = np.empty(rows.n_nodes + 1, dtype=np.int64)
        found = _search(rows.start, rows.neighbor, self.label, self.order, level)
        self.separator, self.depth, self.cubes = found
        self.size = np.bincount(self.label)
        self.singular = np.bincount(self.label, rows.ridge) == 0

    def with_ridge(self, ridge):
        """The same components, singular where this ridge is zero."""
        other = copy.copy(self)
        other.singular = np.bincount(self.label, ridge) == 0
        return other

    def centered(self, block, out=None):
        """`block` with its mean over every singular component taken away, written to `out`."""
        mean = component_sums(self.label, self.size.size, block) / self.size[:, None]
        mean[~self.singular] = 0.0
        return self._without(block, mean, out)

    def check_consistent(self, block):
        """`block` centered; an InputError if it does not sum to zero but for rounding."""
        total = component_sums(self.label, self.size.size, block)
        total[~self.singular] = 0.0
        magnitude = np.abs(block)
        size = component_sums(self.label, self.size.size, magnitude)
        limit = ROUNDING[block.dtype] * np.maximum(size, magnitude.max(axis=0, initial=0))
        wrong = np.argwhere(np.abs(total) > limit)
        if wrong.size:
            component, column = wrong[0]
            node = int(np.argmax(self.label == component))
            raise InputError(
                f"column {column} of the right-hand side sums to {total[component, column]:.6g} "
                f"over the connected component of node {node} ({self.size[component]} nodes), so "
                "no solution exists; subtract the mean over each component, or give a ridge"
            )
        return self._without(block, total / self.size[:, None])

    def _without(self, block, mean, out=None):
        out = np.empty(block.shape, block.dtype) if out is None else out
        _subtract(block, self.label, mean, out)
        return out


class Direct:
    """Preconditioner: an exact sparse factorization (SuperLU), for small graphs and small fill.

    One node of every singular component is grounded, z = 0 there; what is left of A is positive
    definite, and needs no pivoting.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> z = Direct(rows, Components(rows))(np.array([[1.0], [0.0], [-1.0]]))
    >>> (z - z.mean()).ravel()
    array([ 1.,  0., -1.])
    """

    order = None

    def __init__(self, rows, components):
        self.rows = rows
        grounded = np.unique(components.label, return_index=True)[1][components.singular]
        self._kept = np.delete(np.arange(rows.n_nodes), grounded)
        self._factor = self._factorize()

    def _factorize(self):
        if self._kept.size == 0:
            return None
        matrix = self.rows.to_scipy()[self._kept][:, self._kept].tocsc()
        try:
            return _factorized(matrix)
        except RuntimeError:
            # A pivot that is lighter than the rounding of others was rounded to zero. With every
            # pivot raised by rounding the factor is still a good preconditioner.
            rounding = np.finfo(np.float64).eps * self.rows.n_nodes * matrix.diagonal()
            return _factorized((matrix + scipy.sparse.diags_array(rounding)).tocsc())

    def __getstate__(self):
        # SuperLU cannot be pickled: a copy factorizes again.
        return self.__dict__ | {"_factor": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._factor = self._factorize()

    def __call__(self, r):
        """The solution z, zero at the grounded nodes."""
        z = np.zeros_like(r)
        if self._factor is not None:
            z[self._kept] = self._factor.solve(r[self._kept].astype(np.float64, copy=False))
        return z


def _factorized(matrix):
    return scipy.sparse.linalg.splu(
        matrix,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def dimension(rows):
    """Mean of log2(|ball of 2 r| / |ball of r|) over a few balls, r such that the small one has 40.

    A ball that takes more than 10,000 edges to search counts as dimension 10.

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> path = EdgeList(tail=np.arange(9_999), head=np.arange(1, 10_000))
    >>> dimension(build_rows(path, np.zeros(10_000)))
    1.0
    """
    seeds = np.arange(rows.n_nodes)[:: max(1, rows.n_nodes // N_BALLS)]
    owner = np.full(rows.n_nodes, -1, dtype=np.int32)
    queue = np.empty(rows.n_nodes, dtype=rows.neighbor.dtype)
    return float(_mean_growth(rows.start, rows.neighbor, seeds, owner, queue))


def component_sums(label, n_components, block):
    """Sum of every column of `block` over each component, shape (n_components, n_columns)."""
    total = np.zeros((n_components, block.shape[1]))
    _add_rows(label, block, total)
    return total


@njit_cached
def _add_rows(label, block, total):
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            total[label[i], k] += np.float64(block[i, k])


@njit_cached
def _search(start, neighbor, label, queue, level):
    """Breadth-first search that stops as soon as every node has been reached."""
    n_nodes = start.size - 1
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
            cubes += float(reached - low) * (reached - low) * (reached - low)
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
        separator = max(separator, _middle_level(level, n_levels, first, reached))
        n_components += 1
    return separator, depth, cubes


@inline_njit
def _middle_level(level, n_levels, first, last):
    """Size of the smallest level that reaches into the middle third of the nodes."""
    smallest = last - first
    for i in range(n_levels):
        if 3 * (level[i] - first) <= 2 * (last - first) <= 6 * (level[i + 1] - first):
            smallest = min(smallest, level[i + 1] - level[i])
    return smallest


@njit_cached
def _subtract(block, label, mean, out):
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            out[i, k] = block[i, k] - mean[label[i], k]


@njit_cached
def _mean_growth(start, neighbor, seeds, owner, queue):
    total = 0.0
    for ball in range(seeds.size):
        queue[0] = seeds[ball]
        owner[seeds[ball]] = ball
        low, reached, scanned = 0, 1, 0
        radius = small_radius = small_size = 0
        while low < reached and scanned < MOST_EDGES:
            if small_size == 0 and reached >= SMALL_BALL:
                small_radius, small_size = radius, reached
            if small_size > 0 and radius == 2 * small_radius:
                break
            high = reached
            while low < high:
                node = queue[low]
                low += 1
                scanned += start[node + 1] - start[node]
                if scanned >= MOST_EDGES:  # a hub is not searched to know that it is one
                    break
                for e in range(start[node], start[node + 1]):
                    if owner[neighbor[e]] != ball:
                        owner[neighbor[e]] = ball
                        queue[reached] = neighbor[e]
                        reached += 1
            radius += 1
        if scanned >= MOST_EDGES:
            total += HIGH
        elif small_size > 0:
            total += np.log2(reached / small_size)
    return total / max(1, seeds.size)
