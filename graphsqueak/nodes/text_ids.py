"""Number text ids 0, 1, 2, ... in order of first appearance.

The texts of all ids are stored end to end in one array, with a hash table (open addressing) that
finds an id in it. Two ids are the same only if all their bytes are: a collision of hashes costs a
comparison, but never gives a wrong node.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.nodes.integer_ids import KEYS_PER_GROUP, make_slots
from graphsqueak.randomness import GOLDEN_GAMMA, mix64
from graphsqueak.system.kernels import inline_njit, njit_cached


class _Table(NamedTuple):
    """Hash table of texts: id k is text[stops[k] : stops[k + 1]], slots are (hash, node or -1)."""

    text: np.ndarray
    stops: np.ndarray
    slots: np.ndarray
    hash_mask: np.uint64


class TextIds:
    """Growing map from UTF-8 text to node numbers.

    Parameters
    ----------
    hash_bits : int
        Bits of the hash that are used. Fewer bits make the map slower, but not wrong.

    Attributes
    ----------
    n_nodes : int
        Number of nodes so far.

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
    dtype = np.dtype(object)

    def __init__(self, hash_bits=64):
        self.n_nodes = 0
        self._table = _Table(
            text=np.empty(1 << 16, dtype=np.uint8),
            stops=np.zeros(1025, dtype=np.int64),
            slots=make_slots(np.zeros((0, 2), dtype=np.int64), 1024),
            hash_mask=np.uint64(2**hash_bits - 1),
        )

    def number(self, text, spans):
        """Return the node numbers of ids in a text; new ids are added.

        Parameters
        ----------
        text : ndarray of uint8
        spans : ndarray of int, shape (n, 2) or (n, 4)
            Start and stop of one id per row, or of the source and the target of an edge.

        Returns
        -------
        ndarray of int, shape (n, 1) or (n, 2)
        """
        flat_spans = np.ascontiguousarray(spans).reshape(-1, 2)
        return self._number(text, flat_spans).reshape(-1, spans.shape[1] // 2)

    def number_packed(self, text, ends):
        """Return the node numbers of ids that are stored end to end in a text.

        >>> ids = TextIds()
        >>> ids.number_packed(np.frombuffer(b"annbobann", dtype=np.uint8), np.array([3, 6, 9]))
        array([0, 1, 0])
        """
        starts = np.concatenate([[0], ends[:-1]])
        return self._number(text, np.column_stack([starts, ends]))

    def buffers(self, n_nodes):
        """Return the text of the first ids, end to end, and their ends, as for `number_packed`."""
        stops = self._table.stops[: n_nodes + 1]
        return self._table.text[: stops[-1]], stops[1:]

    def _number(self, text, spans):
        nodes = np.empty(len(spans), dtype=np.int64)
        cursor = 0
        while True:
            cursor, self.n_nodes = _number(text, spans, cursor, nodes, self._table, self.n_nodes)
            if cursor == len(spans):
                return nodes
            self._grow(n_bytes=spans[cursor, 1] - spans[cursor, 0])

    def __len__(self):
        return self.n_nodes

    def __getitem__(self, wanted):
        """Return the ids of a slice of nodes, as an object array."""
        import pyarrow as pa

        # Arrow builds strings from the stored buffers without a loop in Python.
        start, stop, _ = wanted.indices(self.n_nodes)
        offsets = self._table.stops[start : max(start, stop) + 1]
        strings = pa.LargeStringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(self._table.text)
        )
        return strings.to_numpy(zero_copy_only=False)

    def __array__(self, dtype=None, copy=None):
        return self[:]

    def _grow(self, n_bytes):
        """Allocate memory for one more id of `n_bytes`."""
        # Sizes double, so that the copies take linear time in total.
        text, stops, slots, _ = self._table
        n_used = stops[self.n_nodes]
        if n_used + n_bytes > text.size:
            text = np.empty(max(2 * text.size, n_used + n_bytes), dtype=np.uint8)
            text[:n_used] = self._table.text[:n_used]
        if self.n_nodes + 1 == stops.size:
            stops = np.concatenate([stops, np.zeros(self.n_nodes, dtype=np.int64)])
            # The stored hashes are enough: no text is read again.
            slots = make_slots(slots, stops.size - 1)
        self._table = self._table._replace(text=text, stops=stops, slots=slots)


@njit_cached
def _number(text, spans, cursor, nodes, table, n_nodes):
    """Number spans until a new id does not fit; return its index and the number of nodes."""
    known, stops, slots, hash_mask = table
    mask = np.uint64(slots.shape[0] - 1)
    hashes = np.empty(KEYS_PER_GROUP, dtype=np.uint64)
    slot_of_hash = np.empty(KEYS_PER_GROUP, dtype=np.uint64)
    first_bytes = np.empty(KEYS_PER_GROUP, dtype=np.uint8)
    while cursor < spans.shape[0]:
        n_spans = min(KEYS_PER_GROUP, spans.shape[0] - cursor)
        # Each loop loads for all spans what the next one needs, so that cache misses overlap.
        for k in range(n_spans):
            hashes[k] = _hash(text, spans[cursor + k, 0], spans[cursor + k, 1]) & hash_mask
        for k in range(n_spans):
            slot = mix64(hashes[k]) & mask
            while slots[slot, 1] >= 0 and slots[slot, 0] != np.int64(hashes[k]):
                slot = (slot + np.uint64(1)) & mask
            slot_of_hash[k] = slot
        for k in range(n_spans):
            node = slots[slot_of_hash[k], 1]
            first_bytes[k] = known[np.uint64(stops[np.uint64(max(node, 0))])]
        for k in range(n_spans):
            start = spans[cursor + k, 0]
            stop = spans[cursor + k, 1]
            slot = slot_of_hash[k]
            # Equal hashes of different texts are rare, so the texts are compared last.
            while slots[slot, 1] >= 0 and not (
                slots[slot, 0] == np.int64(hashes[k])
                and _is_equal(text, start, stop, known, stops, slots[slot, 1])
            ):
                slot = (slot + np.uint64(1)) & mask
            node = slots[slot, 1]
            if node < 0:
                n_used = stops[n_nodes]
                if n_nodes + 1 == stops.size or n_used + stop - start > known.size:
                    return cursor + k, n_nodes
                node = n_nodes
                slots[slot, 0] = np.int64(hashes[k])
                slots[slot, 1] = node
                for i in range(stop - start):
                    known[n_used + i] = text[start + i]
                n_nodes += 1
                stops[n_nodes] = n_used + stop - start
            nodes[cursor + k] = node
        cursor += n_spans
    return cursor, n_nodes


@inline_njit
def _is_equal(text, start, stop, known, stops, node):
    """Return whether a span is the text of a node."""
    known_start = stops[node]
    if stop - start != stops[node + 1] - known_start:
        return False
    for i in range(stop - start):
        # Unsigned indices save the test for negative ones.
        if text[np.uint64(start + i)] != known[np.uint64(known_start + i)]:
            return False
    return True


@inline_njit
def _hash(text, start, stop):
    """Hash a span: multiply in eight bytes at a time."""
    mixed = np.uint64(stop - start)
    i = start
    while i + 8 <= stop:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(text[np.uint64(i + k)]) << np.uint64(8 * k)
        mixed = (mixed ^ word) * GOLDEN_GAMMA
        mixed ^= mixed >> np.uint64(32)
        i += 8
    word = np.uint64(0)
    while i < stop:
        word = (word << np.uint64(8)) | np.uint64(text[np.uint64(i)])
        i += 1
    return mixed ^ word
