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

from graphsqueak.errors import InputError
from graphsqueak.system.kernels import WORTH_SHARING, compiled, frozen, prefetch, run, shared
from graphsqueak.validation import check_real

__all__ = [
    "AHEAD",
    "N_PARTS",
    "Rows",
    "aligned_like",
    "as_unsigned",
    "build_rows",
    "check_block",
    "check_ridge",
    "even_parts",
    "multiply",
    "power_of_two",
    "relabel",
    "reorder_rows",
    "rows_from_scipy",
    "rows_of_batches",
]

N_PARTS = 64
AHEAD = 32  # neighbors, in the fetching of rows
MANY_EDGES = 2**21  # from here on shorter weights are worth kernels of their own


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
        shape = (self.n_nodes, self.n_nodes)
        neighbor = self.neighbor.view(np.int32 if self.neighbor.itemsize == 4 else np.int64)
        adjacency = scipy.sparse.csr_array(
            (self.weight, neighbor, self.start.view(np.int64)), shape=shape
        )
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
        short = weight.astype(np.float32)
        if not np.array_equal(short, weight):
            short = weight
        width = max(width, np.dtype(index).itemsize + short.itemsize)
        if 2 * n_edges * width > most_bytes:
            kept = None
        if kept is not None:
            kept.append([short.copy(), head.astype(index), tail.astype(index)])
    if kept is None:
        return None
    columns = [np.concatenate([part.pop() for part in kept] or [np.zeros(0, index)]) for _ in "th"]
    weight = np.concatenate([part.pop() for part in kept] or [np.zeros(0)])
    if n_edges < many_edges:
        weight = weight.astype(np.float64)
    return _sorted_rows(*frozen(*columns, weight), np.zeros(n_nodes))


def _sorted_rows(tail, head, weight, ridge):
    tail, head = as_unsigned(tail), as_unsigned(head)
    start = np.zeros(ridge.size + 2, dtype=np.uint64)
    neighbor, value = np.empty(2 * tail.size, tail.dtype), np.empty(2 * tail.size, weight.dtype)
    _sort_edges(tail, head, weight, start, neighbor, value)
    start = start[:-1]
    return Rows(start, neighbor, value, ridge, _work_parts(start))


def relabel(rows, order, position):
    """The rows with node order[p] renamed to p = position[order[p]]."""
    start, neighbor, weight = reorder_rows(rows.start, rows.neighbor, rows.weight, order, position)
    return Rows(start, neighbor, weight, rows.ridge[order], _work_parts(start))


def rows_from_scipy(matrix):
    """Rows of any symmetric matrix: weight_ij = -a_ij, and the row sums as ridge."""
    matrix = matrix.tocoo()
    off = matrix.row != matrix.col
    ridge = np.asarray(matrix.sum(axis=1)).ravel()
    adjacency = scipy.sparse.coo_array(
        (-matrix.data[off], (matrix.row[off], matrix.col[off])), shape=matrix.shape
    ).tocsr()
    start = adjacency.indptr.astype(np.uint64)
    neighbor = adjacency.indices.astype(np.uint32)
    return Rows(start, neighbor, adjacency.data, ridge, _work_parts(start))


def check_ridge(ridge, n_nodes):
    """`ridge` as one finite number per node, none negative; an InputError else."""
    if np.ndim(ridge) == 0:
        return np.full(n_nodes, check_real("ridge", ridge, least=0.0, below=np.inf))
    ridge = np.array(ridge, dtype=np.float64)
    if ridge.shape != (n_nodes,):
        raise InputError(f"ridge has shape {ridge.shape}; give a number or {n_nodes} numbers")
    good = (ridge >= 0) & (ridge < np.inf)
    if not good.all():
        node = int(np.argmin(good))
        raise InputError(f"ridge of node {node} is {ridge[node]}; it must be finite, not negative")
    return ridge


