"""Number integer ids 0, 1, 2, ... in order of first appearance.

While the ids are small compared with how many there are, a table indexed by the id answers; when
they are not, a hash table with open addressing does. Memory is O(number of nodes) in both cases.
"""

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["IntegerIds"]

_FREE_TABLE = 1 << 22
_PER_NODE = 16  # entries per node that a dense table may have beyond the free ones
_LARGEST_TABLE = 1 << 31
_GROUP = 64


class IntegerIds:
    """A growing map from 64-bit integers to node numbers.

    Parameters
    ----------
    dtype : numpy dtype
        int64, or uint64 for ids from 2^63 on. Ids are handed in as int64 of the same bits.
    free_table : int
        Entries that the dense table may have whatever the number of nodes.

    Examples
    --------
    >>> ids = IntegerIds(np.int64)
    >>> ids.number(np.array([[7, -3], [-3, 10**18]]))
    array([[0, 1],
           [1, 2]], dtype=int32)
    >>> np.asarray(ids)
    array([ 7, -3, 1000000000000000000])
    """

    kind = "integer"

    def __init__(self, dtype, *, free_table=_FREE_TABLE):
        self.dtype, self._free_table = np.dtype(dtype), free_table
        self.n_nodes = 0
        self._ids = np.empty(1024, dtype=np.int64)
        self._table = np.full(1024, -1, dtype=np.int32)  # node of each small id, -1 for none
        self._slots = None  # (capacity, 2): id and node, -1 for none

    def number(self, ids):
        """Node numbers of an integer array of ids, in its shape; new ids are added."""
        if ids.ndim == 2 and ids.shape[1] == 2:
            return self._number_pairs(ids)
        return self._number(np.ascontiguousarray(ids).reshape(-1)).reshape(ids.shape)

    def _number_pairs(self, ids):
        """The ends of edges, columns or rows contiguous; columns of the numbers are."""
        small = self.n_nodes + ids.size <= np.iinfo(np.int32).max
        nodes = np.empty((2, len(ids)), dtype=np.int32 if small else np.int64).T
        cursor = 0
        while self._slots is None:
            own = (self._table, self._ids, self.n_nodes)
            cursor, self.n_nodes = _look_up_pairs(ids, cursor, nodes, *own)
            if cursor == len(ids):
                return nodes
            if self.n_nodes + 2 > self._ids.size:
                self._grow_ids()
            for end in ids[cursor]:
                if self._slots is None and not 0 <= end < self._table.size:
                    self._grow(int(end))
        rest = np.ascontiguousarray(ids[cursor:])
        nodes[cursor:] = self._number(rest.reshape(-1)).reshape(rest.shape)
        return nodes

    def _number(self, flat):
        nodes = np.empty(flat.size, dtype=np.int64)
        cursor = 0
        while True:
            if self._slots is None:
                cursor, self.n_nodes = _look_up(
                    flat, cursor, nodes, self._table, self._ids, self.n_nodes
                )
            else:
                cursor, self.n_nodes = _probe(
                    flat, cursor, nodes, self._slots, self._ids, self.n_nodes
                )
            if cursor == flat.size:
                return nodes
            self._grow(int(flat[cursor]))

    def __len__(self):
        return self.n_nodes

    def __getitem__(self, wanted):
        """The ids of a slice."""
        return self._ids[: self.n_nodes].view(self.dtype)[wanted]

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype=dtype, copy=copy)

    def _grow(self, wanted):
        """Make room for the id `wanted`, or for more ids."""
        if self.n_nodes == self._ids.size:
            self._grow_ids()
        if self._slots is not None:
            if 2 * self.n_nodes >= len(self._slots):
                self._hash(2 * len(self._slots))
        elif not 0 <= wanted < self._table.size:
            limit = min(max(self._free_table, _PER_NODE * self.n_nodes), _LARGEST_TABLE)
            if 0 <= wanted < limit:
                size = min(max(wanted + 1, 2 * self._table.size), limit)
                table = np.full(size, -1, dtype=np.int32)
                table[: self._table.size] = self._table
                self._table = table
            else:
                self._table = None
                self._hash(1 << max(12, (4 * self.n_nodes).bit_length()))

    def _grow_ids(self):
        self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])

    def _hash(self, capacity):
        self._slots = np.full((capacity, 2), -1, dtype=np.int64)
        _fill_slots(self._slots, self._ids[: self.n_nodes])


@njit_cached
def _look_up(flat, cursor, nodes, table, ids, n_nodes):
    """Number ids by the dense table until one does not fit; returns its index."""
    while cursor < flat.size:
        key = flat[cursor]
        if key < 0 or key >= table.size:
            break
        node = table[key]
        if node < 0:
            if n_nodes == ids.size:
                break
            node = n_nodes
            table[key], ids[node] = node, key
            n_nodes += 1
        nodes[cursor] = node
        cursor += 1
    return cursor, n_nodes


@njit_cached
def _look_up_pairs(ends, cursor, nodes, table, ids, n_nodes):
    """`_look_up` of edges (n, 2); returns the first edge with an end that does not fit."""
    while cursor < ends.shape[0] and n_nodes + 2 <= ids.size:
        u, v = ends[cursor, 0], ends[cursor, 1]
        if u < 0 or u >= table.size or v < 0 or v >= table.size:
            break
        node = table[u]
        if node < 0:
            node = n_nodes
            table[u], ids[node] = node, u
            n_nodes += 1
        nodes[cursor, 0] = node
        node = table[v]
        if node < 0:
            node = n_nodes
            table[v], ids[node] = node, v
            n_nodes += 1
        nodes[cursor, 1] = node
        cursor += 1
    return cursor, n_nodes


@njit_cached
def _probe(flat, cursor, nodes, slots, ids, n_nodes):
    """Number ids by the hash table until it is half full; returns the index reached.

    The first slots of a group are fetched before any is looked at, so that the processor waits for
    memory once per group.
    """
    mask = np.uint64(slots.shape[0] - 1)
    room = min(ids.size, slots.shape[0] // 2)
    first = np.empty(_GROUP, dtype=np.uint64)
    fetched = np.empty((_GROUP, 2), dtype=np.int64)
    while cursor < flat.size:
        n_keys = min(_GROUP, flat.size - cursor)
        for k in range(n_keys):
            first[k] = _slot(flat[np.uint64(cursor + k)], mask)
        for k in range(n_keys):
            fetched[k, 0], fetched[k, 1] = slots[first[k], 0], slots[first[k], 1]
        for k in range(n_keys):
            key, node = flat[np.uint64(cursor + k)], fetched[k, 1]
            if node < 0 or fetched[k, 0] != key:
                slot = first[k]
                while slots[slot, 1] >= 0 and slots[slot, 0] != key:
                    slot = (slot + np.uint64(1)) & mask
                node = slots[slot, 1]
                if node < 0:
                    if n_nodes == room:
                        return cursor + k, n_nodes
                    node = n_nodes
                    slots[slot, 0], slots[slot, 1], ids[node] = key, node, key
                    n_nodes += 1
            nodes[np.uint64(cursor + k)] = node
        cursor += n_keys
    return cursor, n_nodes


@njit_cached
def _fill_slots(slots, ids):
    mask = np.uint64(slots.shape[0] - 1)
    for node in range(ids.size):
        slot = _slot(ids[node], mask)
        while slots[slot, 1] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0], slots[slot, 1] = ids[node], node


@inline_njit
def _slot(key, mask):
    """First slot of a key."""
    return mix64(np.uint64(key)) & mask
