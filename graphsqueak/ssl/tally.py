"""Edges at labeled nodes, summed exactly however many edges there are.

Edges with a labeled end are held apart from the sparsifier, parallel ones added up. Where they
outgrow their room, labeled nodes of one class are tied in pairs, then in fours, and so on: nodes
that share one value need one sum at every neighbor. In the end there is one node for a class, and
n C sums. Whoever is tied is represented by the first one of its group, its leader.
"""

import copy

import numpy as np

from graphsqueak.graph.edge_list import EdgeList

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
        Labels whose nodes are never tied to others.
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
        self._level = self._n_seen = self._n_met = self._n_new = 0
        self._columns = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        self._new = []

    @property
    def is_tied(self):
        """Whether several labeled nodes share one value."""
        return self._level > 0

    def meet(self, index):
        """Append nodes: the number of each one's label, or -1."""
        self.index = np.concatenate([self.index, index])
        self.leader = np.arange(self.index.size)
        self._follow()

    def absorb(self, tail, head, weight):
        """Add the edges at labeled nodes among these."""
        start, is_labeled = 0, self.index >= 0
        while start < tail.size:
            stop = min(start + _STEP - self._n_seen % _STEP, tail.size)
            chosen = is_labeled[tail[start:stop]] | is_labeled[head[start:stop]]
            ends = (self.leader[end[start:stop][chosen]] for end in (tail, head))
            self._new.append((*ends, weight[start:stop][chosen]))
            self._n_new += np.count_nonzero(chosen)
            self._n_seen += stop - start
            self._n_met = max(self._n_met, tail[start:stop].max() + 1, head[start:stop].max() + 1)
            start = stop
            if self._n_seen % _STEP == 0 and self._n_new >= max(_STEP, self._columns[0].size):
                self.settle()

    def settle(self):
        """Add up what is parallel, and tie nodes until the sums fit."""
        self._add_up()
        while self._columns[0].size > self._room(self._n_met, self._n_seen):
            if not self._is_divisible:
                return
            self._level += 1
            self._follow()
            self._add_up()

    def _add_up(self):
        parts = [self._columns, *self._new]
        tail, head, weight = map(np.concatenate, zip(*parts, strict=True))
        tail, head = self.leader[tail], self.leader[head]
        apart = tail != head
        ends = (tail[apart], head[apart], weight[apart])
        summed = EdgeList.from_clean(*ends, self.index.size).simplified()
        self._columns, self._new = (summed.tail, summed.head, summed.weight), []
        self._n_new = 0

    @property
    def _is_divisible(self):
        most = np.bincount(self.code[~self.alone], minlength=1).max()
        return 2**self._level < most

    def _follow(self):
        """Let the labeled nodes of every group follow the first of them."""
        if not self.is_tied:
            return
        rank = np.empty(self.code.size, dtype=np.int64)  # of a label within its class
        for number in range(self.n_classes):
            own = (self.code == number) & ~self.alone
            rank[own] = np.arange(np.count_nonzero(own)) >> self._level
        group = rank * self.n_classes + self.code
        nodes = np.flatnonzero(self.index >= 0)
        nodes = nodes[~self.alone[self.index[nodes]]]
        groups = np.unique(group[self.index[nodes]], return_index=True, return_inverse=True)
        self.leader[nodes] = nodes[groups[1]][groups[2]]

    def without(self, labels):
        """A copy in which the nodes with these labels are not labeled; none of them is tied."""
        if not len(labels):
            return self
        other = copy.copy(self)
        other.index = np.where(np.isin(self.index, labels), -1, self.index)
        tail, head, _ = self._columns
        chosen = (other.index[tail] >= 0) | (other.index[head] >= 0)
        other._columns = tuple(column[chosen] for column in self._columns)
        return other

    def edges(self, n_nodes, ids=None):
        """All sums, as edges between the nodes; those that follow a leader have none."""
        return EdgeList.from_clean(*self._columns, n_nodes, ids)
