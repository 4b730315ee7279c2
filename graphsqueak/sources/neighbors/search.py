"""Nearest neighbors of points, dense or sparse: exactly, on all threads, or nearly.

The neighbors of point i are the first k other points in the order of (d_ij^2, j), so ties go to
the lower number. Every d_ij^2 is added up over the coordinates in ascending order, by the same
instructions whatever the block and the thread, and comes out the same, to the last bit, from i's
side and from j's:

    dense    d^2 = sum_f (x_if - x_jf)^2
    sparse   d^2 = |x_i|^2 + |x_j|^2 - 2 sum_f x_if x_jf,  at least 0

Sparse products go through the columns of each word of a row (an inverted index), which touches
only pairs that share a word.

For many dense points, pynndescent finds nearly the nearest neighbors in about n log n steps instead
of n^2, and misses a few. It is not installed with this package.
"""

import time
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse

from graphsqueak.errors import InputError, Parameter
from graphsqueak.sources.neighbors.points import DensePoints
from graphsqueak.sources.neighbors.weights import LOCAL_RANK
from graphsqueak.system.kernels import inline_njit, parallel_njit, run_kernel

__all__ = ["Neighbors", "find_neighbors", "nearly_neighbors"]

_SECONDS_PER_CALL = 0.5  # of a kernel: a signal waits for at most twice that

_AT_ONCE = 4  # coordinates of dense points that make an elementary step
_WORK = 20  # such steps per pair of sparse points
_CHUNK = 32  # rows that one thread works on at a time
_TILE = 128  # columns of a dense block that stay in the fastest cache
_BUCKETS = 256
_FEW = 24  # values that are simply sorted


class Neighbors(NamedTuple):
    """The neighbors of some points: one row, or one entry, for each of those.

    `neighbor` is ascending in each row; `squared` holds d^2 to each; `last` is the neighbor that
    comes last in the order of (d^2, number), `radius` its d^2, `near` that of the seventh (of the
    last, if there are fewer).
    """

    neighbor: np.ndarray
    squared: np.ndarray
    last: np.ndarray
    radius: np.ndarray
    near: np.ndarray


