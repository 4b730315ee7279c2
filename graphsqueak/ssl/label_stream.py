"""One pass over a stream whose labeled nodes are known beforehand: a small graph to label on.

On a dense graph the useful part of a harmonic function is a small variation on a large constant,
and it enters through the labeled nodes' own edges: a sparsifier, however good its eps, blurs it.
But those edges need not be sampled. If the labeled nodes of one class share one value, all that
matters of their edges is

    t_xc = sum of the weights between x and the labeled nodes of class c,

n C exact numbers, whatever the number of edges. With few labels there is a column for each labeled
node, and nothing is tied together at all. So beside a sparsifier of all edges the sums are kept,
and there are three small graphs:

    plain    the sparsifier alone
    aware    the sums, and the sparsifier's edges between other nodes
    damped   the same, these edges weighing less, the coarser the sparsifier is

Which one is best depends on whether a label says more at its own neighbors or far away. Where nodes
have hardly a labeled neighbor, labels have to travel: "aware" is taken, or "plain" if the sums
would take a third of the budget and leave few edges to travel along. Elsewhere a few labels cannot
tell which one is best, but which ones are bad: each graph is made without some of them, whose nodes
are then classified by it, and those that make clearly more mistakes than another are left out. Of
the others the class shares are averaged: a graph that tells the classes apart has the larger say.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.choice import CHOICE_TOL, best_threshold
from graphsqueak.ssl.stable import stable_scores, unit_of_degrees
from graphsqueak.ssl.tally import Tally
from graphsqueak.system.progress import reporter

__all__ = [
    "FEW_LABELS",
    "Kept",
    "SmallGraph",
    "aware_graph",
    "read_with_labels",
    "small_graphs",
]

FEW_LABELS = 256  # that are tallied one by one
_WAYS = ("damped", "aware", "plain")
_FOLDS, _FEWEST_TO_CHOOSE = 4, 8  # folds of labels, and labels that are enough to choose by
_FEW_AT_A_NODE = 1.8  # labeled neighbors that a node has
_MOST_SUMS = 1 / 3  # of the budget
_ALPHA = 2.0  # l eta in natural units, for all three
_MOST_HELD_OUT = 128  # of more labels: at most so many, and an eighth, stay out to choose eta by


class Kept(NamedTuple):
    """What is left of a stream, within a budget of `n_edges`.

    `ids` and `label` have an entry per node of the stream: its id, and the index of its label among
    those given, or -1. `unit` is `natural_unit` of the stream, `seed` that of all that is drawn.
    """

    plain: EdgeList  # the sparsifier, or all edges
    tally: Tally
    n_seen: int  # edges of the stream
    n_edges: int
    ids: np.ndarray
    label: np.ndarray
    unit: float
    seed: int | None

    @property
    def is_whole(self):
        """Whether all edges are there."""
        return self.plain.n_edges == self.n_seen


class SmallGraph(NamedTuple):
    """Sums and sampled edges together."""

    graph: EdgeList  # with C nodes for the classes at the end if `tied` is not empty
    tied: np.ndarray  # nodes that stand behind their class
    untied: EdgeList | None  # the same with every labeled node by itself, where that is known
    n_nodes: int
    ids: np.ndarray

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
    """Sparsify `source`, and sum the edges at labeled nodes exactly; returns `Kept`.

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
    source, code, n_classes = budget.drawn(source), labels.code, labels.classes.size
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
            tally.absorb(tail, head, batch.weight)
            stream.partial_fit(EdgeList.from_clean(tail, head, batch.weight, n_nodes))
            n_seen += batch.n_edges
            if spare is not None:
                fits = n_seen <= budget(n_nodes, n_seen)
                spare = [*spare, (tail, head, batch.weight)] if fits else None
            report(n_seen, getattr(source, "fraction_read", 1.0), f"kept {stream.n_kept_:,}")
    n_nodes = label.size
    ids = np.arange(n_nodes) if numbering.ids is None else np.asarray(numbering.ids)[:n_nodes]
    if spare is None:
        plain = stream.sparsifier()
        columns = (plain.tail, plain.head, plain.weight)
    else:
        columns = map(np.concatenate, zip(*spare, strict=True))
    plain = EdgeList.from_clean(*columns, n_nodes, ids)
    n_edges, unit = budget(n_nodes, n_seen), unit_of_degrees(stream.degrees_)
    return Kept(plain, tally, n_seen, n_edges, ids, label, unit, random_state)


