"""One pass over a stream whose labeled nodes are known beforehand: a small graph to label on.

On a dense graph the useful part of a harmonic function is a small variation on a large constant,
and it enters through the labeled nodes' own edges: a sparsifier, however good its eps, blurs it.
But those edges need not be sampled. If the labeled nodes of one class share one value, all that
matters of their edges is

    t_xc = sum of the weights between x and the labeled nodes of class c,

n C exact numbers, whatever the number of edges. With few labels there is a column for each labeled
node, and nothing is tied together at all. Only edges between other nodes are left to sparsify.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.choice import natural_unit
from graphsqueak.system.kernels import compiled
from graphsqueak.system.progress import reporter

__all__ = ["FEW_LABELS", "SmallGraph", "Tally", "read_with_labels"]

FEW_LABELS = 256  # that are tallied one by one
_MOST_HELD_OUT = 128  # of more labels: at most so many, and an eighth, stay out to choose eta by
_MOST_ENTRIES = 30_000_000  # of a table with a column per node; beyond it has one per class


class SmallGraph(NamedTuple):
    """What is left of the stream.

    `ids` and `label` have an entry per node of the stream: its id, and the index of its label among
    those given, or -1.
    """

    graph: EdgeList  # with C nodes for the classes at the end if `tied` is not empty
    tied: np.ndarray  # nodes that stand behind their class
    untied: EdgeList | None  # the same with every labeled node by itself, where that is known
    n_nodes: int
    n_seen: int  # edges of the stream
    ids: np.ndarray
    label: np.ndarray
    unit: float  # `natural_unit` of the stream

    def tie(self, labels):
        """Who stands behind a class and who does not, of the labeled nodes."""
        is_free = ~np.isin(labels.nodes, self.tied)
        classes, n_classes = labels.code[~is_free], labels.classes.size
        counts = np.bincount(classes, minlength=n_classes)
        copies = np.concatenate([np.ones(self.n_nodes), counts])
        copies[self.tied] = 0.0
        value_of = np.arange(self.n_nodes)
        value_of[labels.nodes[~is_free]] = self.n_nodes + classes
        return Tie(is_free, labels.nodes[is_free], classes, self.n_nodes, copies, value_of)


class Tie(NamedTuple):
    """Labeled nodes that share the value of their class, and those that are free of it."""

    is_free: np.ndarray  # of every labeled node
    free: np.ndarray  # the nodes of which it is true
    classes: np.ndarray  # of the other ones
    first: int  # node that stands for the first class
    copies: np.ndarray  # how many nodes each node of the graph stands for
    value_of: np.ndarray  # the node whose value each node of the stream has

    @property
    def present(self):
        """Classes that nodes stand behind."""
        return np.unique(self.classes)

    @property
    def leaders(self):
        """The nodes of these classes."""
        return self.first + self.present


def read_with_labels(source, labels, budget, *, few=FEW_LABELS, random_state=None, progress=False):
    """Sparsify `source`, with the edges at labeled nodes summed exactly.

    Sums count as edges: where both together are above the budget, they are thinned to it, the sums
    favored.

    Parameters
    ----------
    source : EdgeList or EdgeSource
    labels : EncodedLabels
    budget : Budget
        Edges and sums to hold.
    few : int
        Labels up to which every labeled node has sums of its own.
    random_state : int or None
        Seeds the sparsifier, and the draw of labels that are held out.
    progress : bool or callable
    """
    code, n_classes = labels.code, labels.classes.size
    held_out = np.zeros(code.size, dtype=bool)
    if code.size > few:
        rng = np.random.default_rng(random_state)
        n_held_out = min(code.size // 8, _MOST_HELD_OUT)
        held_out[rng.choice(code.size, n_held_out, replace=False)] = True
    tally = Tally(code, n_classes, per_node=code.size <= few)
    stream = StreamSparsifier(**budget._asdict(), random_state=random_state)
    numbering = Numbering()
    label = np.zeros(0, dtype=np.int64)
    spare, n_seen = [], 0  # all edges, while they still fit
    with reporter(progress, "labeling") as report:
        for batch in source:
            tail, head, n_nodes = numbering.apply(batch)
            if n_nodes > label.size:
                new = labels.given.find(numbering.ids, label.size, n_nodes)
                label = np.concatenate([label, new])
                tally.meet(np.where((new >= 0) & held_out[new], -1, new))
            left = tally.absorb(tail, head, batch.weight)
            stream.partial_fit(EdgeList.from_clean(*left, n_nodes))
            n_seen += batch.n_edges
            if spare is not None:
                fits = n_seen <= budget(n_nodes, n_seen)
                spare = [*spare, (tail, head, batch.weight)] if fits else None
            report(n_seen, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    n_nodes = label.size
    ids = np.arange(n_nodes) if numbering.ids is None else np.asarray(numbering.ids)[:n_nodes]
    about = (n_nodes, n_seen, ids, label)
    none = np.zeros(0, dtype=np.int64)
    if spare is not None:
        columns = map(np.concatenate, zip(*spare, strict=True))
        whole = EdgeList.from_clean(*columns, n_nodes, ids)
        return SmallGraph(whole, none, whole, *about, natural_unit(whole))
    rest, n_edges = stream.sparsifier(), budget(n_nodes, n_seen)
    unit = natural_unit(tally.join(rest))
    n_left = max(n_edges - tally.n_edges(), n_edges // 2)
    rest = _discount(rest, min(n_left, rest.n_edges), stream.n_edges_seen_)
    tied = np.flatnonzero(tally.index >= 0)
    untied = None
    if tally.per_node:
        has_few_sums = tally.n_edges() <= n_nodes * n_classes
        untied = _shrink(tally.join(rest, ids), tied, n_edges, random_state)
        if has_few_sums:
            return SmallGraph(untied, none, untied, *about, unit)
        tally.merge_classes()
    leaders = np.arange(n_nodes, n_nodes + n_classes)
    graph = _shrink(tally.join(rest), leaders, n_edges, random_state)
    return SmallGraph(graph, tied, untied, *about, unit)


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


def _discount(rest, n_left, n_seen):
    """`rest` with less weight, the coarser a sparsifier the `n_left` edges make that it may keep.

    At mean degree d, eps is 2 / sqrt(d) at best. Where that is a half or more, the sampled edges
    drown what the exact sums say, and each counts as itself alone, not as all those that it stands
    for: they still carry labels to where no sum does. As eps falls to zero they count in full; in
    between, weights are multiplied by share^min(1, 2 eps), share being that of the edges kept.
    """
    degree = 2 * n_left / max(rest.n_nodes, 1)
    share = min(rest.n_edges / max(n_seen, 1), 1.0)
    weight = rest.weight * share ** min(1.0, 4 / max(degree, 1.0) ** 0.5)
    return EdgeList.from_clean(rest.tail, rest.head, weight, rest.n_nodes, rest.own_ids)


def _shrink(graph, carriers, n_edges, seed):
    """`graph`, thinned to `n_edges` if it has more; edges of nodes that carry labels come first."""
    if graph.n_edges <= n_edges:
        return graph
    names = (np.arange(graph.n_nodes) if graph.own_ids is None else graph.own_ids)[carriers]
    stream = StreamSparsifier(n_edges=n_edges, favored_nodes=names, random_state=seed)
    return stream.partial_fit(graph).sparsifier()


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
