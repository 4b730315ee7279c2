"""Pairs as they come, numbered, then grouped by attribute: the members of every clique.

They are held in memory, or, if they are many, in temporary files that are read block by block.
"""

import tempfile
import weakref

import numpy as np

from graphsqueak.sources.pairs.cliques import Cliques
from graphsqueak.system.kernels import njit_cached

__all__ = ["PairLog"]

_HELD_PAIRS = 1 << 25  # beyond, they are kept in a file
_NOTHING = np.zeros(0)


class PairLog:
    """Numbered pairs as they come, then by attribute; in a temporary file if they are many.

    Parameters
    ----------
    most_held : int
        Pairs up to which no file is needed.

    Examples
    --------
    >>> log = PairLog()
    >>> log.write(np.array([[0, 0], [1, 0], [0, 1], [1, 0]]), None)
    >>> cliques = log.group(2, 2)
    >>> cliques.sizes, cliques.members
    (array([2, 1]), array([0, 1, 0], dtype=int32))
    """

    def __init__(self, most_held=_HELD_PAIRS):
        self._most_held, self.n_pairs = most_held, 0
        self._columns = [_Column(np.int32), _Column(np.int32), _Column(np.float64)]

    def write(self, pairs, weight):
        """Take pairs (n, 2) of an entity and an attribute, by number."""
        columns = (pairs[:, 0], pairs[:, 1]) if weight is None else (*pairs.T, weight)
        self.n_pairs += len(pairs)
        for column, values in zip(self._columns, columns, strict=False):
            column.write(values, in_file=self.n_pairs > self._most_held)

    def group(self, n_entities, n_attributes):
        """The `Cliques`; a pair listed twice counts once, or with the sum of its weights."""
        sizes = np.zeros(n_attributes, dtype=np.int64)
        for attribute in self._columns[1].blocks():
            sizes += np.bincount(attribute, minlength=n_attributes)
        cursor = np.concatenate([[0], np.cumsum(sizes)])
        members = self._columns[0].empty(self.n_pairs)
        is_weighted = self._columns[2].size > 0
        weight = self._columns[2].empty(self.n_pairs) if is_weighted else _NOTHING
        blocks = (column.blocks() for column in self._columns[: 2 + is_weighted])
        for block in zip(*blocks, strict=True):
            _scatter(*block[:2], block[2] if is_weighted else _NOTHING, cursor, members, weight)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        n_left = _merge_repeats(starts, members, weight, np.full(n_entities, -1))
        return Cliques(starts, members[:n_left], weight[:n_left], n_entities)


class _Column:
    """Numbers of one type, written block by block and read in the same blocks."""

    def __init__(self, dtype):
        self._dtype, self._held, self._file, self._sizes = dtype, [], None, []
        self.size = 0

    def write(self, values, *, in_file):
        values = values.astype(self._dtype)
        self.size += values.size
        self._sizes.append(values.size)
        if not in_file:
            self._held.append(values)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as we do
            weakref.finalize(self, self._file.close)
            for block in self._held:
                block.tofile(self._file)
            self._held = []
        values.tofile(self._file)

    def blocks(self):
        if self._file is None:
            yield from self._held
            return
        self._file.seek(0)
        for size in self._sizes:
            yield np.fromfile(self._file, dtype=self._dtype, count=size)

    def empty(self, size):
        """Room for all of them, in a file if they are in one."""
        if self._file is None:
            return np.empty(size, dtype=self._dtype)
        with tempfile.TemporaryFile() as file:
            return np.memmap(file, dtype=self._dtype, mode="w+", shape=(size,))


@njit_cached
def _scatter(entity, attribute, weight, cursor, members, weights):
    """Put every pair at the cursor of its attribute."""
    for k in range(entity.size):
        at = cursor[attribute[k]]
        members[at] = entity[k]
        if weight.size:
            weights[at] = weight[k]
        cursor[attribute[k]] += 1


@njit_cached
def _merge_repeats(starts, members, weight, seen):
    """Keep every member of an attribute once; `seen` holds where each entity was last put."""
    n_left = 0
    for a in range(starts.size - 1):
        begin, first = starts[a], n_left
        starts[a] = first
        for k in range(begin, starts[a + 1]):
            before = seen[members[k]]
            if before >= first:
                if weight.size:
                    weight[before] += weight[k]
                continue
            seen[members[k]] = n_left
            members[n_left] = members[k]
            if weight.size:
                weight[n_left] = weight[k]
            n_left += 1
    starts[-1] = n_left
    return n_left
