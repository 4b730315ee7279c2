"""Which number a node has, by its id.

ObjectIds       ids of any hashable kind -> 0, 1, 2, ... in order of first appearance (`integer_ids`
                and `text_ids`: for integers and text)
Numbering       the nodes of batches that may be numbered differently -> one numbering that grows
make_node_finder  ids -> node numbers of a graph that is known
NodeMatching    the nodes of a stream -> those of a graph that is known
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.text_ids import TextIds

__all__ = [
    "NodeMatching",
    "Numbering",
    "ObjectIds",
    "ids_between",
    "make_id_table",
    "make_node_finder",
    "number_ids",
]


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
    with ids of their own are matched by id, each source's ids once. Batches without ids are numbers
    already.

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
        self._own = None  # a table of ids, once batches have ids of their own
        self._last = None, np.zeros(0, np.int32)  # ids of the last source, and their numbers
        self._is_fresh = ids is None

    @property
    def ids(self):
        """Ids of all nodes so far, or None if they are plain numbers."""
        own = np.asarray(self._own) if isinstance(self._own, ObjectIds) else self._own
        return self._given if own is None else own

    def apply(self, batch):
        """Tail, head and number of nodes of a batch, in our numbering."""
        if self._is_fresh:
            self._given, self._is_fresh = batch.node_ids, False
        if self._own is None and batch.node_ids is self._given:
            return batch.tail, batch.head, batch.n_nodes
        if batch.node_ids is None or self._given is None:
            raise InputError("batches with ids and batches without cannot be put together")
        if self._own is None and self._continues(batch):
            self._given = batch.node_ids
            return batch.tail, batch.head, batch.n_nodes
        node = self._number(batch.node_ids, batch.n_nodes)
        return node[batch.tail], node[batch.head], len(self._own)

    def _number(self, ids, n_nodes):
        """Numbers of the first nodes of a source; those that it had before are remembered."""
        last, node = self._last
        if last is not ids:
            node = node[:0]
        if self._own is None:
            self._own = make_id_table([self._given, ids])
            number_ids(self._own, self._given, 0, len(self._given))
        elif last is not ids and not isinstance(self._own, ObjectIds):
            known, self._own = self._own, make_id_table([self._own, ids])
            if type(known) is type(self._own):
                self._own = known
            else:
                number_ids(self._own, known, 0, len(known))
        if node.size < n_nodes:
            more = number_ids(self._own, ids, node.size, n_nodes)
            node = np.concatenate([node, more.astype(np.int32)])
        self._last = ids, node
        return node

    def _continues(self, batch):
        """Whether the batch numbers all nodes so far as we do: the same source, read again."""
        known = np.asarray(self._given)
        return batch.n_nodes >= len(known) and np.array_equal(batch.ids[: len(known)], known)


class NodeMatching:
    """Which nodes of a graph the nodes of a stream are; the two may be numbered differently.

    Nodes seen before are not looked up again.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> matching = NodeMatching(EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")]))
    >>> matching.ends(EdgeList.from_pairs([("ann", "bob"), ("ann", "cy")]))
    (array([2, 2]), array([1, 0]))
    """

    def __init__(self, graph):
        self._graph = graph
        self._node = np.zeros(0, dtype=np.int64)  # of the graph, for each node of the stream
        self._is_identity = True
        self._find = None

    def ends(self, batch):
        """Both ends of the edges of a batch, as nodes of the graph."""
        n_old = self._node.size
        if batch.n_nodes > n_old:
            self._look_up(batch, n_old)
        if self._is_identity:
            return batch.tail, batch.head
        tail, head = self._node[batch.tail], self._node[batch.head]
        self._refuse_unknown(batch, batch.tail, tail)
        self._refuse_unknown(batch, batch.head, head)
        return tail, head

    @staticmethod
    def _refuse_unknown(batch, nodes, found):
        if found.min(initial=0) < 0:
            name = batch.ids.tolist()[nodes[int(np.argmin(found))]]
            raise InputError(
                f"node {name!r} of the graph is not in the sparsifier; it belongs to another "
                "graph, or has lost a node"
            )

    def nodes(self, batch):
        """All nodes of a batch, as nodes of the graph."""
        if batch.n_nodes > self._node.size:
            self._look_up(batch, self._node.size)
        self._refuse_unknown(batch, np.arange(batch.n_nodes), self._node)
        return self._node[: batch.n_nodes]

    def __getstate__(self):
        # A local function cannot be pickled: a copy makes its own on first use.
        return self.__dict__ | {"_find": None}

    def _look_up(self, batch, n_old):
        if self._find is None:
            self._find = make_node_finder(self._graph.node_ids, self._graph.n_nodes)
        new = self._find(ids_between(batch.node_ids, n_old, batch.n_nodes))
        self._is_identity &= np.array_equal(new, np.arange(n_old, batch.n_nodes))
        self._node = np.concatenate([self._node, new])


def make_id_table(sources: Sequence) -> Any:
    """An empty table for the ids of all sources: of integers or of text if all are, or of any kind.

    Parameters
    ----------
    sources : list of ids
        Each an array, or a table.

    Examples
    --------
    >>> make_id_table([np.array([7]), np.array(["ann"], dtype=object)])
    <graphsqueak.nodes.numbering.ObjectIds object at ...>
    """
    if all(isinstance(ids, TextIds) for ids in sources):
        return TextIds()
    kinds = {_kind(ids) for ids in sources}
    if kinds in ({np.dtype(np.int64)}, {np.dtype(np.uint64)}):
        return IntegerIds(kinds.pop())
    return ObjectIds()


def _kind(ids):
    if isinstance(ids, IntegerIds | np.ndarray):
        return ids.dtype
    return np.dtype(object) if isinstance(ids, TextIds | ObjectIds) else np.asarray(ids).dtype


def number_ids(table: Any, ids: Any, start: int, stop: int) -> np.ndarray:
    """The numbers in a table of the ids of nodes start, ..., stop - 1; new ids are added.

    Parameters
    ----------
    table : IntegerIds, TextIds or ObjectIds
        As of `make_id_table`.
    ids : array of ids, or a table
    start, stop : int

    Examples
    --------
    >>> number_ids(IntegerIds(np.int64), np.array([7, 3, 7]), 1, 3)
    array([0, 1])
    """
    if isinstance(table, TextIds):
        text, ends = ids.buffers(stop)
        first = ends[start - 1] if start else 0
        return table.number_packed(text[first:], ends[start:] - first)
    ids = np.array(ids[start:stop])
    return table.number(ids.tolist() if isinstance(table, ObjectIds) else ids.view(np.int64))


def make_node_finder(known: Any, n_nodes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Make a function from ids to node numbers, -1 for an id that is not there.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.node_ids`; None where nodes are plain numbers.
    n_nodes : int
        Number of nodes.

    Examples
    --------
    >>> find = make_node_finder(np.array([7, 3]), 2)
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


def ids_between(known: Any, start: int, stop: int) -> np.ndarray:
    """The ids of nodes start, ..., stop - 1, without looking at the others.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.node_ids`; None where nodes are plain numbers.
    start, stop : int
        Numbers of nodes.

    Examples
    --------
    >>> ids_between(None, 1, 3), ids_between(np.array(["ann", "bob", "cy"]), 2, 3).tolist()
    (array([1, 2]), ['cy'])
    """
    return np.arange(start, stop) if known is None else np.asarray(known[start:stop])


def _find_number(ids, n_nodes):
    if ids.dtype.kind not in "iu":
        # A dictionary compares as Python does: 1.0 and numpy integers are found, text is not.
        number = {node: node for node in range(n_nodes)}
        return np.array([number.get(name, -1) for name in ids.tolist()], dtype=np.int64)
    found = np.full(ids.size, -1)
    below = (ids >= 0) & (ids < n_nodes)
    found[below] = ids[below]
    return found
