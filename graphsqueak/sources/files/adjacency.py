"""What Matrix Market and METIS files share: a header, nodes 1, ..., n and a symmetric matrix.

The symmetry of a matrix is checked in one pass and constant memory. Let r(i, j) be pseudo-random in
[-1, 1]. The sum over all entries

    sum_ij a_ij (r(i, j) - r(j, i))

is zero if A is symmetric. Otherwise it is zero with probability zero over the choice of r, since
each difference a_ij - a_ji has its own random factor. The sum is compared with the sum of the
absolute terms, to allow for rounding.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.randomness import mix64
from graphsqueak.sources.edge_source import Chunk
from graphsqueak.sources.files.inflating import PIECE_BYTES
from graphsqueak.system.kernels import inline_njit, njit_cached


class SymmetryCheck:
    """Test whether a matrix is symmetric, from its entries in any order.

    Examples
    --------
    >>> check = SymmetryCheck()
    >>> check.add(np.array([[1, 2], [3, 1], [2, 1]]), np.array([5.0, 1.0, 5.0]))
    >>> check.holds
    False
    >>> check.add(np.array([[1, 3]]), np.array([1.0]))
    >>> check.holds
    True
    """

    def __init__(self):
        self._sum = self._scale = 0.0

    def add(self, entries, values):
        """Add the values a_ij at entries (i, j)."""
        change, scale = _sums(entries, values)
        self._sum += change
        self._scale += scale

    @property
    def holds(self):
        """Whether the entries so far are those of a symmetric matrix."""
        # Rounding errors are about 1e-16 of each term.
        return bool(abs(self._sum) <= 1e-12 * self._scale)


def header_line(stream):
    """Return the first line that is not a comment, its number, and the bytes up to its end.

    The line is empty if there is none.
    """
    n_bytes = 0
    for number, line in enumerate(stream.peek(PIECE_BYTES).split(b"\n"), start=1):
        n_bytes += len(line) + 1
        line = line.strip()
        if line and not line.startswith(b"%"):
            return line, number, n_bytes
    return b"", 0, n_bytes


def announced_nodes(n_nodes):
    """Return the first chunk: all nodes, so that isolated ones exist and numbers are in order."""
    return Chunk(np.zeros((0, 2), np.int64), nodes=np.arange(1, n_nodes + 1))


def numbers_from_one(edges):
    """Return the number of each node: its id if the ids are 1, ..., n, else 1 more than the id.

    >>> from graphsqueak.graph import EdgeList
    >>> numbers_from_one(EdgeList(tail=[0], head=[1], ids=[2, 1]))
    array([2, 1])
    """
    ids = edges.ids
    counted = np.arange(edges.n_nodes)
    if ids.dtype.kind in "iu":
        if np.array_equal(np.sort(ids), counted + 1):
            return ids.astype(np.int64)
        if np.array_equal(ids, counted):
            return counted + 1
    raise InputError(
        "Matrix Market and METIS files number nodes 1, ..., n and cannot hold other ids such as "
        f"{ids[0]!r}; write .tsv, .csv, .parquet or .arrow"
    )


@njit_cached
def _sums(entries, values):
    change = scale = 0.0
    for k in range(entries.shape[0]):
        i, j = entries[k, 0], entries[k, 1]
        term = values[k] * (_random(i, j) - _random(j, i))
        change += term
        scale += abs(term)
    return change, scale


@inline_njit
def _random(i, j):
    # The multiplier is 2^64 divided by the golden ratio: pairs (i, j) rarely collide.
    bits = mix64(np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j))
    # The upper 53 bits, scaled to [-1, 1).
    return np.int64(bits >> np.uint64(11)) * 2.0**-52 - 1.0
