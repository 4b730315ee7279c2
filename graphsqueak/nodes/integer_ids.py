"""Number integer ids 0, 1, 2, ... in order of first appearance.

While the ids are small compared with the number of nodes, they index a dense table of node numbers.
Otherwise a hash table with open addressing is used. Memory is O(number of nodes) in both cases.
"""

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["KEYS_PER_GROUP", "IntegerIds"]

# Keys whose slots are loaded together, so that their cache misses overlap. With a million nodes, a
# group of one takes 1.9 times as long; halved 1.02 to 1.14 times, doubled 0.95 to 1.03 times.
KEYS_PER_GROUP = 64

# Entries that the dense table may have for any number of nodes (16 MB). Halved, 5,000 nodes with
# ids up to 2.5 million take 1.9 times as long; doubled, no time changes.
_MIN_TABLE_LIMIT = 1 << 22

# Entries per node that the dense table may have beyond that: 64 bytes, as much as the hash table.
# Halved or doubled, times for ids of 1 to 12 times the number of nodes differ by up to 12 %, in
# both directions and without a trend.
_TABLE_ENTRIES_PER_NODE = 16

# A dense table of this size holds all nodes that an int32 can number.
_MAX_TABLE_LIMIT = 1 << 31


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
        # Node of each small id, -1 for none; replaced by the hash table when ids are large.
        self._table = np.full(1024, -1, dtype=np.int32)
        # Columns are id and node, -1 for none.
        self._slots = None

    def number(self, ids):
        """Return the node numbers of an array of ids, in its shape; new ids are added.

        The numbers are int32 if they fit, else int64.
        """
        if ids.ndim == 2 and ids.shape[1] == 2:
            return self._number_pairs(ids)
        # Other shapes become pairs. The last id is repeated if their number is odd.
        flat = ids.reshape(-1)
        pairs = np.append(flat, flat[flat.size - flat.size % 2 :]).reshape(-1, 2)
        return self._number_pairs(pairs).reshape(-1)[: flat.size].reshape(ids.shape)

    def _number_pairs(self, pairs):
        fits_int32 = self.n_nodes + pairs.size <= np.iinfo(np.int32).max
        # Columns are contiguous: those of edges become the arrays of tails and heads.
        nodes = np.empty((2, len(pairs)), dtype=np.int32 if fits_int32 else np.int64).T
        cursor = 0
        while self._slots is None:
            cursor, self.n_nodes = _look_up_dense(
                pairs, cursor, nodes, self._table, self._ids, self.n_nodes
            )
            if cursor == len(pairs):
                return nodes
            self._grow_dense(pairs[cursor])
        keys = np.ascontiguousarray(pairs[cursor:]).reshape(-1)
        nodes[cursor:] = self._number_hashed(keys).reshape(-1, 2)
        return nodes

    def _number_hashed(self, keys):
        nodes = np.empty(keys.size, dtype=np.int64)
        cursor = 0
        while True:
            cursor, self.n_nodes = _look_up_hashed(
                keys, cursor, nodes, self._slots, self._ids, self.n_nodes
            )
            if cursor == keys.size:
                return nodes
            if self.n_nodes == self._ids.size:
                self._grow_ids()
            else:
                self._build_hash_table(2 * len(self._slots))

    def __len__(self):
        return self.n_nodes

    def __getitem__(self, wanted):
        """Return the ids of a slice of nodes."""
        return self._ids[: self.n_nodes].view(self.dtype)[wanted]

    def __array__(self, dtype=None, copy=None):
        return np.array(self[:], dtype=dtype, copy=copy)

    def _grow_ids(self):
        self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])

    def _grow_dense(self, pair):
        """Allocate memory for a pair of ids, in a larger dense table or in a hash table."""
        if self.n_nodes + 2 > self._ids.size:
            self._grow_ids()
        lowest = int(pair.min())
        highest = int(pair.max())
        limit = max(_MIN_TABLE_LIMIT, _TABLE_ENTRIES_PER_NODE * self.n_nodes)
        limit = min(limit, _MAX_TABLE_LIMIT)
        if lowest < 0 or highest >= limit:
            # At least four slots per node, so that the nodes can double before it is half full.
            self._table = None
            self._build_hash_table(1 << max(12, (4 * self.n_nodes).bit_length()))
        elif highest >= self._table.size:
            table = np.full(min(max(highest + 1, 2 * self._table.size), limit), -1, np.int32)
            table[: self._table.size] = self._table
            self._table = table

    def _build_hash_table(self, capacity):
        self._slots = np.full((capacity, 2), -1, dtype=np.int64)
        _insert_all(self._slots, self._ids[: self.n_nodes])


@njit_cached
def _look_up_dense(pairs, cursor, nodes, table, ids, n_nodes):
    """Number pairs of ids until one does not fit; return its index and the number of nodes."""
    # A pair adds at most two nodes.
    while cursor < pairs.shape[0] and n_nodes + 2 <= ids.size:
        u = pairs[cursor, 0]
        v = pairs[cursor, 1]
        if u < 0 or u >= table.size or v < 0 or v >= table.size:
            break
        # Written out for both ends: a loop over them takes 20 % longer.
        node = table[u]
        if node < 0:
            node = n_nodes
            table[u] = node
            ids[node] = u
            n_nodes += 1
        nodes[cursor, 0] = node
        node = table[v]
        if node < 0:
            node = n_nodes
            table[v] = node
            ids[node] = v
            n_nodes += 1
        nodes[cursor, 1] = node
        cursor += 1
    return cursor, n_nodes


@njit_cached
def _look_up_hashed(keys, cursor, nodes, slots, ids, n_nodes):
    """Number ids until the table is half full; return the position and the number of nodes."""
    mask = np.uint64(slots.shape[0] - 1)
    max_nodes = min(ids.size, slots.shape[0] // 2)
    first_slots = np.empty(KEYS_PER_GROUP, dtype=np.uint64)
    loaded = np.empty((KEYS_PER_GROUP, 2), dtype=np.int64)
    while cursor < keys.size:
        n_keys = min(KEYS_PER_GROUP, keys.size - cursor)
        for k in range(n_keys):
            first_slots[k] = mix64(np.uint64(keys[np.uint64(cursor + k)])) & mask
        # Load the first slot of all keys before comparing any: the cache misses overlap. Both
        # loads come before both stores, which makes them one instruction.
        for k in range(n_keys):
            loaded_key = slots[first_slots[k], 0]
            loaded_node = slots[first_slots[k], 1]
            loaded[k, 0] = loaded_key
            loaded[k, 1] = loaded_node
        for k in range(n_keys):
            key = keys[np.uint64(cursor + k)]
            node = loaded[k, 1]
            # Most keys are in their first slot. The slot may have been filled by this group.
            if node < 0 or loaded[k, 0] != key:
                slot = _find_slot(slots, key, first_slots[k])
                node = slots[slot, 1]
                if node < 0:
                    if n_nodes == max_nodes:
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
def _insert_all(slots, ids):
    mask = np.uint64(slots.shape[0] - 1)
    for node in range(ids.size):
        slot = _find_slot(slots, ids[node], mix64(np.uint64(ids[node])) & mask)
        slots[slot, 0] = ids[node]
        slots[slot, 1] = node


@inline_njit
def _find_slot(slots, key, slot):
    """Return the slot of a key, or the free slot for it, starting at `slot` (linear probing)."""
    mask = np.uint64(slots.shape[0] - 1)
    while slots[slot, 1] >= 0 and slots[slot, 0] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot
