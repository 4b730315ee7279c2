"""Numbered rows (entity, attribute) as they are read, then grouped by attribute.

A projection needs the entities of each attribute together (`cliques.Cliques`), but a table lists
its rows in any order. So the rows are stored first and sorted by counting afterwards. They are
stored in memory, or in temporary files if there are many.
"""

import tempfile
import weakref

import numpy as np

from graphsqueak.sources.projections.cliques import Cliques
from graphsqueak.system.kernels import njit_cached


class EntityAttributeTable:
    """Rows (entity, attribute) or (entity, attribute, weight), by number.

    Parameters
    ----------
    max_rows_in_memory : int
        Larger tables are stored in temporary files: 8 bytes per row, or 16 with weights.

    Attributes
    ----------
    n_rows : int

    Examples
    --------
    Entity 0 has both attributes, and entity 1 has attribute 0 twice:

    >>> table = EntityAttributeTable()
    >>> table.append(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 0]))
    >>> cliques = table.group_by_attribute(n_entities=2, n_attributes=2)
    >>> cliques.sizes, cliques.members
    (array([2, 1]), array([0, 1, 0], dtype=int32))
    """

    def __init__(self, max_rows_in_memory=2**25):
        self.n_rows = 0
        self._entity = _Column(np.int32, max_rows_in_memory)
        self._attribute = _Column(np.int32, max_rows_in_memory)
        self._weight = _Column(np.float64, max_rows_in_memory)

    def append(self, entity, attribute, weight=None):
        """Store rows; `weight` is given for all rows of the table or for none."""
        self.n_rows += entity.size
        self._entity.append(entity)
        self._attribute.append(attribute)
        if weight is not None:
            self._weight.append(weight)

    def group_by_attribute(self, n_entities, n_attributes):
        """Return the `Cliques`; repeated rows count once, or with the sum of their weights."""
        # Counting sort. First pass: the number of rows per attribute.
        sizes = np.zeros(n_attributes, dtype=np.int64)
        for attribute in self._attribute.blocks():
            sizes += np.bincount(attribute, minlength=n_attributes)
        starts = np.concatenate([[0], np.cumsum(sizes)])

        # Second pass: every row to the next free place of its attribute.
        cursor = starts[:-1].copy()
        members = self._entity.allocate_all()
        weight = self._weight.allocate_all()
        weight_blocks = self._weight.blocks()
        for entity, attribute in zip(self._entity.blocks(), self._attribute.blocks(), strict=True):
            # A table without weights has no blocks of them.
            weight_block = next(weight_blocks, np.zeros(0))
            _scatter(entity, attribute, weight_block, cursor, members, weight)
        n_distinct = _merge_repeats(starts, members, weight, np.full(n_entities, -1))
        return Cliques(starts, members[:n_distinct], weight[:n_distinct], n_entities)


class _Column:
    """An array that is written block by block and read in the same blocks."""

    def __init__(self, dtype, max_values_in_memory):
        self._dtype = np.dtype(dtype)
        self._max_bytes_in_memory = max_values_in_memory * self._dtype.itemsize
        self._file = tempfile.SpooledTemporaryFile(self._max_bytes_in_memory)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        # Bytes of every block.
        self._sizes = []

    def append(self, values):
        self._sizes.append(self._file.write(values.astype(self._dtype).tobytes()))

    def blocks(self):
        self._file.seek(0)
        for size in self._sizes:
            yield np.frombuffer(self._file.read(size), dtype=self._dtype)

    def allocate_all(self):
        """Return an uninitialized array for all blocks, in a file if the blocks are in one."""
        n_bytes = sum(self._sizes)
        n_values = n_bytes // self._dtype.itemsize
        if n_bytes <= self._max_bytes_in_memory:
            return np.empty(n_values, dtype=self._dtype)
        # The mapping keeps the deleted file alive.
        with tempfile.TemporaryFile() as file:
            return np.memmap(file, dtype=self._dtype, mode="w+", shape=(n_values,))


@njit_cached
def _scatter(entity, attribute, weight, cursor, members, weights):
    """Write every entity at the cursor of its attribute."""
    for k in range(entity.size):
        position = cursor[attribute[k]]
        members[position] = entity[k]
        if weight.size:
            weights[position] = weight[k]
        cursor[attribute[k]] += 1


@njit_cached
def _merge_repeats(starts, members, weight, last_position):
    """Keep every member of an attribute once, in place, and return how many members remain.

    `last_position` has, per entity, where it was last written; -1 at the start.
    """
    n_kept = 0
    for a in range(starts.size - 1):
        begin = starts[a]
        starts[a] = n_kept
        for k in range(begin, starts[a + 1]):
            position = last_position[members[k]]
            # The entity is in this attribute already.
            if position >= starts[a]:
                if weight.size:
                    weight[position] += weight[k]
                continue
            last_position[members[k]] = n_kept
            members[n_kept] = members[k]
            if weight.size:
                weight[n_kept] = weight[k]
            n_kept += 1
    starts[-1] = n_kept
    return n_kept
