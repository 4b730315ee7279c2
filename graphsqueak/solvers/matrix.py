"""The matrix A = L + diag(ridge) of a graph, stored row by row, and its product with a block.

Row i lists the neighbors j of node i, and

    (A x)_i = ridge_i * x_i + sum_j weight_ij * (x_i - x_j).

Summing differences instead of D x - W x costs nothing (the product waits for memory) and keeps
residuals accurate where x is large and smooth: on a path of 1e5 nodes it decides whether 1e-8
is reached at all. Sums over nodes are taken over `N_PARTS` fixed parts, then over the parts in
order, so that no result depends on the number of threads.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

from graphsqueak.system.kernels import (
    WORTH_SHARING,
    inline_njit,
    njit_cached,
    parallel_njit,
    prefetch,
    read_only_views,
    run_kernel,
)

__all__ = [
    "AHEAD",
    "FOUR",
    "N_PARTS",
    "Rows",
    "aligned_like",
    "as_unsigned",
    "build_rows",
    "even_parts",
    "multiply",
    "power_of_two",
    "quick_width",
    "rows_of_batches",
    "work_parts",
]

N_PARTS = 64
AHEAD = 32  # neighbors, in the fetching of rows
MANY_EDGES = 2**21  # from here on shorter weights are worth kernels of their own
FOUR, _EIGHT = 4, 8  # columns that are worked on together
# unsigned: a column that may be negative counts from the end, which no vector operation can do
_0, _1, _2, _3, _4, _8 = (np.uint64(number) for number in (0, 1, 2, 3, 4, 8))


class Rows(NamedTuple):
    """A = L + diag(ridge): neighbors of node i are neighbor[start[i] : start[i + 1]].

    `parts` cuts the nodes into `N_PARTS` ranges of equal work.
    """

    start: np.ndarray
    neighbor: np.ndarray
    weight: np.ndarray
    ridge: np.ndarray
    parts: np.ndarray

    @property
    def n_nodes(self):
        """Number of rows."""
        return self.ridge.size

    def diagonal(self):
        """Diagonal of A: weighted degree plus ridge."""
        total = np.zeros(self.n_nodes)
        _add_weights(self.start, self.weight, total)
        return total + self.ridge

    def to_scipy(self):
        """A as a CSR matrix, parallel edges summed."""
        neighbor = self.neighbor.view(np.int32 if self.neighbor.itemsize == 4 else np.int64)
        entries = (self.weight, neighbor, self.start.view(np.int64))
        adjacency = scipy.sparse.csr_array(entries, shape=(self.n_nodes, self.n_nodes))
        matrix = (scipy.sparse.diags_array(self.diagonal()) - adjacency).tocsr()
        matrix.sum_duplicates()
        return matrix

    def astype(self, dtype):
        """The same rows with weights and ridge in `dtype`."""
        if self.weight.dtype == dtype:
            return self
        return self._replace(weight=self.weight.astype(dtype), ridge=self.ridge.astype(dtype))


def build_rows(graph, ridge):
    """Sort the edges of an `EdgeList` by node; parallel edges stay apart.

    >>> from graphsqueak.graph import EdgeList
    >>> rows = build_rows(EdgeList(tail=[0, 1], head=[1, 2], weight=[2.0, 3.0]), np.zeros(3))
    >>> rows.start.tolist(), rows.neighbor.tolist(), rows.diagonal().tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [2.0, 5.0, 3.0])
    """
    return _sorted_rows(graph.tail, graph.head, graph.weight, ridge)


def rows_of_batches(batches, n_nodes, most_bytes, *, many_edges=MANY_EDGES):
    """Rows of a graph that comes as batches of tail, head and weight; None if they take too much.

    All batches are gone through in either case. The weights of `many_edges` are kept as float32, if
    that changes none.

    >>> batches = [(np.array([0]), np.array([1]), np.ones(1))] * 3
    >>> rows_of_batches(iter(batches), 2, 100).diagonal().tolist()
    [3.0, 3.0]
    >>> rows_of_batches(iter(batches), 2, 10) is None
    True
    """
    index = np.int32 if n_nodes <= np.iinfo(np.int32).max else np.int64
    kept, n_edges, width = [], 0, 0
    for tail, head, weight in batches:
        n_edges += tail.size
        with np.errstate(over="ignore"):  # a weight that becomes infinite has changed
            short = weight.astype(np.float32)
        short = short if np.array_equal(short, weight) else weight
        width = max(width, np.dtype(index).itemsize + short.itemsize)
        if 2 * n_edges * width > most_bytes:
            kept = None
        if kept is not None:
            kept.append([short.copy(), head.astype(index), tail.astype(index)])
    if kept is None:
        return None
    columns = [np.concatenate([part.pop() for part in kept] or [np.zeros(0, index)]) for _ in "th"]
    weight = np.concatenate([part.pop() for part in kept] or [np.zeros(0)])
    weight = weight.astype(np.float64) if n_edges < many_edges else weight
    return _sorted_rows(*read_only_views(*columns, weight), np.zeros(n_nodes))


def _sorted_rows(tail, head, weight, ridge):
    tail, head = as_unsigned(tail), as_unsigned(head)
    start = np.zeros(ridge.size + 2, dtype=np.uint64)
    neighbor, value = np.empty(2 * tail.size, tail.dtype), np.empty(2 * tail.size, weight.dtype)
    _sort_edges(tail, head, weight, start, neighbor, value)
    start = start[:-1]
    return Rows(start, neighbor, value, ridge, work_parts(start))


def power_of_two(weight: float) -> float:
    """The power of two just below a positive weight: dividing by it is exact.

    >>> power_of_two(5.0), power_of_two(1e-300) <= 1e-300
    (4.0, True)
    """
    return float(np.ldexp(0.5, np.frexp(weight)[1]))


def even_parts(n_nodes):
    """Bounds of `N_PARTS` ranges of (nearly) as many nodes each."""
    return np.linspace(0, n_nodes, N_PARTS + 1).astype(np.int64)


def multiply(rows, x, out, *, worth_sharing=WORTH_SHARING):
    """Write A x into `out` and return the dot products x_k . (A x)_k of the columns."""
    kernel, partial = _kernel_for(x.shape[1], x.itemsize), np.empty((N_PARTS, x.shape[1]))
    work = (rows.weight.size + rows.n_nodes) * x.shape[1]
    run_kernel(kernel, work, *rows, x, out, partial, worth_sharing=worth_sharing)
    return partial.sum(axis=0)


def _kernel_for(n_columns, itemsize):
    """How to multiply so many columns; a run needs one or two of these and compiles no more."""
    if n_columns < FOUR:
        return _multiply_ones
    if n_columns == FOUR:
        return _multiply_fours
    if n_columns > _EIGHT and itemsize == 4:  # there sums in memory take 2/3 of the time
        return _multiply_many
    return _multiply_eights


def as_unsigned(indices):
    """The same non-negative integers, as unsigned ones of the same size."""
    return indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)


def aligned_like(block, n_columns=None):
    """An uninitialized copy in C order whose rows begin on cache lines (up to 40 % faster)."""
    shape = (block.shape[0], block.shape[1] if n_columns is None else n_columns)
    n_bytes = shape[0] * shape[1] * block.itemsize
    buffer = np.empty(n_bytes + 64, dtype=np.uint8)
    shift = -buffer.ctypes.data % 64
    return buffer[shift : shift + n_bytes].view(block.dtype).reshape(shape)


def quick_width(n_columns):
    """So many columns or a few more: one, or a multiple of four, as vector operations like it.

    >>> quick_width(1), quick_width(5), quick_width(21)
    (1, 8, 24)
    """
    return n_columns if n_columns == 1 else n_columns + -n_columns % FOUR


def work_parts(start):
    """Bounds of `N_PARTS` ranges of nodes with about as many neighbors each."""
    work = start.view(np.int64) + 4 * np.arange(start.size)
    return np.searchsorted(work, np.linspace(0, work[-1], N_PARTS + 1))


@njit_cached
def _sort_edges(tail, head, weight, start, neighbor, value):
    """Rows from start[u] to start[u + 1]; the last entry of `start` is for counting only."""
    for e in range(tail.size):
        start[tail[e] + 2] += 1
        start[head[e] + 2] += 1
    for i in range(start.size - 1):
        start[i + 1] += start[i]
    for e in range(tail.size):
        u, v = tail[e] + 1, head[e] + 1
        neighbor[start[u]] = head[e]
        value[start[u]] = weight[e]
        start[u] += 1
        neighbor[start[v]] = tail[e]
        value[start[v]] = weight[e]
        start[v] += 1


@njit_cached
def _add_weights(start, weight, total):
    for i in range(total.size):
        for e in range(start[i], start[i + 1]):
            total[i] += weight[e]


@parallel_njit
def _multiply_ones(start, neighbor, weight, ridge, parts, x, out, partial):
    for part in numba.prange(parts.size - 1):
        rows, dots = parts[part : part + 2], partial[part]
        dots[:] = 0.0
        for k in range(np.uint64(x.shape[1])):
            _multiply_one(start, neighbor, weight, ridge, x, out, dots, rows, k)


@parallel_njit
def _multiply_fours(start, neighbor, weight, ridge, parts, x, out, partial):
    """Just four columns."""
    for part in numba.prange(parts.size - 1):
        rows, dots = parts[part : part + 2], partial[part]
        dots[:] = 0.0
        _multiply_four(start, neighbor, weight, ridge, x, out, dots, rows, _0)


@parallel_njit
def _multiply_eights(start, neighbor, weight, ridge, parts, x, out, partial):
    n_columns = np.uint64(x.shape[1])
    for part in numba.prange(parts.size - 1):
        rows, dots, k = parts[part : part + 2], partial[part], _0
        dots[:] = 0.0
        while k + _8 <= n_columns:
            _multiply_eight(start, neighbor, weight, ridge, x, out, dots, rows, k)
            k += _8
        while k + _4 <= n_columns:
            _multiply_four(start, neighbor, weight, ridge, x, out, dots, rows, k)
            k += _4
        while k < n_columns:
            _multiply_one(start, neighbor, weight, ridge, x, out, dots, rows, k)
            k += _1


@parallel_njit
def _multiply_many(start, neighbor, weight, ridge, parts, x, out, partial):
    """All columns of a row, added up in memory: neighbors are gone through once."""
    last, n_columns = neighbor.size - 1, x.shape[1]
    for part in numba.prange(parts.size - 1):
        dots = partial[part]
        dots[:] = 0.0
        for i in range(parts[part], parts[part + 1]):
            own, total = x[i], out[i]
            for k in range(n_columns):
                total[k] = ridge[i] * own[k]
            for edge in range(start[i], start[i + 1]):
                prefetch(x, neighbor[min(edge + AHEAD, last)], 0)
                w, j = weight[edge], neighbor[edge]
                for k in range(n_columns):
                    total[k] += w * (own[k] - x[j, k])
            for k in range(n_columns):
                dots[k] += own[k] * total[k]


@inline_njit
def _multiply_one(start, neighbor, weight, ridge, x, out, dots, rows, k):
    """Column k of some rows."""
    for i in range(rows[0], rows[1]):
        own = x[i, k]
        total = ridge[i] * own
        for e in range(start[i], start[i + 1]):
            total += weight[e] * (own - x[neighbor[e], k])
        out[i, k] = total
        dots[k] += own * total


@inline_njit
def _multiply_four(start, neighbor, weight, ridge, x, out, dots, rows, k):
    """Columns k, ..., k + 3 of some rows, held in registers."""
    last = neighbor.size - 1
    for i in range(rows[0], rows[1]):
        a, b, c, d = x[i, k], x[i, k + _1], x[i, k + _2], x[i, k + _3]
        own = ridge[i]
        sum_a, sum_b, sum_c, sum_d = own * a, own * b, own * c, own * d
        for edge in range(start[i], start[i + 1]):
            prefetch(x, neighbor[min(edge + AHEAD, last)], k)
            w, j = weight[edge], neighbor[edge]
            sum_a += w * (a - x[j, k])
            sum_b += w * (b - x[j, k + _1])
            sum_c += w * (c - x[j, k + _2])
            sum_d += w * (d - x[j, k + _3])
        out[i, k], out[i, k + _1], out[i, k + _2], out[i, k + _3] = sum_a, sum_b, sum_c, sum_d
        dots[k] += a * sum_a
        dots[k + _1] += b * sum_b
        dots[k + _2] += c * sum_c
        dots[k + _3] += d * sum_d


@inline_njit
def _multiply_eight(start, neighbor, weight, ridge, x, out, dots, rows, k):
    """Columns k, ..., k + 7 of some rows, the same way."""
    last, more = neighbor.size - 1, k + _4
    for i in range(rows[0], rows[1]):
        a, b, c, d = x[i, k], x[i, k + _1], x[i, k + _2], x[i, k + _3]
        e, f, g, h = x[i, more], x[i, more + _1], x[i, more + _2], x[i, more + _3]
        own = ridge[i]
        sum_a, sum_b, sum_c, sum_d = own * a, own * b, own * c, own * d
        sum_e, sum_f, sum_g, sum_h = own * e, own * f, own * g, own * h
        for edge in range(start[i], start[i + 1]):
            prefetch(x, neighbor[min(edge + AHEAD, last)], k)
            w, j = weight[edge], neighbor[edge]
            sum_a += w * (a - x[j, k])
            sum_b += w * (b - x[j, k + _1])
            sum_c += w * (c - x[j, k + _2])
            sum_d += w * (d - x[j, k + _3])
            sum_e += w * (e - x[j, more])
            sum_f += w * (f - x[j, more + _1])
            sum_g += w * (g - x[j, more + _2])
            sum_h += w * (h - x[j, more + _3])
        out[i, k], out[i, k + _1], out[i, k + _2], out[i, k + _3] = sum_a, sum_b, sum_c, sum_d
        out[i, more], out[i, more + _1] = sum_e, sum_f
        out[i, more + _2], out[i, more + _3] = sum_g, sum_h
        dots[k] += a * sum_a
        dots[k + _1] += b * sum_b
        dots[k + _2] += c * sum_c
        dots[k + _3] += d * sum_d
        dots[more] += e * sum_e
        dots[more + _1] += f * sum_f
        dots[more + _2] += g * sum_g
        dots[more + _3] += h * sum_h