def aware_graph(kept, *, is_damped=False, without=()):
    """The sums and the sampled edges between other nodes, within the budget: a `SmallGraph`.

    Labels `without` are those of nodes like any other (where each labeled node has its sums).
    """
    plain, tally, seed = kept.plain, kept.tally.without(without), kept.seed
    is_other = tally.index < 0
    both = is_other[plain.tail] & is_other[plain.head]
    rest = EdgeList.from_clean(
        plain.tail[both], plain.head[both], plain.weight[both], plain.n_nodes, kept.ids
    )
    if is_damped:
        n_left = max(kept.n_edges - tally.n_edges(), kept.n_edges // 2)
        share = min(plain.n_edges / max(kept.n_seen, 1), 1.0)
        rest = _discount(rest, min(n_left, rest.n_edges), share)
    about = (plain.n_nodes, kept.ids)
    tied, none, untied = np.flatnonzero(~is_other), np.zeros(0, dtype=np.int64), None
    if tally.per_node:
        untied = _shrink(tally.join(rest, kept.ids), tied, kept.n_edges, seed)
        if len(without) or tally.n_edges() <= plain.n_nodes * tally.n_classes:
            return SmallGraph(untied, none, untied, *about)
        tally = tally.merged()
    leaders = np.arange(plain.n_nodes, plain.n_nodes + tally.n_classes)
    graph = _shrink(tally.join(rest), leaders, kept.n_edges, seed)
    return SmallGraph(graph, tied, untied, *about)


def small_graphs(kept, labels):
    """What to label on, one or more of the three: sparsifiers, or a `SmallGraph`."""
    if kept.is_whole:
        return [kept.plain]
    if labels.nodes.size * 2 * kept.n_seen < _FEW_AT_A_NODE * kept.plain.n_nodes**2:
        is_crowded = kept.tally.n_edges() > _MOST_SUMS * kept.n_edges
        return [kept.plain if is_crowded else aware_graph(kept)]
    counts, ways = np.bincount(labels.code), _WAYS
    if labels.nodes.size >= _FEWEST_TO_CHOOSE and counts.min() >= 2:
        hold_out = _score_folds if kept.tally.per_node else _score_held_out
        prior = counts / counts.sum() - 1 / counts.size
        mistakes = {}
        for way in _WAYS:
            scores, code = hold_out(kept, labels, way)
            mistakes[way] = best_threshold(scores, code, prior, "auto")[1]
        ways = _not_clearly_worse(mistakes)
    return [
        kept.plain if way == "plain" else aware_graph(kept, is_damped=way == "damped")
        for way in ways
    ]


def _not_clearly_worse(mistakes):
    """Ways whose mistakes are as few as those of the best, but for the noise of counting.

    >>> _not_clearly_worse({"damped": 5, "aware": 7, "plain": 9})
    ['damped', 'aware']
    """
    least = min(mistakes.values())
    return [way for way, n in mistakes.items() if n <= least + 1 + np.sqrt(least)]


def _score_folds(kept, labels, way):
    """Scores of labeled nodes, without a quarter of the labels at a time, and their classes."""
    rng, n_labels = np.random.default_rng(kept.seed), labels.nodes.size
    shuffled, fold = rng.permutation(n_labels), np.empty(n_labels, dtype=np.int64)
    fold[shuffled[np.argsort(labels.code[shuffled], kind="stable")]] = np.arange(n_labels) % _FOLDS
    scores, one_hot = np.zeros((n_labels, labels.classes.size)), labels.one_hot()
    for out in (fold == number for number in range(_FOLDS)):
        graph = kept.plain
        if way != "plain":
            given = kept.label[labels.nodes[out]]
            graph = aware_graph(kept, is_damped=way == "damped", without=given).graph
        scores[out] = _scores_at(
            labels.nodes[out], graph, labels.nodes[~out], one_hot[~out], kept.unit, rng
        )
    return scores, labels.code


def _score_held_out(kept, labels, way):
    """The same with many labels, at those that no class has in its sums."""
    rng, one_hot = np.random.default_rng(kept.seed), np.eye(labels.classes.size)
    small = aware_graph(kept, is_damped=way == "damped")
    tie = small.tie(labels)
    nodes, code, graph, copies = tie.leaders, tie.present, small.graph, tie.copies
    if way == "plain":
        nodes, code = labels.nodes[~tie.is_free], labels.code[~tie.is_free]
        graph, copies = kept.plain, None
    scores = _scores_at(tie.free, graph, nodes, one_hot[code], kept.unit, rng, copies=copies)
    return scores, labels.code[tie.is_free]


def _scores_at(asked, graph, nodes, targets, unit, rng, copies=None):
    fit = stable_scores(
        graph, nodes, targets, _ALPHA * unit, copies=copies, tol=CHOICE_TOL, random_state=rng
    )
    return fit.centered[asked]


def _discount(rest, n_left, share):
    """`rest` with less weight, the coarser a sparsifier the `n_left` edges make that it may keep.

    At mean degree d, eps is 2 / sqrt(d) at best. Where that is a half or more, the sampled edges
    drown what the exact sums say, and each counts as itself alone, not as all those that it stands
    for: they still carry labels to where no sum does. As eps falls to zero they count in full; in
    between, weights are multiplied by share^min(1, 2 eps), share being that of the edges kept.
    """
    degree = 2 * n_left / max(rest.n_nodes, 1)
    weight = rest.weight * share ** min(1.0, 4 / max(degree, 1.0) ** 0.5)
    return EdgeList.from_clean(rest.tail, rest.head, weight, rest.n_nodes, rest.own_ids)


def _shrink(graph, carriers, n_edges, seed):
    """`graph`, thinned to `n_edges` if it has more; edges of nodes that carry labels come first."""
    if graph.n_edges <= n_edges:
        return graph
    names = (np.arange(graph.n_nodes) if graph.own_ids is None else graph.own_ids)[carriers]
    stream = StreamSparsifier(n_edges=n_edges, favored_nodes=names, random_state=seed)
    return stream.partial_fit(graph).sparsifier()
