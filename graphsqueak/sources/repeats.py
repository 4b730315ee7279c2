"""Edges that are listed more than once: how many, in fixed memory, and each of them once.

The number of different pairs in a stream is estimated by adaptive sampling [Fla90]: pairs whose
hash falls below a threshold are remembered; when they become too many, the threshold is halved and
those above it are forgotten. With s pairs remembered below a share 1/2^k of all hashes there are
about s 2^k different ones, with a relative standard deviation of 1.2 / sqrt(room); up to `room`
pairs, the count is exact.

To keep each pair once, edges are written to a temporary file, parted by the hash of their pair, so
that each part fits into memory and all repeats of a pair are in one part.

References
----------
[Fla90] Flajolet. On adaptive sampling. Computing 43, 1990.
"""

import tempfile
import weakref

import numba
import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.randomness import mix64

__all__ = ["DistinctEdges", "RepeatSample"]

_ROOM = 1 << 16
_N_PARTS = 256
_EDGE = np.dtype([("tail", np.int64), ("head", np.int64), ("weight", np.float64)])


class RepeatSample:
    """How many of the edges so far repeat an earlier one, in either direction.

    Parameters
    ----------
    room : int
        Pairs that are remembered at most, a power of two.

    Examples
    --------
    >>> sample = RepeatSample()
    >>> sample.add(np.array([0, 1, 0, 2]), np.array([1, 0, 1, 3]))
    >>> sample.share, sample.is_exact
    (0.5, True)
    """

    def __init__(self, room=_ROOM):
        self._room = room
        self._slots = np.zeros(2 * room, dtype=np.uint64)  # hashes of pairs, 0 for none
        self._n_held = self._level = 0
        self.n_edges = 0

    def add(self, tail, head):
        """Take the ends of more edges."""
        self.n_edges += len(tail)
        cursor = 0
        while True:
            cursor, self._n_held = _remember(
                tail, head, cursor, self._slots, self._n_held, self._room, self._level
            )
            if cursor == len(tail):
                return
            self._level += 1
            held = self._slots[(self._slots != 0) & (self._slots >> (64 - self._level) == 0)]
            self._slots[:] = 0
            _refill(held, self._slots)
            self._n_held = held.size

    @property
    def is_exact(self):
        """Whether no pair had to be forgotten."""
        return self._level == 0

    @property
    def share(self):
        """Share of the edges that repeat an earlier one; 0 where an estimate cannot tell."""
        if self.n_edges == 0:
            return 0.0
        share = 1.0 - self._n_held * 2.0**self._level / self.n_edges
        return share if self.is_exact or share > 4 * self.standard_deviation else 0.0

    @property
    def standard_deviation(self):
        """Of the share."""
        if self.is_exact or self.n_edges == 0:
            return 0.0
        return 1.2 / self._room**0.5 * self._n_held * 2.0**self._level / self.n_edges


class DistinctEdges:
    """Each pair once, with the weight it had first: write all batches, then iterate.

    Takes 24 bytes an edge in a temporary file, and, while it is read, memory for a 256th of that.

    Parameters
    ----------
    n_parts : int
        Each of which must fit into memory.

    Examples
    --------
    >>> edges = DistinctEdges()
    >>> edges.write(EdgeList(tail=[0, 1, 1], head=[1, 0, 2], weight=[5.0, 7.0, 1.0]))
    >>> [(batch.n_edges, float(batch.weight.sum())) for batch in edges.batches(10, 3, None)]
    [(2, 6.0)]
    """

    def __init__(self, n_parts=_N_PARTS):
        self._n_parts, self._first, self._file = n_parts, None, None
        self._cuts = []  # of each batch, sorted by part: where its parts begin in the file, in rows

    def write(self, batch):
        """Take the edges of one more batch."""
        rows = np.empty(batch.n_edges, dtype=_EDGE)
        rows["tail"], rows["head"], rows["weight"] = batch.tail, batch.head, batch.weight
        if self._first is None and self._file is None:
            self._first = rows  # a single batch needs no file
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
            weakref.finalize(self, self._file.close)
            self._append(self._first)
            self._first = None
        self._append(rows)

    def _append(self, rows):
        part = _part_of(rows["tail"], rows["head"], self._n_parts)
        order = np.argsort(part, kind="stable")
        begin = self._cuts[-1][-1] if self._cuts else 0
        self._cuts.append(begin + np.searchsorted(part[order], np.arange(self._n_parts + 1)))
        self._file.write(rows[order].tobytes())

    def batches(self, batch_size, n_nodes, ids):
        """Yield the distinct edges, `batch_size` or fewer at a time."""
        for rows in self._parts():
            kept = rows[_first_of_each(rows["tail"], rows["head"])]
            for start in range(0, len(kept), batch_size):
                some = kept[start : start + batch_size]
                yield EdgeList.from_clean(some["tail"], some["head"], some["weight"], n_nodes, ids)

    def _parts(self):
        if self._file is None:
            yield self._first
            return
        for part in range(self._n_parts):
            pieces = []
            for cuts in self._cuts:
                self._file.seek(int(cuts[part]) * _EDGE.itemsize)
                pieces.append(self._file.read(int(cuts[part + 1] - cuts[part]) * _EDGE.itemsize))
            yield np.frombuffer(b"".join(pieces), dtype=_EDGE)


def _first_of_each(tail, head):
    """Indices of the first edge of every pair, in order."""
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    order = np.lexsort((high, low))
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(low[order]) != 0) | (np.diff(high[order]) != 0)
    return np.sort(order[is_new])


@numba.njit(cache=True, nogil=True)
def _remember(tail, head, cursor, slots, n_held, room, level):
    """Take edges from `cursor` on until there is no room for a new pair; returns its index."""
    mask = np.uint64(slots.size - 1)
    shift = np.uint64(64 - level)
    while cursor < tail.size:
        key = _hash(tail[cursor], head[cursor])
        if level == 0 or key >> shift == 0:
            slot = key & mask
            while slots[slot] != 0 and slots[slot] != key:
                slot = (slot + np.uint64(1)) & mask
            if slots[slot] == 0:
                if n_held == room:
                    return cursor, n_held
                slots[slot] = key
                n_held += 1
        cursor += 1
    return cursor, n_held


@numba.njit(cache=True, nogil=True)
def _refill(held, slots):
    mask = np.uint64(slots.size - 1)
    for key in held:
        slot = key & mask
        while slots[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = key


@numba.njit(cache=True, nogil=True)
def _part_of(tail, head, n_parts):
    part = np.empty(tail.size, dtype=np.int32)
    for edge in range(tail.size):
        part[edge] = _hash(tail[edge], head[edge]) % np.uint64(n_parts)
    return part


@numba.njit(cache=True, nogil=True)
def _hash(u, v):
    """The same for both directions; never 0."""
    low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
    return max(mix64(low * np.uint64(0x9E3779B97F4A7C15) + high), np.uint64(1))
