"""The nodes of a stream among those of a graph that is known, matched by id."""

from typing import Any

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.nodes.numbering import node_finder

__all__ = ["NodeMatching", "ids_between"]


def ids_between(known: Any, start: int, stop: int) -> np.ndarray:
    """The ids of nodes start, ..., stop - 1, without looking at the others.

    Parameters
    ----------
    known : array of ids, or None
        The id of every node, as in `EdgeList.own_ids`; None where nodes are plain numbers.
    start, stop : int
        Numbers of nodes.

    Examples
    --------
    >>> ids_between(None, 1, 3), ids_between(np.array(["ann", "bob", "cy"]), 2, 3).tolist()
    (array([1, 2]), ['cy'])
    """
    return np.arange(start, stop) if known is None else np.asarray(known[start:stop])


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
        for end, found in ((batch.tail, tail), (batch.head, head)):
            if found.min(initial=0) < 0:
                name = batch.ids.tolist()[end[int(np.argmin(found))]]
                raise InputError(
                    f"node {name!r} of the graph is not in the sparsifier; it belongs to another "
                    "graph, or has lost a node"
                )
        return tail, head

    def _look_up(self, batch, n_old):
        if self._find is None:
            self._find = node_finder(self._graph.own_ids, self._graph.n_nodes)
        new = self._find(ids_between(batch.own_ids, n_old, batch.n_nodes))
        self._is_identity &= np.array_equal(new, np.arange(n_old, batch.n_nodes))
        self._node = np.concatenate([self._node, new])
