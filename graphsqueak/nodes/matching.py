"""The nodes of one graph among those of another, matched by id."""

from collections.abc import Callable
from typing import Any

import numpy as np

from graphsqueak.errors import InputError

__all__ = ["Places", "node_finder"]


class Places:
    """Where the nodes of a stream are among those of a graph whose nodes may be ordered otherwise.

    Nodes seen before are not looked up again.

    >>> from graphsqueak.graph import EdgeList
    >>> places = Places(EdgeList.from_pairs([("cy", "bob"), ("bob", "ann")]))
    >>> places.of(EdgeList.from_pairs([("ann", "bob"), ("ann", "cy")]))
    (array([2, 2]), array([1, 0]))
    """

    def __init__(self, graph):
        self._graph = graph
        self._place = np.zeros(0, dtype=np.int64)
        self._is_identity = True
        self._find = None

    def of(self, batch):
        """Both ends of the edges of a batch, as nodes of the graph."""
        n_old = self._place.size
        if batch.n_nodes > n_old:
            self._look_up(batch, n_old)
        if self._is_identity:
            return batch.tail, batch.head
        tail, head = self._place[batch.tail], self._place[batch.head]
        for end, found in ((batch.tail, tail), (batch.head, head)):
            if found.min(initial=0) < 0:
                name = batch.ids.tolist()[end[int(np.argmin(found))]]
                raise InputError(
                    f"node {name!r} of the graph is not in the sparsifier; it belongs to another "
                    "graph, or has lost a node"
                )
        return tail, head

    def _look_up(self, batch, n_old):
        if batch.own_ids is None:
            new = np.arange(n_old, batch.n_nodes)
        else:
            new = np.asarray(batch.own_ids[n_old : batch.n_nodes])
        if self._find is None:
            self._find = node_finder(self._graph.own_ids, self._graph.n_nodes)
        place = self._find(new)
        self._is_identity &= np.array_equal(place, np.arange(n_old, batch.n_nodes))
        self._place = np.concatenate([self._place, place])


def node_finder(known: Any, n_nodes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Make a function from ids to node numbers, -1 for an id that is not there.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.own_ids`; None where nodes are plain numbers.
    n_nodes : int

    Examples
    --------
    >>> find = node_finder(np.array([7, 3]), 2)
    >>> find(np.array([3, 4, 7]))
    array([ 1, -1,  0])
    """
    if known is None:
        return lambda ids: np.where(_is_below(ids, n_nodes), ids, -1)
    known = np.asarray(known)[:n_nodes]
    if known.dtype.kind not in "iu":
        number = {name: node for node, name in enumerate(known.tolist())}
        return lambda ids: np.array([number.get(name, -1) for name in ids.tolist()], dtype=np.int64)
    order = np.argsort(known)
    ordered = known[order]

    def find(ids: np.ndarray) -> np.ndarray:
        if ids.dtype.kind not in "iu" or ordered.size == 0:
            return np.full(ids.size, -1)
        found = np.minimum(np.searchsorted(ordered, ids), ordered.size - 1)
        return np.where(ordered[found] == ids, order[found], -1)

    return find


def _is_below(ids, n_nodes):
    if ids.dtype.kind not in "iu":
        return np.zeros(ids.size, dtype=bool)
    return (ids >= 0) & (ids < n_nodes)
