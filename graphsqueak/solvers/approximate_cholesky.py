"""Preconditioner: approximate Cholesky factor of a graph, applied to a block of columns.

`eliminate` returns A ~ (I - F) P (I - F)^T with F strictly lower triangular in elimination order.
An approximate solution of A z = r takes one forward and one backward substitution:

    y = inv(I - F) r,    z = inv(I - F)^T inv(P) y,    with 1 / 0 = 0 in inv(P).

The columns of F may be processed in any order in which a node precedes its targets. Depth-first
order keeps the nodes of one region together and halves the time of a substitution on a grid. The
matrix is relabeled in the same order, which makes its products faster as well.
"""

import numba
import numpy as np

from graphsqueak.solvers.elimination import eliminate
from graphsqueak.solvers.matrix import CSRLaplacian, aligned_like, as_unsigned, split_by_work
from graphsqueak.solvers.vectors import (
    MAX_WIDTH,
    add_scaled,
    common_width,
    load,
    scale,
    store,
    zeros,
)
from graphsqueak.system.kernels import inline_njit, njit_cached, parallel_njit, run_kernel


class ApproximateCholesky:
    """Approximate Cholesky factor of a matrix, as a preconditioner.

    Parameters
    ----------
    matrix : CSRLaplacian
    seed : int
        Seed of the sampled fill edges.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Node at every position: the preconditioner acts on blocks r[order].
    matrix : CSRLaplacian
        The matrix in that order.

    Examples
    --------
    On a tree the factor is exact:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> matrix = build_laplacian(EdgeList(tail=[0, 1, 2], head=[1, 2, 3]), np.zeros(4))
    >>> factor = ApproximateCholesky(matrix, seed=90210)
    >>> z = factor(np.array([[1.0], [0.0], [0.0], [-1.0]])[factor.order])
    >>> abs(z[factor.order == 0] - z[factor.order == 3]).item()
    3.0
    """

    def __init__(self, matrix, *, seed):
        steps = eliminate(matrix, seed=seed)
        visit = _sort_depth_first(steps.start, _invert(steps.order)[steps.target])
        self.order = steps.order[visit]
        start, target, fraction = _permute_rows(
            steps.start, steps.target, steps.fraction, visit, _invert(self.order)
        )
        self._start = as_unsigned(start)
        self._target = as_unsigned(target)
        pivot = steps.pivot[visit]
        inverse_pivot = np.divide(1.0, pivot, out=np.zeros(pivot.size), where=pivot > 0)
        # Entries of F and inv(P) per dtype; those in single precision are made on first use.
        self._values = {np.dtype(np.float64): (fraction, inverse_pivot)}
        self._z = np.empty((0, 0))
        self.matrix = _permute_matrix(matrix, self.order)

    def __call__(self, r):
        """Return the approximate solution z, which the next call overwrites."""
        if r.dtype not in self._values:
            values = self._values[np.dtype(np.float64)]
            self._values[r.dtype] = tuple(array.astype(r.dtype) for array in values)
        if self._z.shape != r.shape or self._z.dtype != r.dtype:
            self._z = aligned_like(r)
        np.copyto(self._z, r)
        fraction, inverse_pivot = self._values[r.dtype]
        n_columns = r.shape[1]
        width = common_width(n_columns)
        # A single group of columns occupies one thread only, so the serial kernel is as fast.
        run_kernel(
            _substitute,
            2 * self._target.size * n_columns if width < n_columns else 0,
            self._start,
            self._target,
            fraction,
            inverse_pivot,
            self._z,
            zeros(MAX_WIDTH, r.dtype),
            zeros(width, r.dtype),
        )
        return self._z


def _permute_matrix(matrix, order):
    """Return the matrix with node order[p] renamed to p."""
    start, neighbor, weight = _permute_rows(
        matrix.start, matrix.neighbor, matrix.weight, order, as_unsigned(_invert(order))
    )
    return CSRLaplacian(start, neighbor, weight, matrix.ridge[order], parts=split_by_work(start))