def find_neighbors(points, start, stop, n_neighbors):
    """The neighbors of points start, ..., stop - 1 among all points.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    start, stop : int
    n_neighbors : int
        At most points.n - 1.

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
        np.empty((n_rows, n_neighbors), dtype=np.int32),
        np.empty((n_rows, n_neighbors)),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows),
        np.empty(n_rows),
    )
    is_dense = isinstance(points, DensePoints)
    kernel = _search_dense if is_dense else _search_sparse
    work_per_row = points.rows.size // _AT_ONCE if is_dense else _WORK * points.n
    # Signals are handled between two calls of the kernel, so no call may take long.
    fewest_rows = _CHUNK * numba.get_num_threads()
    n_at_once = fewest_rows
    first = 0
    while first < n_rows:
        last = min(first + n_at_once, n_rows)
        piece = [array[first:last] for array in found]
        began = time.perf_counter()
        run_kernel(kernel, (last - first) * work_per_row, *points, start + first, *piece)
        seconds = time.perf_counter() - began
        if seconds < _SECONDS_PER_CALL / 2:
            n_at_once *= 2
        elif seconds > 2 * _SECONDS_PER_CALL:
            n_at_once = max(n_at_once // 2, fewest_rows)
        first = last
    return found


def nearly_neighbors(points, n_neighbors, random_state=None):
    """Nearly the nearest neighbors of all points, by nearest-neighbor descent.

    Parameters
    ----------
    points : DensePoints or SparsePoints
    n_neighbors : int
    random_state : int, Generator or None

    Returns
    -------
    index, distance : ndarray of shape (n, n_neighbors)
        The nearest others that were found, not sorted.
    """
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise InputError(
            Parameter("approximate", True),
            " needs pynndescent: pip install pynndescent, or leave it away",
        ) from None
    seed = int(np.random.default_rng(random_state).integers(2**31))
    search = NNDescent(_as_matrix(points), n_neighbors=n_neighbors + 1, random_state=seed)
    index, distance = search.neighbor_graph
    # The point itself comes first, but among twins it may be missing; then the last one goes.
    itself = index == np.arange(len(index))[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = (len(index), n_neighbors)
    return index[~itself].reshape(shape), distance[~itself].reshape(shape).astype(np.float64)


def _as_matrix(points):
    if isinstance(points, DensePoints):
        return points.rows.astype(np.float32)
    parts = (points.data.astype(np.float32), points.indices, points.indptr)
    return scipy.sparse.csr_matrix(parts, shape=(points.n, points.column_indptr.size - 1))


@parallel_njit
def _search_dense(rows, columns, blank, start, index, squared, last, radius, near):
    n = rows.shape[0]
    for chunk in numba.prange(-(-index.shape[0] // _CHUNK)):
        first = chunk * _CHUNK
        n_rows = min(_CHUNK, index.shape[0] - first)
        distance = np.zeros((n_rows, n))
        for left in range(0, n, _TILE):
            right = min(left + _TILE, n)
            for f in range(rows.shape[1]):
                for r in range(n_rows):
                    x = rows[start + first + r, f]
                    for j in range(left, right):
                        distance[r, j] += (columns[f, j] - x) ** 2
        candidate, key = np.empty(n, np.int32), np.empty(n)
        for r in range(n_rows):
            i = start + first + r
            for b in blank:
                if b == i:
                    distance[r] = 2.0
                else:
                    distance[r, b] = 2.0
            row = first + r
            last[row] = _select(distance[r], i, candidate, key, index[row], squared[row])
            radius[row] = distance[r, last[row]]
            near[row] = _seventh(squared[row])


@parallel_njit
def _search_sparse(
    indptr,
    indices,
    data,
    columns,
    members,
    values,
    norms,
    start,
    index,
    squared,
    last,
    radius,
    near,
):
    n = norms.size
    for chunk in numba.prange(-(-index.shape[0] // _CHUNK)):
        first = chunk * _CHUNK
        distance = np.empty(n)
        candidate, key = np.empty(n, np.int32), np.empty(n)
        for row in range(first, min(first + _CHUNK, index.shape[0])):
            i = start + row
            distance[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                x = data[p]
                for q in range(columns[indices[p]], columns[indices[p] + 1]):
                    distance[members[q]] += x * values[q]
            for j in range(n):
                distance[j] = max((norms[i] + norms[j]) - 2.0 * distance[j], 0.0)
            last[row] = _select(distance, i, candidate, key, index[row], squared[row])
            radius[row] = distance[last[row]]
            near[row] = _seventh(squared[row])


@inline_njit
def _select(distance, i, candidate, key, index, squared):
    """Write the neighbors of i in ascending order; return the last in the order of (d^2, j).

    Most points are put aside by a bound from a sample of the distances; if it lets too few pass,
    all of them are looked at.
    """
    k = index.size
    n_candidates = _below(distance, i, _likely_bound(distance, k, key), candidate, key)
    if n_candidates < k:
        n_candidates = _below(distance, i, np.inf, candidate, key)
    radius = _nth(key[:n_candidates], k - 1)
    n_ties = k  # how many at exactly the radius belong to the first k
    for c in range(n_candidates):
        n_ties -= distance[candidate[c]] < radius
    filled, last = 0, -1
    for c in range(n_candidates):
        j = candidate[c]
        if distance[j] < radius or (distance[j] == radius and n_ties > 0):
            if distance[j] == radius:
                n_ties -= 1
                last = j
            index[filled] = j
            squared[filled] = distance[j]
            filled += 1
    return last


@inline_njit
def _likely_bound(distance, k, key):
    """A distance that at least k of the others very likely do not exceed, but not many more."""
    step = min(16, max(distance.size // 256, 1))
    n_sample = 0
    for j in range(0, distance.size, step):
        key[n_sample] = distance[j]
        n_sample += 1
    share = k / distance.size
    rank = int(n_sample * share + 4.0 * np.sqrt(n_sample * share) + 2.0)
    return np.inf if step == 1 or rank >= n_sample else _nth(key[:n_sample], rank)


@inline_njit
def _below(distance, i, bound, candidate, key):
    """Gather the points other than i at most `bound` away, ascending, and their distances."""
    n_found = 0
    for j in range(distance.size):
        candidate[n_found] = j
        key[n_found] = distance[j]
        n_found += (distance[j] <= bound) & (j != i)
    return n_found


@inline_njit
def _nth(key, rank):
    """The value with `rank` others before it in sorted order; overwrites `key`.

    Keeps only the bucket of an even histogram that holds it, and again until few are left: no
    branch depends on a comparison of two values, which a processor cannot guess.
    """
    n = key.size
    counts = np.empty(_BUCKETS + 1, np.int64)
    while n > _FEW:
        low, high = key[0], key[0]
        for c in range(n):
            low, high = min(low, key[c]), max(high, key[c])
        scale = _BUCKETS / (high - low) if high > low else 0.0
        if scale == 0.0 or scale == np.inf:
            break
        counts[:] = 0
        for c in range(n):
            counts[int((key[c] - low) * scale)] += 1
        bucket = 0
        while rank >= counts[bucket]:
            rank -= counts[bucket]
            bucket += 1
        n_kept = 0
        for c in range(n):
            value = key[c]
            key[n_kept] = value
            n_kept += int((value - low) * scale) == bucket
        n = n_kept
    return np.sort(key[:n])[rank]


@inline_njit
def _seventh(squared):
    """The LOCAL_RANK-th smallest value, or the largest if there are fewer."""
    rank = min(LOCAL_RANK, squared.size) - 1
    smallest = np.full(rank + 1, np.inf)
    for d in squared:
        if d < smallest[rank]:
            slot = rank
            while slot > 0 and smallest[slot - 1] > d:
                smallest[slot] = smallest[slot - 1]
                slot -= 1
            smallest[slot] = d
    return smallest[rank]
