"""Sums of the edges at labeled nodes, exact however many edges there are."""

import copy

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.system.kernels import compiled

__all__ = ["Tally"]

_MOST_ENTRIES = 30_000_000  # of a table with a column per node; beyond it has one per class


class Tally:
    """A table of summed weights, a row per node and a column per labeled node or per class.

    Parameters
    ----------
    code : array of int
        Class of every tallied node, as `meet` numbers them.
    n_classes : int
    per_node : bool
        Begin with a column for each node rather than for each class.

    Examples
    --------
    >>> tally = Tally(np.array([0, 1, 1]), 2, per_node=False)
    >>> tally.meet(np.array([0, 1, -1, 2]))  # nodes 0, 1 and 3 are labeled
    >>> ends = np.array([0, 1, 2]), np.array([2, 2, 3])
    >>> tally.absorb(*ends, np.array([1.0, 2.0, 4.0]))[0].size  # nothing is left to sparsify
    0
    >>> tally.table[2]
    array([1., 6.])
    """

    def __init__(self, code, n_classes, *, per_node):
        self.code, self.n_classes, self.per_node = code, n_classes, per_node
        self.index = np.zeros(0, dtype=np.int32)  # of each node among the tallied, or -1
        self._rows = np.zeros((0, code.size if per_node else n_classes))

    @property
    def table(self):
        """Rows of all nodes so far."""
        return self._rows[: self.index.size]

    def meet(self, index):
        """Append nodes: the number of each among the tallied ones, or -1."""
        self.index = np.concatenate([self.index, index.astype(np.int32)])
        n_nodes = self.index.size
        if self.per_node and n_nodes * self.code.size > _MOST_ENTRIES:
            self.merge_classes()
        if n_nodes > len(self._rows):
            grown = np.zeros((max(n_nodes, 3 * len(self._rows) // 2), self._rows.shape[1]))
            grown[: len(self._rows)] = self._rows
            self._rows = grown

    def absorb(self, tail, head, weight):
        """Add up the edges at tallied nodes; returns tail, head and weight of the others."""
        column = np.arange(self.code.size) if self.per_node else self.code
        left = (np.empty_like(tail), np.empty_like(head), np.empty_like(weight))
        n_left = _absorb(self.index, column, tail, head, weight, self._rows, *left)
        return tuple(part[:n_left] for part in left)

    def merge_classes(self):
        """One column per class from now on."""
        self._rows = self._rows @ np.eye(self.n_classes)[self.code]
        self.per_node = False

    def merged(self):
        """A copy with one column per class."""
        other = copy.copy(self)
        other.merge_classes()
        return other

    def without(self, labels):
        """A copy in which the nodes with these labels are not tallied."""
        if not len(labels):
            return self
        other = copy.copy(self)
        other._rows = self._rows.copy()
        other._rows[:, labels] = 0.0
        other.index = np.where(np.isin(self.index, labels), -1, self.index)
        return other

    def join(self, rest, ids=None):
        """`rest`, a graph of the other nodes, together with the tallied edges.

        With a column per node, on the same nodes. With a column per class, on n + C nodes, the last
        ones standing for the classes; the tallied nodes themselves are left without an edge.
        """
        n_nodes, table = rest.n_nodes, self.table
        tallied = np.flatnonzero(self.index >= 0)
        if self.per_node:
            node_of = np.empty(self.code.size, dtype=np.int64)
            node_of[self.index[tallied]] = tallied
            row, column = np.nonzero(table)
            other = node_of[column]
            once = (self.index[row] < 0) | (row < other)
            tail, head, weight = row[once], other[once], table[row[once], column[once]]
        else:
            row, column = np.nonzero(table * (self.index < 0)[:, None])
            tail, head, weight = row, n_nodes + column, table[row, column]
            between = np.eye(self.n_classes)[self.code[self.index[tallied]]].T @ table[tallied]
            low, high = np.triu_indices(self.n_classes, 1)
            tail = np.concatenate([tail, n_nodes + low])
            head = np.concatenate([head, n_nodes + high])
            weight = np.concatenate([weight, between[low, high]])
            n_nodes += self.n_classes
        keep = weight > 0
        columns = (tail[keep], head[keep], weight[keep])
        parts = zip((rest.tail, rest.head, rest.weight), columns, strict=True)
        ids = ids if n_nodes == rest.n_nodes else None
        return EdgeList.from_clean(*map(np.concatenate, parts), n_nodes, ids)

    def n_edges(self):
        """Edges that `join` adds, at most."""
        return int(np.count_nonzero(self.table))


@compiled
def _absorb(index, column, tail, head, weight, table, left_tail, left_head, left_weight):
    size = 0
    for e in range(tail.size):
        u, v = tail[e], head[e]
        if index[u] < 0 and index[v] < 0:
            left_tail[size], left_head[size], left_weight[size] = u, v, weight[e]
            size += 1
            continue
        if index[u] >= 0:
            table[v, column[index[u]]] += weight[e]
        if index[v] >= 0:
            table[u, column[index[v]]] += weight[e]
    return size
