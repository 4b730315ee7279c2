"""Number integer ids 0, 1, 2, ... in order of first appearance.

While the ids are small compared with the number of nodes, they index a dense table of node numbers.
Otherwise a hash table with open addressing is used. Memory is O(number of nodes) in both cases.
"""

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import njit_cached, prefetch

# Keys whose slots are loaded together, so that their cache misses overlap. With a million nodes, a
# group of one takes 1.9 times as long; halved 1.02 to 1.14 times, doubled 0.95 to 1.03 times.
KEYS_PER_GROUP = 64

# Entries that the dense table may have per node (64 bytes, as much as the hash table), or per id of
# the current batch if these are more: at first, few nodes are known. Halved, 5,000 nodes with ids
# up to 2.5 million take 2.4 times as long; doubled, a million nodes with ids of 8 times the number
# of nodes take half as long, in twice the memory.
_TABLE_ENTRIES_PER_ID = 16


class IntegerIds:
    """Growing map from 64-bit integers to node numbers.

    Parameters
    ----------
    dtype : numpy dtype
        int64, or uint64 for ids of 2^63 and more. Ids are passed as int64 with the same bits.

    Attributes
    ----------
    n_nodes : int
        Number of nodes so far.

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

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)
        self.n_nodes = 0
        # Id of each node, with spare memory at the end.
        self._ids = np.empty(1024, dtype=np.int64)
        # Node of each small id, -1 for none; replaced by a hash table when ids are large.
        self._table = np.full(1024, -1, dtype=np.int32)
        self._is_dense = True

    def number(self, ids):
        """Return the node numbers of an array of ids, in its shape; new ids are added.

        The numbers are int32 if they fit, else int64.
        """
        keys = np.ascontiguousarray(ids).reshape(-1)
        fits_int32 = self.n_nodes + keys.size <= np.iinfo(np.int32).max
        nodes = np.empty(keys.size, dtype=np.int32 if fits_int32 else np.int64)
        cursor = 0
        while True:
            look_up = _look_up_dense if self._is_dense else _look_up_hashed
            cursor, self.n_nodes = look_up(
                keys, cursor, nodes, self._table, self._ids, self.n_nodes
            )
            if cursor == keys.size:
                return nodes.reshape(ids.shape)
            self._grow(int(keys[cursor]), keys.size)

    def __len__(self):
        return self.n_nodes

    def __getitem__(self, wanted):
        """Return the ids of a slice of nodes."""
        return self._ids[: self.n_nodes].view(self.dtype)[wanted]

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype=dtype, copy=copy)

    def _grow(self, key, n_keys):
        """Allocate memory for one more id in a batch of `n_keys`."""
        # Sizes double, so that the copies take linear time in total.
        if self.n_nodes == self._ids.size:
            self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])
        limit = _TABLE_ENTRIES_PER_ID * max(self.n_nodes, n_keys)
        # Node numbers in the dense table are int32.
        limit = min(limit, np.iinfo(np.int32).max)
        old = self._table
        if self._is_dense and 0 <= key < limit:
            if key >= old.size:
                self._table = np.full(min(max(key + 1, 2 * old.size), limit), -1, dtype=np.int32)
                self._table[: old.size] = old
        else:
            self._is_dense = False
            entries = np.column_stack([self._ids[: self.n_nodes], np.arange(self.n_nodes)])
            self._table = make_slots(entries, self._ids.size)


def make_slots(entries, max_nodes):
    """Return a hash table with linear probing, at most half full.

    The search for a key starts at slot mix64(key), modulo the number of slots.

    Parameters
    ----------
    entries : ndarray of int64, shape (n, 2)
        Key and node of each entry. Entries of node -1 are free slots of another table.
    max_nodes : int
        Number of entries that the table may have.

    Returns
    -------
    ndarray of int64, shape (n_slots, 2)
    """
    slots = np.full((1 << (2 * max_nodes - 1).bit_length(), 2), -1, dtype=np.int64)
    _insert_all(entries, slots)
    return slots


@njit_cached
def _look_up_dense(keys, cursor, nodes, table, ids, n_nodes):
    """Number ids until one does not fit; return its position and the number of nodes."""
    # Unsigned numbers save the tests for negative indices.
    n_entries = np.uint64(table.size)
    for k in range(np.uint64(cursor), np.uint64(keys.size)):
        key = np.uint64(keys[k])
        if key >= n_entries:
            return np.int64(k), n_nodes
        node = table[key]
        if node < 0:
            if n_nodes == ids.size:
                return np.int64(k), n_nodes
            node = n_nodes
            table[key] = node
            ids[node] = key
            n_nodes += 1
        nodes[k] = node
    return keys.size, n_nodes


@njit_cached
def _look_up_hashed(keys, cursor, nodes, slots, ids, n_nodes):
    """Number ids until one does not fit; return its position and the number of nodes."""
    mask = np.uint64(slots.shape[0] - 1)
    first_slots = np.empty(KEYS_PER_GROUP, dtype=np.uint64)
    while cursor < keys.size:
        n_keys = min(KEYS_PER_GROUP, keys.size - cursor)
        # Request the first slot of all keys before reading any: the cache misses overlap.
        for k in range(n_keys):
            first_slots[k] = mix64(np.uint64(keys[np.uint64(cursor + k)])) & mask
            prefetch(slots, first_slots[k], 0)
        for k in range(n_keys):
            key = keys[np.uint64(cursor + k)]
            slot = first_slots[k]
            while slots[slot, 1] >= 0 and slots[slot, 0] != key:
                slot = (slot + np.uint64(1)) & mask
            node = slots[slot, 1]
            if node < 0:
                if n_nodes == ids.size:
                    return cursor + k, n_nodes
                node = n_nodes
                slots[slot, 0] = key
                slots[slot, 1] = node
                ids[node] = key
                n_nodes += 1
            nodes[np.uint64(cursor + k)] = node
        cursor += n_keys
    return cursor, n_nodes


@njit_cached
def _insert_all(entries, slots):
    mask = np.uint64(slots.shape[0] - 1)
    for k in range(entries.shape[0]):
        if entries[k, 1] >= 0:
            # Equal keys of different nodes, as hashes may be, take a slot each.
            slot = mix64(np.uint64(entries[k, 0])) & mask
            while slots[slot, 1] >= 0:
                slot = (slot + np.uint64(1)) & mask
            slots[slot, 0] = entries[k, 0]
            slots[slot, 1] = entries[k, 1]