def _invert(order):
    """Return the inverse permutation: the position of every node."""
    position = np.empty_like(order)
    position[order] = np.arange(order.size, dtype=order.dtype)
    return position


@njit_cached
def _permute_rows(start, neighbor, weight, order, position):
    """Return CSR rows in another order, with neighbors renamed by `position`."""
    new_start = np.zeros_like(start)
    new_neighbor = np.empty_like(neighbor)
    new_weight = np.empty_like(weight)
    end = 0
    for p in range(order.size):
        for e in range(start[order[p]], start[order[p] + 1]):
            new_neighbor[end] = position[neighbor[e]]
            new_weight[end] = weight[e]
            end += 1
        new_start[p + 1] = end
    return new_start, new_neighbor, new_weight


@njit_cached
def _sort_depth_first(start, target):
    """Return an order of the columns in which each closely follows all columns that lead to it."""
    n_nodes = start.size - 1
    # Transpose the factor: the columns that lead to c are source[first[c] : first[c + 1]].
    first = np.zeros(n_nodes + 1, dtype=np.int64)
    for t in target:
        first[t + 1] += 1
    for c in range(n_nodes):
        first[c + 1] += first[c]
    cursor = first[:-1].copy()
    source = np.empty(target.size, dtype=np.int32)
    for c in range(n_nodes):
        for e in range(start[c], start[c + 1]):
            source[cursor[target[e]]] = c
            cursor[target[e]] += 1
    cursor[:] = first[:-1]

    # Visit in postorder, from the columns that are eliminated last.
    is_seen = np.zeros(n_nodes, dtype=np.bool_)
    stack = np.empty(n_nodes, dtype=np.int32)
    visit = np.empty(n_nodes, dtype=np.int32)
    n_visited = 0
    for root in range(n_nodes - 1, -1, -1):
        depth = 0
        if not is_seen[root]:
            is_seen[root] = True
            stack[0] = root
            depth = 1
        while depth > 0:
            c = stack[depth - 1]
            if cursor[c] == first[c + 1]:
                visit[n_visited] = c
                n_visited += 1
                depth -= 1
            else:
                child = source[cursor[c]]
                cursor[c] += 1
                if not is_seen[child]:
                    is_seen[child] = True
                    stack[depth] = child
                    depth += 1
    return visit


@parallel_njit
def _substitute(start, target, fraction, inverse_pivot, z, wide, narrow):
    """Solve in place, for independent groups of as many columns as the tuples have."""
    # Each group reads the factor once, so most groups are as wide as possible.
    n_wide = z.shape[1] // len(wide)
    first_narrow = n_wide * len(wide)
    n_narrow = (z.shape[1] - first_narrow) // len(narrow)
    for group in numba.prange(n_wide + n_narrow):
        if group < n_wide:
            k = np.uint64(group * len(wide))
            _substitute_columns(start, target, fraction, inverse_pivot, z, k, wide)
        else:
            k = np.uint64(first_narrow + (group - n_wide) * len(narrow))
            _substitute_columns(start, target, fraction, inverse_pivot, z, k, narrow)


@inline_njit
def _substitute_columns(start, target, fraction, inverse_pivot, z, k, zero):
    """Solve for columns k, k + 1, ...: forward, then backward substitution."""
    n_nodes = start.size - 1
    for i in range(n_nodes):
        own = load(z, i, k, zero)
        for e in range(start[i], start[i + 1]):
            j = target[e]
            store(z, j, k, add_scaled(load(z, j, k, zero), fraction[e], own))
    for i in range(n_nodes - 1, -1, -1):
        own = scale(inverse_pivot[i], load(z, i, k, zero))
        for e in range(start[i], start[i + 1]):
            own = add_scaled(own, fraction[e], load(z, target[e], k, zero))
        store(z, i, k, own)
