"""Number text ids 0, 1, 2, ... in order of first appearance.

The text of all ids lies end to end in one array, and a hash table with open addressing finds an id
in it. Two ids are the same only if all their bytes are: a collision of hashes costs a comparison,
never a wrong node.
"""

import numpy as np

from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import inline_njit, njit_cached

__all__ = ["TextIds"]

_GROUP = 64


class TextIds:
    """A growing map from UTF-8 text to node numbers.

    Parameters
    ----------
    hash_bits : int
        Bits of the hash that are used. Fewer make the map slower, not wrong.

    Examples
    --------
    >>> ids = TextIds()
    >>> text = np.frombuffer(b"ann,bob", dtype=np.uint8)
    >>> ids.number(text, np.array([[0, 3, 4, 7], [4, 7, 0, 3]]))
    array([[0, 1],
           [1, 0]])
    >>> np.asarray(ids)
    array(['ann', 'bob'], dtype=object)
    """

    kind = "text"

    def __init__(self, hash_bits=64):
        self.n_nodes = 0
        self._hash_mask = np.uint64(2**hash_bits - 1)
        self._text = np.empty(1 << 16, dtype=np.uint8)
        self._stops = np.zeros(1025, dtype=np.int64)  # id k is text[stops[k] : stops[k + 1]]
        self._slots = np.full((2048, 2), -1, dtype=np.int64)  # hash and node, -1 for none

    def number(self, text, spans):
        """Node numbers (n, 2) of the sources and targets at `spans` (n, 4) of a text.

        Of `spans` (n, 2) of one column, (n, 1).
        """
        flat = np.ascontiguousarray(spans).reshape(-1, 2)
        return self._number(text, flat).reshape(-1, spans.shape[1] // 2)

    def number_packed(self, text, ends):
        """Node numbers of ids that lie end to end in a text, each up to its end.

        >>> ids = TextIds()
        >>> ids.number_packed(np.frombuffer(b"annbobann", dtype=np.uint8), np.array([3, 6, 9]))
        array([0, 1, 0])
        """
        starts = np.concatenate([[0], ends[:-1]])
        return self._number(text, np.column_stack([starts, ends]))

    def buffers(self, n_nodes):
        """The text of the first ids, end to end, and their ends: what `number_packed` takes."""
        ends = self._stops[1 : n_nodes + 1]
        return self._text[: self._stops[n_nodes]], ends

    def _number(self, text, flat):
        nodes = np.empty(len(flat), dtype=np.int64)
        cursor = 0
        while True:
            cursor, self.n_nodes = _number(
                text,
                flat,
                cursor,
                nodes,
                self._slots,
                self._text,
                self._stops,
                self.n_nodes,
                self._hash_mask,
            )
            if cursor == len(flat):
                return nodes
            self._grow(flat[cursor, 1] - flat[cursor, 0])

    def __len__(self):
        return self.n_nodes

    def __getitem__(self, wanted):
        """The ids of a slice, as an object array."""
        start, stop, _ = wanted.indices(self.n_nodes)
        return self._to_arrow(start, stop).to_numpy(zero_copy_only=False)

    def __array__(self, dtype=None, copy=None):
        return self[:]

    def _to_arrow(self, start, stop):
        import pyarrow as pa

        offsets = self._stops[start : max(start, stop) + 1]
        return pa.LargeStringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(self._text)
        )

    def _grow(self, n_bytes):
        """Make room for one more id, of n_bytes."""
        used = self._stops[self.n_nodes]
        if used + n_bytes > self._text.size:
            text = np.empty(max(2 * self._text.size, used + n_bytes), dtype=np.uint8)
            text[:used] = self._text[:used]
            self._text = text
        if self.n_nodes + 1 == self._stops.size:
            self._stops = np.concatenate([self._stops, np.zeros_like(self._stops)])
        if 2 * self.n_nodes >= len(self._slots):
            slots = np.full((2 * len(self._slots), 2), -1, dtype=np.int64)
            _move(self._slots, slots)
            self._slots = slots


