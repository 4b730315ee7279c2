"""Edges at labeled nodes, summed exactly however many edges there are.

Edges with a labeled end are held apart from the sparsifier, parallel ones added up. Where they
outgrow their room, labeled nodes of one class and component are tied in pairs, then in fours, and
so on: nodes that share one value need one sum at every neighbor. In the end there is one node for a
class in every component, and a node has C sums at most. Ties between components would be wrong:
Stable-HFS centers every component by itself, and so joined they would be one. Whoever is tied is
represented by the first one of its group, its leader.
"""

import copy

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.forest import find_all, make_sets, union_edges

__all__ = ["Tally"]

_STEP = 2**18  # edges of the stream after which room is looked at, however they come in batches


class Tally:
    """Summed edges at labeled nodes.

    Parameters
    ----------
    code : array of int
        Class of every label, as `meet` numbers them.
    n_classes : int
    alone : array of bool
        Labels whose nodes are not tied to others, as far as half of the room is enough for them, or
        what a sum for each node and class leaves of it.
    room : callable
        room(n_nodes, n_seen) is the number of sums that may be held.

    Examples
    --------
    >>> tally = Tally(np.array([0, 1, 1]), 2, np.zeros(3, bool), lambda n_nodes, n_seen: 2)
    >>> tally.meet(np.array([0, 1, -1, 2]))  # nodes 0, 1 and 3 are labeled
    >>> tally.absorb(np.array([0, 1, 2]), np.array([2, 2, 3]), np.array([1.0, 2.0, 4.0]))
    >>> tally.settle()
    >>> tally.is_tied, tally.leader  # three sums were one too many
    (True, array([0, 1, 2, 1]))
    >>> tally.edges(4).weight
    array([1., 6.])
    """

    def __init__(self, code, n_classes, alone, room):
        self.code, self.n_classes, self.alone, self._room = code, n_classes, alone, room
        self.index = np.zeros(0, dtype=np.int64)  # of each node's label, or -1
        self.leader = np.zeros(0, dtype=np.int64)  # of each node: itself if it is not tied
        self._parent = make_sets(0)  # of the nodes' union-find
        self.is_tied = False  # whether several labeled nodes share one value
        self._n_seen = self._n_met = self._n_new = 0
        self._columns = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        self._new = []

    def meet(self, index):
        """Append nodes: the number of each one's label, or -1."""
        new = np.arange(self.index.size, self.index.size + index.size)
        self.index = np.concatenate([self.index, index])
        self.leader = np.concatenate([self.leader, new])
        self._parent = np.concatenate([self._parent, new.astype(self._parent.dtype)])

    def absorb(self, tail, head, weight):
        """Add the edges at labeled nodes among these."""
        start, is_labeled = 0, self.index >= 0
        while start < tail.size:
            stop = min(start + _STEP - self._n_seen % _STEP, tail.size)
            low, high = tail[start:stop], head[start:stop]
            union_edges(self._parent, low, high)
            chosen = is_labeled[low] | is_labeled[high]
            self._new.append((low[chosen], high[chosen], weight[start:stop][chosen]))
            self._n_new += np.count_nonzero(chosen)
            self._n_seen += stop - start
            self._n_met = max(self._n_met, low.max() + 1, high.max() + 1)
            start = stop
            if self._n_seen % _STEP == 0 and self._n_new >= max(_STEP, self._columns[0].size):
                self.settle()

    def settle(self):
        """Add up what is parallel, and tie nodes until the sums fit."""
        self._add_up()
        while self._columns[0].size > self._room(self._n_met, self._n_seen):
            if not self._spend_alone() and not self._tie_pairs():
                return
            self._add_up()

    def _add_up(self):
        parts = [self._columns, *self._new]
        tail, head, weight = map(np.concatenate, zip(*parts, strict=True))
        tail, head = self.leader[tail], self.leader[head]
        apart = tail != head
        ends = (tail[apart], head[apart], weight[apart])
        summed = EdgeList.from_validated(*ends, self.index.size).simplified()
        self._columns, self._new = (summed.tail, summed.head, summed.weight), []
        self._n_new = 0

    def _spend_alone(self):
        """Let every second of those alone be tied, where their sums take too much of the room."""
        tail, head, _ = self._columns
        is_alone = np.append(self.alone, False)[self.index]
        n_sums = np.count_nonzero(is_alone[tail] | is_alone[head])
        chosen = np.flatnonzero(self.alone)
        room = self._room(self._n_met, self._n_seen)
        own = max(room / 2, room - self._n_met * self.n_classes)
        is_many = n_sums > own and chosen.size > 1
        if is_many:
            self.alone = self.alone.copy()
            self.alone[chosen[::2]] = False
        return is_many

    def _tie_pairs(self):
        """Tie leaders of one class and component to each other, two by two; False if none are."""
        nodes = np.flatnonzero(self.index[: self._n_met] >= 0)
        leads = (self.leader[nodes] == nodes) & ~self.alone[self.index[nodes]]
        nodes, component = nodes[leads], find_all(self._parent)
        kind = self.code[self.index[nodes]], component[nodes]
        order = np.lexsort((nodes, *kind))
        nodes, kind = nodes[order], np.stack(kind)[:, order]
        begins = np.append(True, (kind[:, 1:] != kind[:, :-1]).any(axis=0))[: nodes.size]
        start = np.maximum.accumulate(np.where(begins, np.arange(nodes.size), 0))
        follows = np.flatnonzero((np.arange(nodes.size) - start) % 2 == 1)
        self.leader[nodes[follows]] = nodes[follows - 1]
        self.leader = self.leader[self.leader]
        self.is_tied |= follows.size > 0
        return follows.size > 0

    def renumber(self, numbers):
        """Give node i the number numbers[i], after `settle`.

        >>> tally = Tally(np.array([0]), 1, np.zeros(1, bool), lambda n_nodes, n_seen: 9)
        >>> tally.meet(np.array([-1, 0, -1]))  # the node that came second is labeled
        >>> tally.absorb(np.array([1, 0]), np.array([2, 1]), np.array([1.0, 2.0]))
        >>> tally.settle()
        >>> tally.renumber(np.array([2, 0, 1]))
        >>> tally.index, tally.edges(3).tail, tally.edges(3).head
        (array([ 0, -1, -1]), array([2, 0], dtype=int32), array([0, 1], dtype=int32))
        """
        node_before = np.argsort(numbers)
        self.index = self.index[node_before]
        self.leader = numbers[self.leader[node_before]]
        tail, head, weight = self._columns
        self._columns = (numbers[tail], numbers[head], weight)

    def without(self, numbers):
        """A copy in which nodes with labels of these numbers, none of them tied, have none."""
        if not len(numbers):
            return self
        other = copy.copy(self)
        other.index = np.where(np.isin(self.index, numbers), -1, self.index)
        tail, head, _ = self._columns
        chosen = (other.index[tail] >= 0) | (other.index[head] >= 0)
        other._columns = tuple(column[chosen] for column in self._columns)
        return other

    def edges(self, n_nodes, ids=None):
        """All sums, as edges between the nodes; those that follow a leader have none."""
        return EdgeList.from_validated(*self._columns, n_nodes, ids)
