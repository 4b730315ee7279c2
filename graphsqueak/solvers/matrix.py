"""The matrix A = L + diag(ridge) of a graph in CSR format, and its product with a block.

Row i lists the neighbors j of node i, and

    (A x)_i = ridge_i * x_i + sum_j weight_ij * (x_i - x_j).

The product sums differences instead of computing D x - W x. This costs nothing, because the product
is limited by memory bandwidth, and it keeps residuals accurate if x is large and smooth. On a path
of 1e5 nodes, a relative residual of 1e-8 is reached only this way.

Sums over nodes are computed over `N_PARTS` fixed ranges of nodes, then over the ranges in order.
Results therefore do not depend on the number of threads.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

from graphsqueak.solvers.vectors import (
    MAX_WIDTH,
    add_products,
    add_scaled,
    load,
    scale,
    store,
    subtract,
    zeros,
)
from graphsqueak.system.kernels import (
    inline_njit,
    njit_cached,
    parallel_njit,
    prefetch,
    read_only_views,
    run_kernel,
)

# Ranges of nodes that are summed separately, and that threads share. Another number changes the
# rounding of all results. Halved or doubled: no measurable change in the time of a product.
N_PARTS = 64
# Neighbors between the row that is fetched into the cache and the one in use. Any value from 8 to
# 64 gives the same time within noise (20-NN, random and heavy-tailed graphs, 4 and 16 columns).
PREFETCH_DISTANCE = 32


class CSRLaplacian(NamedTuple):
    """Matrix A = L + diag(ridge) in CSR format.

    The neighbors of node i are neighbor[start[i] : start[i + 1]], with `weight` in parallel. The
    bounds `parts` divide the nodes into `N_PARTS` ranges of equal work.
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
        """Return the diagonal of A: weighted degree plus ridge."""
        diagonal = self.ridge.astype(np.float64)
        _add_row_sums(self.start, self.weight, diagonal)
        return diagonal

    def to_scipy(self):
        """Return A as a scipy CSR array in which parallel edges are summed."""
        neighbor = self.neighbor.view(np.int32 if self.neighbor.itemsize == 4 else np.int64)
        adjacency = scipy.sparse.csr_array(
            (self.weight, neighbor, self.start.view(np.int64)),
            shape=(self.n_nodes, self.n_nodes),
        )
        matrix = (scipy.sparse.diags_array(self.diagonal()) - adjacency).tocsr()
        matrix.sum_duplicates()
        return matrix

    def astype(self, dtype):
        """Return the same matrix with weights and ridge in `dtype`."""
        if self.weight.dtype == dtype:
            return self
        return self._replace(weight=self.weight.astype(dtype), ridge=self.ridge.astype(dtype))


def build_laplacian(graph, ridge):
    """Return A = L + diag(ridge) of an `EdgeList`; parallel edges remain separate entries.

    >>> from graphsqueak.graph import EdgeList
    >>> matrix = build_laplacian(EdgeList(tail=[0, 1], head=[1, 2], weight=[2.0, 3.0]), np.zeros(3))
    >>> matrix.start.tolist(), matrix.neighbor.tolist(), matrix.diagonal().tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1], [2.0, 5.0, 3.0])
    """
    return _sort_into_rows(graph.tail, graph.head, graph.weight, ridge)


def build_laplacian_from_batches(batches, n_nodes, max_bytes):
    """Return the Laplacian of a stream of edges, or None if it takes more than `max_bytes`.

    Weights are kept in single precision if that changes none of them. All batches (tail, head,
    weight) are consumed in any case.

    >>> batches = [(np.array([0]), np.array([1]), np.ones(1))] * 3
    >>> build_laplacian_from_batches(iter(batches), 2, 100).diagonal().tolist()
    [3.0, 3.0]
    >>> build_laplacian_from_batches(iter(batches), 2, 10) is None
    True
    """
    index_dtype = np.int32 if n_nodes <= np.iinfo(np.int32).max else np.int64
    empty = np.zeros(0, index_dtype)
    columns = ([empty], [empty], [np.zeros(0, np.float32)])
    n_edges = 0
    entry_bytes = 0
    fits = True
    for tail, head, weight in batches:
        n_edges += tail.size
        # A weight that overflows to infinity is not equal, so that it keeps its precision.
        with np.errstate(over="ignore"):
            narrow = weight.astype(np.float32)
        if not np.array_equal(narrow, weight):
            narrow = weight.copy()
        entry_bytes = max(entry_bytes, np.dtype(index_dtype).itemsize + narrow.itemsize)
        # Each edge is stored twice, once per end.
        fits = fits and 2 * n_edges * entry_bytes <= max_bytes
        if fits:
            ends = (tail.astype(index_dtype), head.astype(index_dtype))
            for column, values in zip(columns, (*ends, narrow), strict=True):
                column.append(values)
    if not fits:
        return None
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        # Free the batches of a column before the next one is joined, to limit peak memory.
        column.clear()
    return _sort_into_rows(*read_only_views(*joined), np.zeros(n_nodes))


def _sort_into_rows(tail, head, weight, ridge):
    tail = as_unsigned(tail)
    head = as_unsigned(head)
    start = np.zeros(ridge.size + 2, dtype=np.uint64)
    neighbor = np.empty(2 * tail.size, tail.dtype)
    value = np.empty(2 * tail.size, weight.dtype)
    _sort_edges(tail, head, weight, start, neighbor, value)
    # The last entry was needed for counting only.
    start = start[:-1]
    return CSRLaplacian(start, neighbor, value, ridge, parts=split_by_work(start))