def check_block(B, n_nodes):
    """`B` as a block of shape (n_nodes, K) in C order, float32 or float64; an InputError else."""
    array = np.asarray(B)
    if array.dtype.kind not in "fiub" or array.ndim not in (1, 2) or array.shape[0] != n_nodes:
        raise InputError(
            f"the right-hand side is {array.dtype} of shape {array.shape}; give real numbers of "
            f"shape ({n_nodes},) or ({n_nodes}, K)"
        )
    dtype = np.float32 if array.dtype == np.float32 else np.float64
    block = np.ascontiguousarray(array if array.ndim == 2 else array[:, None], dtype=dtype)
    if not np.isfinite(block).all():
        node, column = np.argwhere(~np.isfinite(block))[0]
        raise InputError(
            f"the right-hand side is {block[node, column]} at node {node}, column {column}; "
            "remove infinite and NaN entries"
        )
    return block


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
    partial = np.empty((N_PARTS, x.shape[1]))
    work = (rows.weight.size + rows.n_nodes) * x.shape[1]
    run(_multiply, work, *rows, x, out, partial, worth_sharing=worth_sharing)
    return partial.sum(axis=0)


def as_unsigned(indices):
    """The same non-negative integers, as unsigned ones of the same size."""
    return indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)


def aligned_like(block):
    """An uninitialized copy in C order whose rows begin on cache lines (up to 40 % faster)."""
    buffer = np.empty(block.nbytes + 64, dtype=np.uint8)
    shift = -buffer.ctypes.data % 64
    return buffer[shift : shift + block.nbytes].view(block.dtype).reshape(block.shape)


def _work_parts(start):
    work = start.view(np.int64) + 4 * np.arange(start.size)
    return np.searchsorted(work, np.linspace(0, work[-1], N_PARTS + 1))


@compiled
def reorder_rows(start, neighbor, weight, order, position):
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


@compiled
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


@compiled
def _add_weights(start, weight, total):
    for i in range(total.size):
        for e in range(start[i], start[i + 1]):
            total[i] += weight[e]


@shared
def _multiply(start, neighbor, weight, ridge, parts, x, out, partial):
    n_columns = x.shape[1]
    last = neighbor.size - 1
    for part in numba.prange(parts.size - 1):
        for k in range(n_columns):
            partial[part, k] = 0.0
        for i in range(parts[part], parts[part + 1]):
            if n_columns == 1:
                own = x[i, 0]
                total = ridge[i] * own
                for e in range(start[i], start[i + 1]):
                    total += weight[e] * (own - x[neighbor[e], 0])
                out[i, 0] = total
                partial[part, 0] += own * total
            elif n_columns == 4:  # held in registers
                a, b, c, d = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
                own = ridge[i]
                sum_a, sum_b, sum_c, sum_d = own * a, own * b, own * c, own * d
                for e in range(start[i], start[i + 1]):
                    prefetch(x, neighbor[min(e + AHEAD, last)])
                    w, j = weight[e], neighbor[e]
                    sum_a += w * (a - x[j, 0])
                    sum_b += w * (b - x[j, 1])
                    sum_c += w * (c - x[j, 2])
                    sum_d += w * (d - x[j, 3])
                out[i, 0], out[i, 1], out[i, 2], out[i, 3] = sum_a, sum_b, sum_c, sum_d
                partial[part, 0] += a * sum_a
                partial[part, 1] += b * sum_b
                partial[part, 2] += c * sum_c
                partial[part, 3] += d * sum_d
            else:
                for k in range(n_columns):
                    out[i, k] = ridge[i] * x[i, k]
                for e in range(start[i], start[i + 1]):
                    prefetch(x, neighbor[min(e + AHEAD, last)])
                    w, j = weight[e], neighbor[e]
                    for k in range(n_columns):
                        out[i, k] += w * (x[i, k] - x[j, k])
                for k in range(n_columns):
                    partial[part, k] += x[i, k] * out[i, k]
