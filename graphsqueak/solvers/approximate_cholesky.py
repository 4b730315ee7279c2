"""Preconditioner: the approximate Cholesky factor of a graph, applied to a block of columns.

`eliminate` gives A ~ (I - F) P (I - F)^T with F strictly lower triangular in elimination order,
so that an approximate solution of A z = r is one sweep down and one sweep up the factor:

    y = inv(I - F) r,    z = inv(I - F)^T inv(P) y,    with 1 / 0 = 0 in inv(P).

The columns may be swept in any order in which a node precedes its targets. Depth-first order keeps
the nodes of one region together and halves the time of a sweep on a grid; the matrix is
relabeled in the same order, so the conjugate gradients around it profit as well.
"""

import numba
import numpy as np

from graphsqueak.solvers.elimination import eliminate
from graphsqueak.solvers.matrix import FOUR, Rows, aligned_like, as_unsigned, work_parts
from graphsqueak.system.kernels import (
    WORTH_SHARING,
    inline_njit,
    njit_cached,
    parallel_njit,
    run_kernel,
)

__all__ = ["ApproximateCholesky"]

_1, _2, _3, _4 = (np.uint64(number) for number in (1, 2, 3, 4))  # columns, unsigned


class ApproximateCholesky:
    """Approximate factor of `rows`, as a preconditioner.

    Parameters
    ----------
    rows : Rows
    seed : int
        Decides the draws.
    nearby : ndarray of shape (n,), optional
        An order of the nodes that keeps neighbors together: elimination is quicker in it.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Node at every position: the preconditioner acts on blocks r[order].
    rows : Rows
        The matrix in that order.

    Examples
    --------
    On a tree the factor is exact:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 1, 2], head=[1, 2, 3]), np.zeros(4))
    >>> factor = ApproximateCholesky(rows, seed=90210)
    >>> z = factor(np.array([[1.0], [0.0], [0.0], [-1.0]])[factor.order])
    >>> abs(z[factor.order == 0] - z[factor.order == 3]).item()
    3.0
    """

    def __init__(self, rows, *, seed, nearby=None, worth_sharing=WORTH_SHARING):
        self._worth_sharing = worth_sharing
        near_rows = rows if nearby is None else _relabel(rows, nearby, _places(nearby))
        steps = eliminate(near_rows, seed=seed)
        visit = _depth_first(steps.start, _places(steps.order)[steps.target])
        order = steps.order[visit]
        start, target, fraction = _reorder_rows(
            steps.start, steps.target, steps.fraction, visit, _places(order)
        )
        self.order = order if nearby is None else nearby[order]
        self._start, self._target = as_unsigned(start), as_unsigned(target)
        pivot = steps.pivot[visit]
        inverse = np.divide(1.0, pivot, out=np.zeros(pivot.size), where=pivot > 0)
        self._values = {np.dtype(np.float64): (fraction, inverse)}
        self._z = np.empty((0, 0))
        self.rows = _relabel(rows, self.order, as_unsigned(_places(self.order)))

    def __call__(self, r):
        """The approximate solution z; it is overwritten by the next call."""
        if r.dtype not in self._values:
            values = self._values[np.dtype(np.float64)]
            self._values[r.dtype] = tuple(array.astype(r.dtype) for array in values)
        if self._z.shape != r.shape or self._z.dtype != r.dtype:
            self._z = aligned_like(r)
        np.copyto(self._z, r)
        factor = (self._start, self._target, *self._values[r.dtype])
        groups = _groups(r.shape[1])
        is_divisible = groups.size > 2  # one group keeps one thread busy, sooner in the serial form
        work = 2 * self._target.size * r.shape[1] if is_divisible else 0
        run_kernel(_sweep, work, *factor, groups, self._z, worth_sharing=self._worth_sharing)
        return self._z


def _relabel(rows, order, position):
    """The rows with node order[p] renamed to p = position[order[p]]."""
    start, neighbor, weight = _reorder_rows(rows.start, rows.neighbor, rows.weight, order, position)
    return Rows(start, neighbor, weight, rows.ridge[order], work_parts(start))


def _places(order):
    """Where each node is in this order."""
    places = np.empty_like(order)
    places[order] = np.arange(order.size, dtype=order.dtype)
    return places


def _groups(n_columns):
    """Bounds of groups of eight columns, then of four, then of one.

    >>> _groups(21).tolist()
    [0, 8, 16, 20, 21]
    """
    whole = n_columns - n_columns % FOUR
    bounds = [*range(0, whole, 2 * FOUR), *range(whole, n_columns + 1)]
    return np.array(bounds, dtype=np.uint64)


