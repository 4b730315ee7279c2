"""Node numbers for ids: growing tables, one numbering for many batches, and matching of two graphs.

ObjectIds         table of any hashable ids -> 0, 1, 2, ... in order of first appearance
                  (`integer_ids` and `text_ids` have faster ones for integers and text)
Numbering         batches that may be numbered differently -> one growing numbering
make_node_finder  ids -> node numbers of a given graph
NodeMatching      nodes of a stream -> nodes of a given graph
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.graph.id_arrays import as_object_array
from graphsqueak.nodes.integer_ids import IntegerIds
from graphsqueak.nodes.text_ids import TextIds


class ObjectIds:
    """Growing map from hashable objects to node numbers.

    Examples
    --------
    >>> ids = ObjectIds()
    >>> ids.number(["ann", 7, "ann"])
    array([0, 1, 0])
    >>> np.asarray(ids)
    array(['ann', 7], dtype=object)
    """

    dtype = np.dtype(object)

    def __init__(self):
        self._node = {}

    def number(self, names):
        """Return the node numbers of a list of ids; new ids are added."""
        node = self._node
        return np.array([node.setdefault(name, len(node)) for name in names], dtype=np.int64)

    def __len__(self):
        return len(self._node)

    def __array__(self, dtype=None, copy=None):
        return as_object_array(list(self._node))


class Numbering:
    """One numbering of the nodes of all batches so far.

    Batches of one source share one object of ids, and their numbers are used as they are. Ids of
    several sources are matched, the ids of each source once. Batches without ids must have the same
    numbers already.

    Parameters
    ----------
    ids : object, optional
        Ids of the first source, as in `EdgeList.node_ids`. Default: those of the first batch.

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> numbering = Numbering()
    >>> _ = numbering.apply(EdgeList.from_pairs([("ann", "bob")]))
    >>> numbering.apply(EdgeList.from_pairs([("cy", "bob")]))[:2]
    (array([2], dtype=int32), array([1], dtype=int32))
    """

    def __init__(self, ids=None):
        self._source_ids = ids
        self._has_source = ids is not None
        # Ids of all sources, as soon as there are two.
        self._table = None
        # Numbers of the first nodes of the last source.
        self._last_ids = None
        self._last_nodes = np.zeros(0, np.int32)

    @property
    def ids(self):
        """Ids of all nodes so far, or None if they are plain numbers."""
        if self._table is None:
            return self._source_ids
        return np.asarray(self._table) if isinstance(self._table, ObjectIds) else self._table

    def apply(self, batch):
        """Return tails, heads and the number of nodes of a batch, in the common numbering."""
        ids = batch.node_ids
        if not self._has_source:
            self._source_ids = ids
            self._has_source = True
        # The common case, one source: no id is read.
        if self._table is None and ids is self._source_ids:
            return batch.tail, batch.head, batch.n_nodes
        if ids is None or self._source_ids is None:
            raise InputError(
                "batches with ids and batches without cannot be put together; "
                "give all batches ids, or none"
            )
        if self._table is None and self._is_extended_by(batch):
            self._source_ids = ids
            return batch.tail, batch.head, batch.n_nodes
        if ids is not self._last_ids:
            self._add_source(ids)
        n_known = self._last_nodes.size
        if n_known < batch.n_nodes:
            new = number_ids(self._table, ids, n_known, batch.n_nodes)
            self._last_nodes = np.concatenate([self._last_nodes, new.astype(np.int32)])
        return self._last_nodes[batch.tail], self._last_nodes[batch.head], len(self._table)

    def _is_extended_by(self, batch):
        """Return whether the batch has the same first nodes: the same source, read again."""
        ids = np.asarray(self._source_ids)
        return batch.n_nodes >= len(ids) and np.array_equal(batch.ids[: len(ids)], ids)

    def _add_source(self, ids):
        """Start with the nodes of another source, in a table that can store its kind of ids."""
        self._last_ids = ids
        self._last_nodes = np.zeros(0, np.int32)
        old = self._source_ids if self._table is None else self._table
        table = make_id_table([old, ids])
        # The old table is kept if it can store the new ids as well.
        if type(table) is not type(self._table):
            number_ids(table, old, 0, len(old))
            self._table = table


class NodeMatching:
    """Map from the nodes of a stream to those of a graph that may be numbered differently.

    Each node of the stream is looked up once.

    Parameters
    ----------
    graph : EdgeList

    Examples
    --------
    >>> from graphsqueak.graph import EdgeList
    >>> matching = NodeMatching(EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")]))
    >>> matching.ends(EdgeList.from_pairs([("ann", "bob"), ("ann", "cy")]))
    (array([2, 2]), array([1, 0]))
    """

    def __init__(self, graph):
        self._graph = graph
        # Node of the graph for each node of the stream, -1 for none.
        self._node = np.zeros(0, dtype=np.int64)
        self._is_identity = True
        self._find = None

    def ends(self, batch):
        """Return both ends of the edges of a batch, as nodes of the graph."""
        self._look_up(batch)
        # Streams and their sparsifiers are usually numbered alike.
        if self._is_identity:
            return batch.tail, batch.head
        tail = self._node[batch.tail]
        head = self._node[batch.head]
        self._check_known(batch, batch.tail, tail)
        self._check_known(batch, batch.head, head)
        return tail, head

    def nodes(self, batch):
        """Return all nodes of a batch, as nodes of the graph."""
        self._look_up(batch)
        self._check_known(batch, np.arange(batch.n_nodes), self._node)
        return self._node[: batch.n_nodes]

    @staticmethod
    def _check_known(batch, nodes, found):
        if found.min(initial=0) < 0:
            name = batch.ids.tolist()[nodes[int(np.argmin(found))]]
            raise InputError(
                f"node {name!r} of the graph is not in the sparsifier; it belongs to another "
                "graph, or has lost a node"
            )

    def _look_up(self, batch):
        n_known = self._node.size
        if batch.n_nodes <= n_known:
            return
        if self._find is None:
            self._find = make_node_finder(self._graph.node_ids, self._graph.n_nodes)
        new = self._find(ids_between(batch.node_ids, n_known, batch.n_nodes))
        self._is_identity &= np.array_equal(new, np.arange(n_known, batch.n_nodes))
        self._node = np.concatenate([self._node, new])


def make_id_table(sources: Sequence) -> Any:
    """Return an empty table for the ids of all sources.

    It is a table of integers or of text if all ids are, otherwise one of objects.

    Parameters
    ----------
    sources : list of ids
        Each an array or a table.

    Examples
    --------
    >>> make_id_table([np.array([7]), np.array(["ann"], dtype=object)])
    <graphsqueak.nodes.numbering.ObjectIds object at ...>
    """
    if all(isinstance(ids, TextIds) for ids in sources):
        return TextIds()
    dtypes = {ids.dtype for ids in sources}
    if dtypes in ({np.dtype(np.int64)}, {np.dtype(np.uint64)}):
        return IntegerIds(dtypes.pop())
    return ObjectIds()


def number_ids(table: Any, ids: Any, start: int, stop: int) -> np.ndarray:
    """Return the numbers in a table of the ids of nodes start, ..., stop - 1; new ids are added.

    Parameters
    ----------
    table : IntegerIds, TextIds or ObjectIds
        As returned by `make_id_table`.
    ids : array of ids, or a table
    start, stop : int

    Examples
    --------
    >>> number_ids(IntegerIds(np.int64), np.array([7, 3, 7]), 1, 3)
    array([0, 1], dtype=int32)
    """
    if isinstance(table, TextIds):
        # Texts are copied as bytes, without decoding them.
        text, ends = ids.buffers(stop)
        first_byte = ends[start - 1] if start else 0
        return table.number_packed(text[first_byte:], ends[start:] - first_byte)
    wanted = np.array(ids[start:stop])
    if isinstance(table, ObjectIds):
        return table.number(wanted.tolist())
    return table.number(wanted.view(np.int64))


def make_node_finder(known: Any, n_nodes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from ids to node numbers, -1 for unknown ids.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.node_ids`; None if nodes are plain numbers.
    n_nodes : int
        Number of nodes.

    Examples
    --------
    >>> find = make_node_finder(np.array([7, 3]), 2)
    >>> find(np.array([3, 4, 7]))
    array([ 1, -1,  0])
    """
    known = ids_between(known, 0, n_nodes)
    # Partial functions can be sent to workers, functions inside this one cannot.
    if known.dtype.kind in "iu":
        order = np.argsort(known)
        return partial(_find_integers, known[order], order)
    return partial(_find_names, {name: node for node, name in enumerate(known.tolist())})


def _find_integers(ordered, order, ids):
    """Return order[k] for each id that is ordered[k], -1 for others."""
    if ids.dtype.kind not in "iu":
        return _find_names(dict(zip(ordered.tolist(), order.tolist(), strict=True)), ids)
    if ordered.size == 0:
        return np.full(ids.size, -1)
    # NumPy would compare int64 and uint64 as floats. In one type, ids that wrap around differ.
    found = np.searchsorted(ordered, ids.astype(ordered.dtype, copy=False))
    found = np.minimum(found, ordered.size - 1)
    return np.where(ordered[found] == ids, order[found], -1)


def _find_names(node_of_name, ids):
    # A dictionary compares as Python does: 1.0 and NumPy integers equal integers, text does not.
    return np.array([node_of_name.get(name, -1) for name in ids.tolist()], dtype=np.int64)


def ids_between(known: Any, start: int, stop: int) -> np.ndarray:
    """Return the ids of nodes start, ..., stop - 1, without decoding the others.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.node_ids`; None if nodes are plain numbers.
    start, stop : int
        Range of nodes.

    Examples
    --------
    >>> ids_between(None, 1, 3), ids_between(np.array(["ann", "bob", "cy"]), 2, 3).tolist()
    (array([1, 2]), ['cy'])
    """
    return np.arange(start, stop) if known is None else np.asarray(known[start:stop])