@njit_cached
def _number(text, spans, cursor, nodes, slots, known, stops, n_nodes, hash_mask):
    """Number the spans from `cursor` on until there is no room for a new one.

    What a group of spans needs is fetched for all of them before it is looked at, so that the
    processor waits for memory once per group.
    """
    mask = np.uint64(slots.shape[0] - 1)
    hashes = np.empty(_GROUP, dtype=np.uint64)
    guesses = np.empty(_GROUP, dtype=np.int64)
    first_bytes = np.empty(_GROUP, dtype=np.uint8)
    while cursor < spans.shape[0]:
        n_spans = min(_GROUP, spans.shape[0] - cursor)
        for k in range(n_spans):
            hashes[k] = _hash(text, spans[cursor + k, 0], spans[cursor + k, 1]) & hash_mask
        for k in range(n_spans):
            slot = hashes[k] & mask
            while slots[slot, 1] >= 0 and slots[slot, 0] != np.int64(hashes[k]):
                slot = (slot + np.uint64(1)) & mask
            guesses[k] = slots[slot, 1]
        for k in range(n_spans):
            first_bytes[k] = known[np.uint64(stops[np.uint64(max(guesses[k], 0))])]
        for k in range(n_spans):
            start, stop = spans[cursor + k, 0], spans[cursor + k, 1]
            node = guesses[k]
            if node < 0 or not _equal(text, start, stop, known, stops[node], stops[node + 1]):
                node, n_nodes = _find(text, start, stop, hashes[k], slots, known, stops, n_nodes)
                if node < 0:
                    return cursor + k, n_nodes
            nodes[cursor + k] = node
        cursor += n_spans
    return cursor, n_nodes


@inline_njit
def _find(text, start, stop, hashed, slots, known, stops, n_nodes):
    """(node of one span, number of nodes), a new node if need be; -1 if there is no room for it."""
    mask = np.uint64(slots.shape[0] - 1)
    slot = hashed & mask
    while slots[slot, 1] >= 0:
        node = slots[slot, 1]
        if slots[slot, 0] == np.int64(hashed) and _equal(
            text, start, stop, known, stops[node], stops[node + 1]
        ):
            return node, n_nodes
        slot = (slot + np.uint64(1)) & mask
    used = stops[n_nodes]
    room = min(stops.size - 1, slots.shape[0] // 2)
    if n_nodes == room or used + stop - start > known.size:
        return -1, n_nodes
    slots[slot, 0], slots[slot, 1] = np.int64(hashed), n_nodes
    for i in range(stop - start):
        known[used + i] = text[start + i]
    stops[n_nodes + 1] = used + stop - start
    return n_nodes, n_nodes + 1


@njit_cached
def _move(slots, larger):
    mask = np.uint64(larger.shape[0] - 1)
    for old in range(slots.shape[0]):
        if slots[old, 1] >= 0:
            slot = np.uint64(slots[old, 0]) & mask
            while larger[slot, 1] >= 0:
                slot = (slot + np.uint64(1)) & mask
            larger[slot, 0], larger[slot, 1] = slots[old, 0], slots[old, 1]


@inline_njit
def _equal(text, start, stop, known, known_start, known_stop):
    if stop - start != known_stop - known_start:
        return False
    for i in range(stop - start):
        if text[np.uint64(start + i)] != known[np.uint64(known_start + i)]:
            return False
    return True


@inline_njit
def _hash(text, start, stop):
    """Eight bytes at a time, each mixed in by a multiplication, then the mixer of splitmix64."""
    mixed = np.uint64(stop - start)
    i = start
    while i + 8 <= stop:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(text[np.uint64(i + k)]) << np.uint64(8 * k)
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        i += 8
    word = np.uint64(0)
    while i < stop:
        word = (word << np.uint64(8)) | np.uint64(text[np.uint64(i)])
        i += 1
    return mix64(mixed ^ word)
