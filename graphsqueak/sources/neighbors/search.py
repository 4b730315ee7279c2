"""Nearest neighbors of points, dense or sparse: exact by brute force, or approximate.

The neighbors of point i are the first k other points in the order of (d_ij^2, j): ties go to the
lower number. Every d_ij^2 is summed over the coordinates in ascending order, so that it has the
same bits for (i, j) and (j, i), on any number of threads:

    dense    d^2 = sum_f (x_if - x_jf)^2
    sparse   d^2 = |x_i|^2 + |x_j|^2 - 2 sum_f x_if x_jf,  at least 0

The products of sparse points are computed from the columns of a row's entries (an inverted index),
so that only pairs with a common coordinate are visited.

For large dense data, pynndescent finds approximate neighbors in about n log n steps instead of n^2.
It is not installed with this package.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.neighbors.points import DensePoints
from graphsqueak.sources.neighbors.weights import LOCAL_RANK
from graphsqueak.system.kernels import inline_njit, parallel_njit, run_kernel

# A thread searches the neighbors of 32 points at a time. Their distances are summed in tiles of
# this number of rows and columns, the size of an L1 cache. The time of a search (60,000 points, 20
# coordinates, 50 neighbors) is 2 % shorter with 64 x 64, but the distances take twice the memory;
# 11 % longer with 32 x 32; and 15 % longer without tiles.
TILE_SHAPE = (32, 128)

# Buckets of a histogram, and the number of values that are sorted instead. The time of a search is
# the same within 5 % with 128 buckets. With np.partition instead of a histogram, it is 3 to 69 %
# longer.
N_BUCKETS = 64


class Neighbors(NamedTuple):
    """The neighbors of some points.

    Attributes
    ----------
    neighbor, squared : ndarray of shape (n_points, k)
        Numbers of the neighbors, ascending in each row, and the squared distances.
    last : ndarray of shape (n_points,)
        The neighbor that is last in the order of (d^2, number).
    last_squared, local_squared : ndarray of shape (n_points,)
        Squared distance of the last neighbor, and of the seventh (the last, if there are fewer).
    """

    neighbor: np.ndarray
    squared: np.ndarray
    last: np.ndarray
    last_squared: np.ndarray
    local_squared: np.ndarray


def find_neighbors(points, start, stop, n_neighbors, *, chunks_per_call=8):
    """Return the neighbors of points start, ..., stop - 1 among all points.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    start, stop : int
    n_neighbors : int
        At most points.n - 1.
    chunks_per_call : int
        Chunks per thread and call of the kernel. Signals are handled between two calls, so a call
        must not take long; but threads wait for each other at its end.

    Returns
    -------
    Neighbors

    Examples
    --------
    >>> from graphsqueak.sources.neighbors.points import prepare_points
    >>> line = prepare_points([[0.0], [1.0], [3.0], [7.0]], "euclidean")
    >>> found = find_neighbors(line, 1, 3, 2)
    >>> found.neighbor, found.squared, found.last
    (array([[0, 2], [0, 1]], dtype=int32), array([[1., 4.], [9., 4.]]), array([2, 0], dtype=int32))
    """
    n_rows = stop - start
    found = Neighbors(
        neighbor=np.empty((n_rows, n_neighbors), dtype=np.int32),
        squared=np.empty((n_rows, n_neighbors)),
        last=np.empty(n_rows, dtype=np.int32),
        last_squared=np.empty(n_rows),
        local_squared=np.empty(n_rows),
    )
    kernel = _search_dense if isinstance(points, DensePoints) else _search_sparse
    # About 20 elementary steps per distance: computing it and selecting the nearest.
    work_per_row = 20 * points.n
    rows_per_call = chunks_per_call * TILE_SHAPE[0] * numba.get_num_threads()
    for first in range(0, n_rows, rows_per_call):
        rows = slice(first, min(first + rows_per_call, n_rows))
        block = Neighbors(*(array[rows] for array in found))
        run_kernel(kernel, block.last.size * work_per_row, points, start + first, block)
    return found


def find_approximate_neighbors(points, n_neighbors, random_state=None):
    """Return approximate nearest neighbors of all points, by nearest-neighbor descent.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    n_neighbors : int
    random_state : int, Generator or None

    Returns
    -------
    index, distance : ndarray of shape (n, n_neighbors)
        Not sorted.
    """
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise InputError(
            Parameter("approximate", True),
            " needs pynndescent: pip install pynndescent, or omit this option",
        ) from None
    seed = int(np.random.default_rng(random_state).integers(2**31))
    search = NNDescent(_as_matrix(points), n_neighbors=n_neighbors + 1, random_state=seed)
    index, distance = search.neighbor_graph
    # A point is its own first neighbor. If equal points displaced it, the last neighbor is dropped.
    is_self = index == np.arange(len(index))[:, None]
    is_self[~is_self.any(axis=1), -1] = True
    shape = (len(index), n_neighbors)
    return index[~is_self].reshape(shape), distance[~is_self].reshape(shape).astype(np.float64)


def _as_matrix(points):
    if isinstance(points, DensePoints):
        return points.rows.astype(np.float32)
    arrays = (points.data.astype(np.float32), points.indices, points.indptr)
    return scipy.sparse.csr_matrix(arrays, shape=(points.n, points.column_indptr.size - 1))


@parallel_njit
def _search_dense(points, start, found):
    rows = points.rows
    columns = points.columns
    n = rows.shape[0]
    n_searched = found.last.size
    rows_per_chunk, columns_per_tile = TILE_SHAPE
    for chunk in numba.prange(-(-n_searched // rows_per_chunk)):
        first = chunk * rows_per_chunk
        n_rows = min(rows_per_chunk, n_searched - first)
        distance = np.zeros((n_rows, n))
        for left in range(0, n, columns_per_tile):
            right = min(left + columns_per_tile, n)
            # Coordinate by coordinate, so that every d^2 is summed in the same order.
            for f in range(rows.shape[1]):
                for r in range(n_rows):
                    x = rows[start + first + r, f]
                    for j in range(left, right):
                        distance[r, j] += (columns[f, j] - x) ** 2
        candidate = np.empty(n, np.int32)
        key = np.empty(n)
        for r in range(n_rows):
            i = start + first + r
            # Under the cosine a row of zeros has distance sqrt(2) to all points.
            for zero_row in points.zero_rows:
                if zero_row == i:
                    distance[r] = 2.0
                else:
                    distance[r, zero_row] = 2.0
            _select(distance[r], i, candidate, key, found, first + r)


@parallel_njit
def _search_sparse(points, start, found):
    norms = points.norms
    column_indptr = points.column_indptr
    column_indices = points.column_indices
    column_data = points.column_data
    n = norms.size
    n_searched = found.last.size
    rows_per_chunk = TILE_SHAPE[0]
    for chunk in numba.prange(-(-n_searched // rows_per_chunk)):
        first = chunk * rows_per_chunk
        distance = np.empty(n)
        candidate = np.empty(n, np.int32)
        key = np.empty(n)
        for row in range(first, min(first + rows_per_chunk, n_searched)):
            i = start + row
            # First the products of row i with all others.
            distance[:] = 0.0
            for p in range(points.indptr[i], points.indptr[i + 1]):
                x = points.data[p]
                f = points.indices[p]
                for q in range(column_indptr[f], column_indptr[f + 1]):
                    distance[column_indices[q]] += x * column_data[q]
            # The norms are added first, so that (i, j) and (j, i) have the same bits.
            for j in range(n):
                distance[j] = max((norms[i] + norms[j]) - 2.0 * distance[j], 0.0)
            _select(distance, i, candidate, key, found, row)


@inline_njit
def _select(distance, i, candidate, key, found, row):
    """Write the neighbors of i into a row of `found`; see `Neighbors`.

    Most points are rejected by a bound from a sample of the distances. If it rejects too many, all
    points are candidates.
    """
    neighbor = found.neighbor[row]
    squared = found.squared[row]
    k = neighbor.size
    # 1: candidates within a likely bound, or all points.
    bound = _likely_bound(distance, k, key)
    n_candidates = _collect_below(distance, i, bound, candidate, key)
    if n_candidates < k:
        n_candidates = _collect_below(distance, i, np.inf, candidate, key)
    # 2: the distance of the last neighbor.
    radius = _nth(key[:n_candidates], k - 1)
    # Number of points at exactly the radius that are among the first k.
    n_ties = k
    for c in range(n_candidates):
        n_ties -= distance[candidate[c]] < radius
    # 3: all candidates nearer than that, and the first of the ties.
    n_filled = 0
    last = -1
    for c in range(n_candidates):
        j = candidate[c]
        is_tie = distance[j] == radius and n_ties > 0
        if distance[j] < radius or is_tie:
            if is_tie:
                n_ties -= 1
                last = j
            neighbor[n_filled] = j
            squared[n_filled] = distance[j]
            n_filled += 1
    found.last[row] = last
    found.last_squared[row] = radius
    # The LOCAL_RANK-th smallest, or the largest if there are fewer.
    local_rank = min(LOCAL_RANK, k) - 1
    found.local_squared[row] = np.partition(squared, local_rank)[local_rank]


@inline_njit
def _likely_bound(distance, k, key):
    """Return a distance that at least k other points are very likely to be within, but few more.

    It is a quantile of a sample, four standard deviations above the expected rank.
    """
    # A sixteenth of the distances, but at least 256 of them.
    step = min(16, max(distance.size // 256, 1))
    n_sample = 0
    for j in range(0, distance.size, step):
        key[n_sample] = distance[j]
        n_sample += 1
    expected = n_sample * (k / distance.size)
    rank = int(expected + 4.0 * np.sqrt(expected) + 2.0)
    return np.inf if step == 1 or rank >= n_sample else _nth(key[:n_sample], rank)


@inline_njit
def _collect_below(distance, i, bound, candidate, key):
    """Collect the points other than i within the bound, ascending, and their distances."""
    n_found = 0
    for j in range(distance.size):
        # Without a branch, which processors would mispredict.
        candidate[n_found] = j
        key[n_found] = distance[j]
        n_found += (distance[j] <= bound) & (j != i)
    return n_found


@inline_njit
def _nth(key, rank):
    """Return the value with `rank` others before it in sorted order; overwrites `key`.

    Keeps only the bucket of a histogram that has it, until few values are left. `np.partition`
    takes 10 to 50 % longer, since its branches depend on comparisons.
    """
    n = key.size
    counts = np.empty(N_BUCKETS + 1, np.int64)
    while n > N_BUCKETS:
        low = key[0]
        high = key[0]
        for c in range(n):
            low = min(low, key[c])
            high = max(high, key[c])
        # The highest value has a bucket of its own.
        scale = N_BUCKETS / (high - low) if high > low else 0.0
        # All values are equal, or too close for a histogram.
        if scale == 0.0 or scale == np.inf:
            break
        # Find the bucket that has the wanted rank, and the rank within it.
        counts[:] = 0
        for c in range(n):
            counts[int((key[c] - low) * scale)] += 1
        bucket = 0
        while rank >= counts[bucket]:
            rank -= counts[bucket]
            bucket += 1
        # Keep its values, again without a branch.
        n_kept = 0
        for c in range(n):
            value = key[c]
            key[n_kept] = value
            n_kept += int((value - low) * scale) == bucket
        n = n_kept
    return np.sort(key[:n])[rank]