@njit_cached
def _reorder_rows(start, neighbor, weight, order, position):
    """Sparse rows in another order, neighbors renamed by `position`."""
    new_start = np.zeros_like(start)
    new_neighbor, new_weight = np.empty_like(neighbor), np.empty_like(weight)
    end = 0
    for p in range(order.size):
        for e in range(start[order[p]], start[order[p] + 1]):
            new_neighbor[end] = position[neighbor[e]]
            new_weight[end] = weight[e]
            end += 1
        new_start[p + 1] = end
    return new_start, new_neighbor, new_weight


@njit_cached
def _depth_first(start, target):
    """Columns in an order where each follows, as closely as may be, all columns that lead to it."""
    n_nodes = start.size - 1
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
    for c in range(n_nodes):
        cursor[c] = first[c]
    seen = np.zeros(n_nodes, dtype=np.bool_)
    stack = np.empty(n_nodes, dtype=np.int32)
    visit = np.empty(n_nodes, dtype=np.int32)
    n_visited = 0
    for root in range(n_nodes - 1, -1, -1):
        depth = 0
        if not seen[root]:
            seen[root] = True
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
                if not seen[child]:
                    seen[child] = True
                    stack[depth] = child
                    depth += 1
    return visit


@parallel_njit
def _sweep(start, target, fraction, inverse, bounds, z):
    """Both sweeps in place; each group of columns, bounds[g] : bounds[g + 1], is independent."""
    n_nodes = start.size - 1
    for g in numba.prange(bounds.size - 1):
        low, n_columns = bounds[g], bounds[g + 1] - bounds[g]
        if n_columns == 2 * FOUR:
            _sweep_eight(start, target, fraction, inverse, z, low)
        elif n_columns == FOUR:
            _sweep_four(start, target, fraction, inverse, z, low)
        else:
            for i in range(n_nodes):
                own = z[i, low]
                for e in range(start[i], start[i + 1]):
                    z[target[e], low] += fraction[e] * own
            for i in range(n_nodes - 1, -1, -1):
                own = z[i, low] * inverse[i]
                for e in range(start[i], start[i + 1]):
                    own += fraction[e] * z[target[e], low]
                z[i, low] = own


@inline_njit
def _sweep_four(start, target, fraction, inverse, z, k):
    """Both sweeps of columns k, ..., k + 3, spelled out so that each is one vector operation."""
    n_nodes = start.size - 1
    for i in range(n_nodes):
        a, b, c, d = z[i, k], z[i, k + _1], z[i, k + _2], z[i, k + _3]
        for edge in range(start[i], start[i + 1]):
            share, j = fraction[edge], target[edge]
            z[j, k] += share * a
            z[j, k + _1] += share * b
            z[j, k + _2] += share * c
            z[j, k + _3] += share * d
    for i in range(n_nodes - 1, -1, -1):
        own = inverse[i]
        a, b, c, d = own * z[i, k], own * z[i, k + _1], own * z[i, k + _2], own * z[i, k + _3]
        for edge in range(start[i], start[i + 1]):
            share, j = fraction[edge], target[edge]
            a += share * z[j, k]
            b += share * z[j, k + _1]
            c += share * z[j, k + _2]
            d += share * z[j, k + _3]
        z[i, k], z[i, k + _1], z[i, k + _2], z[i, k + _3] = a, b, c, d


@inline_njit
def _sweep_eight(start, target, fraction, inverse, z, k):
    """Both sweeps of columns k, ..., k + 7, the same way."""
    n_nodes, m = start.size - 1, k + _4
    for i in range(n_nodes):
        a, b, c, d = z[i, k], z[i, k + _1], z[i, k + _2], z[i, k + _3]
        e, f, g, h = z[i, m], z[i, m + _1], z[i, m + _2], z[i, m + _3]
        for edge in range(start[i], start[i + 1]):
            share, j = fraction[edge], target[edge]
            z[j, k] += share * a
            z[j, k + _1] += share * b
            z[j, k + _2] += share * c
            z[j, k + _3] += share * d
            z[j, m] += share * e
            z[j, m + _1] += share * f
            z[j, m + _2] += share * g
            z[j, m + _3] += share * h
    for i in range(n_nodes - 1, -1, -1):
        own = inverse[i]
        a, b, c, d = own * z[i, k], own * z[i, k + _1], own * z[i, k + _2], own * z[i, k + _3]
        e, f, g, h = own * z[i, m], own * z[i, m + _1], own * z[i, m + _2], own * z[i, m + _3]
        for edge in range(start[i], start[i + 1]):
            share, j = fraction[edge], target[edge]
            a += share * z[j, k]
            b += share * z[j, k + _1]
            c += share * z[j, k + _2]
            d += share * z[j, k + _3]
            e += share * z[j, m]
            f += share * z[j, m + _1]
            g += share * z[j, m + _2]
            h += share * z[j, m + _3]
        z[i, k], z[i, k + _1], z[i, k + _2], z[i, k + _3] = a, b, c, d
        z[i, m], z[i, m + _1], z[i, m + _2], z[i, m + _3] = e, f, g, h