def power_of_two(weight: float) -> float:
    """Return the largest power of two that is at most a positive weight.

    Dividing by it is exact.

    >>> power_of_two(5.0), power_of_two(1e-300) <= 1e-300
    (4.0, True)
    """
    return float(np.ldexp(0.5, np.frexp(weight)[1]))


def inverse_or_zero(values):
    """Return 1 / x of non-negative numbers, 0 for zeros.

    >>> inverse_or_zero(np.array([4.0, 0.0]))
    array([0.25, 0.  ])
    """
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def split_by_work(start):
    """Return the bounds of `N_PARTS` ranges of nodes with about equal work in a product."""
    # Reading and writing the row of a node takes about as long as four neighbors.
    work = start.view(np.int64) + 4 * np.arange(start.size)
    return np.searchsorted(work, np.linspace(0, work[-1], N_PARTS + 1))


def multiply(matrix, x, out):
    """Write A x into `out` and return the dot products x_k . (A x)_k of the columns."""
    n_columns = x.shape[1]
    partial = np.empty((N_PARTS, n_columns))
    n_entries = matrix.weight.size + matrix.n_nodes
    # For many columns in single precision, sums in memory take 3/4 of the time of sums in
    # registers: the neighbors are read once instead of once per eight columns. In double precision
    # they take 1.0 to 1.3 times as long.
    if n_columns > MAX_WIDTH and x.itemsize == 4:
        run_kernel(_multiply_in_memory, n_entries * n_columns, *matrix, x, out, partial)
        return partial.sum(axis=0)
    first = 0
    width = MAX_WIDTH
    while first < n_columns:
        while first + width > n_columns:
            width //= 2
        run_kernel(
            _multiply_in_registers,
            n_entries * width,
            *matrix,
            x,
            out,
            partial,
            np.uint64(first),
            zeros(width, x.dtype),
            zeros(width, partial.dtype),
        )
        first += width
    return partial.sum(axis=0)


def as_unsigned(indices):
    """Return a view of non-negative integers as unsigned integers of the same size."""
    return indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)


def aligned_like(block, n_columns=None):
    """Return an uninitialized block whose rows begin on cache lines (up to 40 % faster)."""
    shape = (block.shape[0], block.shape[1] if n_columns is None else n_columns)
    n_bytes = shape[0] * shape[1] * block.itemsize
    # The widest tuple of numbers in double precision is one cache line.
    line_bytes = MAX_WIDTH * np.dtype(np.float64).itemsize
    buffer = np.empty(n_bytes + line_bytes, dtype=np.uint8)
    shift = -buffer.ctypes.data % line_bytes
    return buffer[shift : shift + n_bytes].view(block.dtype).reshape(shape)


@njit_cached
def _sort_edges(tail, head, weight, start, neighbor, value):
    """Fill the rows by a counting sort; `start` has one entry more than a CSR index."""
    for e in range(tail.size):
        start[tail[e] + 2] += 1
        start[head[e] + 2] += 1
    for i in range(start.size - 1):
        start[i + 1] += start[i]
    # start[u + 1] is where the next entry of row u goes; at the end it is the end of the row.
    for e in range(tail.size):
        u = tail[e] + 1
        v = head[e] + 1
        neighbor[start[u]] = head[e]
        value[start[u]] = weight[e]
        start[u] += 1
        neighbor[start[v]] = tail[e]
        value[start[v]] = weight[e]
        start[v] += 1


@njit_cached
def _add_row_sums(start, weight, total):
    for i in range(total.size):
        row_sum = 0.0
        for e in range(start[i], start[i + 1]):
            row_sum += weight[e]
        total[i] += row_sum


@parallel_njit
def _multiply_in_registers(
    start, neighbor, weight, ridge, parts, x, out, partial, k, zero, zero_sums
):
    """Multiply as many columns as `zero` has, starting at column k."""
    for part in numba.prange(parts.size - 1):
        rows = parts[part : part + 2]
        dots = _multiply_rows(start, neighbor, weight, ridge, rows, x, out, k, zero, zero_sums)
        store(partial, part, k, dots)


@inline_njit
def _multiply_rows(start, neighbor, weight, ridge, rows, x, out, k, zero, dots):
    """Multiply a range of rows, and add the dot products with x to `dots`.

    This is a function of its own because numba treats sums in a loop over `prange` as shared.
    """
    last = neighbor.size - 1
    for i in range(rows[0], rows[1]):
        own = load(x, i, k, zero)
        total = scale(ridge[i], own)
        for e in range(start[i], start[i + 1]):
            # A single column is small enough for the caches.
            if len(zero) > 1:
                prefetch(x, neighbor[min(e + PREFETCH_DISTANCE, last)], k)
            difference = subtract(own, load(x, neighbor[e], k, zero))
            total = add_scaled(total, weight[e], difference)
        store(out, i, k, total)
        dots = add_products(dots, own, total)
    return dots


@parallel_njit
def _multiply_in_memory(start, neighbor, weight, ridge, parts, x, out, partial):
    """Multiply all columns of a row at a time, with sums in memory."""
    last = neighbor.size - 1
    n_columns = x.shape[1]
    for part in numba.prange(parts.size - 1):
        dots = partial[part]
        dots[:] = 0.0
        for i in range(parts[part], parts[part + 1]):
            own = x[i]
            total = out[i]
            for k in range(n_columns):
                total[k] = ridge[i] * own[k]
            for e in range(start[i], start[i + 1]):
                prefetch(x, neighbor[min(e + PREFETCH_DISTANCE, last)], 0)
                w = weight[e]
                j = neighbor[e]
                for k in range(n_columns):
                    total[k] += w * (own[k] - x[j, k])
            for k in range(n_columns):
                dots[k] += own[k] * total[k]
