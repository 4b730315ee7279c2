"""Which number a node has, by its id.

IntegerIds      integers -> 0, 1, 2, ... in order of first appearance
ObjectIds       the same for ids of any hashable kind (`text_ids`: for text)
Numbering       the nodes of batches that may be numbered differently -> one numbering that grows
node_finder     ids -> node numbers of a graph that is known

While integers are small compared with how many there are, a table indexed by the id answers; when
they are not, a hash table with open addressing does. Memory is O(number of nodes) in both cases.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.randomness import mix64
from graphsqueak.system.kernels import compiled, subroutine

__all__ = [
    "IntegerIds",
    "Numbering",
    "ObjectIds",
    "as_names",
    "as_objects",
    "is_integer",
    "node_finder",
]

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
           [1, 2]])
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
        flat = np.ascontiguousarray(ids).reshape(-1)
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
                return nodes.reshape(ids.shape)
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
            self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])
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

    def _hash(self, capacity):
        self._slots = np.full((capacity, 2), -1, dtype=np.int64)
        _fill_slots(self._slots, self._ids[: self.n_nodes])


class ObjectIds:
    """A growing map from hashable objects to node numbers.

    Examples
    --------
    >>> ids = ObjectIds()
    >>> ids.number(["ann", 7, "ann"])
    array([0, 1, 0])
    >>> np.asarray(ids)
    array(['ann', 7], dtype=object)
    """

    def __init__(self):
        self._node = {}

    def number(self, names):
        """Node numbers of a list of ids; new ids are added."""
        node = self._node
        return np.array([node.setdefault(name, len(node)) for name in names], dtype=np.int64)

    def __len__(self):
        return len(self._node)

    def __array__(self, dtype=None, copy=None):
        ids = np.empty(len(self._node), dtype=object)
        ids[:] = list(self._node)
        return ids


class Numbering:
    """One numbering of the nodes of all batches so far.

    Batches of one source share one object of ids and are numbered alike: nothing to do. Batches
    with ids of their own are matched by id. Batches without ids are numbers already.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> numbering = Numbering()
    >>> _ = numbering.apply(EdgeList.from_pairs([("ann", "bob")]))
    >>> numbering.apply(EdgeList.from_pairs([("cy", "bob")]))[:2]
    (array([2], dtype=int32), array([1], dtype=int32))
    """

    def __init__(self, ids=None):
        self._given = ids  # the ids object of the source, or None
        self._own = None  # ObjectIds, once batches have ids of their own
        self._is_fresh = ids is None

    @property
    def ids(self):
        """Ids of all nodes so far, or None if they are plain numbers."""
        return self._given if self._own is None else np.asarray(self._own)

    def apply(self, batch):
        """Tail, head and number of nodes of a batch, in our numbering."""
        if self._is_fresh:
            self._given, self._is_fresh = batch.own_ids, False
        if self._own is None and batch.own_ids is self._given:
            return batch.tail, batch.head, batch.n_nodes
        if batch.own_ids is None or self._given is None:
            raise InputError("batches with ids and batches without cannot be put together")
        if self._own is None and self._continues(batch):
            self._given = batch.own_ids
            return batch.tail, batch.head, batch.n_nodes
        if self._own is None:
            self._own = ObjectIds()
            self._own.number(np.asarray(self._given).tolist())
        node = self._own.number(batch.ids.tolist()).astype(np.int32)
        return node[batch.tail], node[batch.head], len(self._own)

    def _continues(self, batch):
        """Whether the batch numbers all nodes so far as we do: the same source, read again."""
        known = np.asarray(self._given)
        return batch.n_nodes >= len(known) and np.array_equal(batch.ids[: len(known)], known)


def node_finder(known: Any, n_nodes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Make a function from ids to node numbers, -1 for an id that is not there.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.own_ids`; None where nodes are plain numbers.
    n_nodes : int
        Number of nodes.

    Examples
    --------
    >>> find = node_finder(np.array([7, 3]), 2)
    >>> find(np.array([3, 4, 7]))
    array([ 1, -1,  0])
    """
    if known is None:
        return lambda ids: _find_number(ids, n_nodes)
    known = np.asarray(known)[:n_nodes]
    if known.dtype.kind not in "iu":
        number = {name: node for node, name in enumerate(known.tolist())}
        return lambda ids: np.array([number.get(name, -1) for name in ids.tolist()], dtype=np.int64)
    order = np.argsort(known)
    ordered = known[order]

    def find(ids: np.ndarray) -> np.ndarray:
        if ids.dtype.kind not in "iu" or ordered.size == 0:
            return np.full(ids.size, -1)
        # In one type: NumPy would compare int64 and uint64 as floats. What wraps around is unequal.
        found = np.searchsorted(ordered, ids.astype(ordered.dtype, copy=False))
        found = np.minimum(found, ordered.size - 1)
        return np.where(ordered[found] == ids, order[found], -1)

    return find


def as_names(names: Sequence) -> np.ndarray:
    """Ids as an array: of integers if all are, else of objects.

    Parameters
    ----------
    names : list of ids

    Examples
    --------
    >>> as_names([3, "3"])
    array([3, '3'], dtype=object)
    """
    return np.array(names) if names and all(map(is_integer, names)) else as_objects(names)


def is_integer(name: object) -> bool:
    """Whether an id is a whole number that an array of integers can hold.

    Parameters
    ----------
    name : object
    """
    return isinstance(name, int | np.integer) and abs(int(name)) < 2**63


def as_objects(values: Sequence) -> np.ndarray:
    """An array of the values themselves, whatever their types.

    Parameters
    ----------
    values : list
    """
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array


def _find_number(ids, n_nodes):
    found = np.full(ids.size, -1)
    if ids.dtype.kind in "iu":
        below = (ids >= 0) & (ids < n_nodes)
        found[below] = ids[below]
    return found


@compiled
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


@compiled
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


@compiled
def _fill_slots(slots, ids):
    mask = np.uint64(slots.shape[0] - 1)
    for node in range(ids.size):
        slot = _slot(ids[node], mask)
        while slots[slot, 1] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot, 0], slots[slot, 1] = ids[node], node


@subroutine
def _slot(key, mask):
    """First slot of a key."""
    return mix64(np.uint64(key)) & mask
