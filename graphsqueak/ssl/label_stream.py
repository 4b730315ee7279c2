"""One pass over a stream whose labeled nodes are known beforehand: a small graph to label on.

On a dense graph the useful part of a harmonic function is a small variation on a large constant,
and it enters through the labeled nodes' own edges: a sparsifier, however good its eps, blurs it.
But those edges need not be sampled. The sums of the weights between each node and the labeled nodes
are few, and exact; beside the budget, as many are held as the budget has edges, or n C, and where
they are more, labeled nodes of one class are tied together (`Tally`). With the sparsifier's edges
between other nodes they make two small graphs:

    aware    all edges count in full: unbiased, and less noisy than the sparsifier at every label
    damped   edges between other nodes weigh less, the coarser the sparsifier is

Where nodes have hardly a labeled neighbor, labels have to travel along the sampled edges, and
"aware" is taken. Elsewhere damped edges drown less of what the sums say, and may carry too little:
the scores of both are added, as a logistic regression does that tells best the classes of labels
which were kept out of the graphs. That is stacking [Wol92]; least squares would look at the size of
scores rather than at their order, and labels that are right and timid would lose.

References
----------
[Wol92] Wolpert. Stacked generalization. Neural Networks 5, 1992.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from graphsqueak.graph.edge_list import EdgeList
from graphsqueak.graph.id_arrays import as_permutation, first_ids
from graphsqueak.nodes.numbering import Numbering
from graphsqueak.sparsifiers.stream.stream_sparsifier import StreamSparsifier
from graphsqueak.ssl.choice import CHOICE_TOL
from graphsqueak.ssl.stable import stable_scores, unit_of_degrees
from graphsqueak.ssl.tally import Tally
from graphsqueak.system.progress import reporter

__all__ = [
    "Kept",
    "Tie",
    "aware_graph",
    "read_with_labels",
    "small_graphs",
]

_FOLDS, _FEWEST_TO_CHOOSE = 4, 8  # folds of labels, and labels that are enough to choose by
_FEW_AT_A_NODE = 1.8  # labeled neighbors that a node has
_ALPHA = 2.0  # l eta in natural units, where labels are kept out
_PENALTY = 0.01  # on the squared weights of scores, so that equals share
_MOST_ALONE = 128  # labels, and at most a quarter of all, that are never tied to others


class Kept(NamedTuple):
    """What is left of a stream.

    `label` has an entry per node of `plain`: the index of its label among those given, or -1. Nodes
    are numbered by id if the ids are exactly 0, ..., n - 1 (`alignment`), else as they appear.
    `unit` is `natural_unit` of the stream, `seed` that of all that is drawn.
    """

    plain: EdgeList  # the sparsifier, or all edges
    tally: Tally
    n_seen: int  # edges of the stream
    label: np.ndarray
    unit: float
    seed: int | None

    @property
    def is_whole(self):
        """Whether all edges are there."""
        return self.plain.n_edges == self.n_seen


class Tie(NamedTuple):
    """Labeled nodes that share the value of their leader, and those that are by themselves."""

    is_alone: np.ndarray  # of every label
    leaders: np.ndarray  # nodes, and of each its class
    classes: np.ndarray
    copies: np.ndarray  # how many nodes each node stands for
    leader: np.ndarray  # of every node: whose value it has

    @classmethod
    def of(cls, tally, labels):
        """Who follows whom in sums that are tied."""
        is_alone = tally.alone[tally.index[labels.nodes]]
        leaders, first = np.unique(tally.leader[labels.nodes[~is_alone]], return_index=True)
        copies = np.bincount(tally.leader, minlength=tally.leader.size).astype(np.float64)
        return cls(is_alone, leaders, labels.code[~is_alone][first], copies, tally.leader)


def read_with_labels(source, labels, budget, *, random_state=None, progress=False):
    """Sparsify `source`, and sum the edges at labeled nodes exactly; returns `Kept`.

    Parameters
    ----------
    source : EdgeList or EdgeSource
    labels : EncodedLabels
    budget : Budget
        Edges to hold, and sums beside them.
    random_state : int or None
        Seeds the sparsifier, and the draw of labels that are never tied.
    progress : bool or callable
    """
    source, code, n_classes = budget.sample_source(source), labels.code, labels.classes.size
    alone, rng = np.zeros(code.size, dtype=bool), np.random.default_rng(random_state)
    alone[rng.choice(code.size, min(code.size // 4, _MOST_ALONE), replace=False)] = True

    def room(n_nodes, n_seen):
        return max(budget(n_nodes, n_seen), n_nodes * n_classes)

    tally = Tally(code, n_classes, alone, room)
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
                tally.meet(new)
            tally.absorb(tail, head, batch.weight)
            stream.partial_fit(EdgeList.from_validated(tail, head, batch.weight, n_nodes))
            n_seen += batch.n_edges
            if spare is not None:
                fits = n_seen <= budget(n_nodes, n_seen)
                spare = [*spare, (tail, head, batch.weight)] if fits else None
            report(n_seen, source.fraction_read, f"kept {stream.n_kept_:,}")
    tally.settle()
    n_nodes = label.size
    ids = first_ids(numbering.ids, n_nodes)
    if spare is None:
        plain = stream.sparsifier(n_edges=stream.budget_)
        columns = (plain.tail, plain.head, plain.weight)
    else:
        columns = map(np.concatenate, zip(*spare, strict=True))
    plain = EdgeList.from_validated(*columns, n_nodes, ids)
    numbers = as_permutation(ids, n_nodes)
    if numbers is not None:
        plain = plain.in_id_order()
        label = label[np.argsort(numbers)]
        tally.renumber(numbers)
    unit = unit_of_degrees(stream.degrees_)
    return Kept(plain, tally, n_seen, label, unit, random_state)


def aware_graph(kept, *, is_damped=False, without=()):
    """The sums, and the sampled edges between other nodes.

    Labels `without`, none of them tied, are those of nodes like any other.
    """
    plain, tally = kept.plain, kept.tally.without(without)
    is_other = tally.index < 0
    both = is_other[plain.tail] & is_other[plain.head]
    tail, head, weight = plain.tail[both], plain.head[both], plain.weight[both]
    if is_damped:
        weight = _discount(weight, plain.n_nodes, plain.n_edges / max(kept.n_seen, 1))
    sums = tally.edges(plain.n_nodes)
    pairs = ((tail, sums.tail), (head, sums.head), (weight, sums.weight))
    return EdgeList.from_validated(*map(np.concatenate, pairs), plain.n_nodes, plain.node_ids)


def small_graphs(kept, labels):
    """What to label on, and how much the scores of each count, in units of their own spread."""
    if kept.is_whole:
        return [(kept.plain, 1.0)]
    if labels.nodes.size * 2 * kept.n_seen < _FEW_AT_A_NODE * kept.plain.n_nodes**2:
        return [(aware_graph(kept), 1.0)]
    ways = zip((False, True), _stacking_weights(kept, labels), strict=True)
    return [(aware_graph(kept, is_damped=way), float(weight)) for way, weight in ways if weight > 0]


def _stacking_weights(kept, labels):
    """Weights of aware and damped by which labels that are kept out are told best."""
    folds, counts = _folds(kept, labels), np.bincount(labels.code)
    if np.sum(folds) < _FEWEST_TO_CHOOSE or counts.min() < 2:
        return np.ones(2)
    scores = [_score_folds(kept, labels, folds, is_damped=way) for way in (False, True)]
    scores = np.stack([score / max(np.sqrt(np.mean(score**2)), 1e-300) for score in scores])
    code = np.concatenate([labels.code[out] for out in folds])
    own = scores[:, np.arange(code.size), code].sum(axis=1)

    def loss(weight):
        logs = log_softmax(np.tensordot(weight, scores, 1), axis=1)
        slope = np.einsum("klc,lc->k", scores, np.exp(logs)) - own
        fit = -logs[np.arange(code.size), code].sum()
        return fit + _PENALTY * weight @ weight, slope + 2 * _PENALTY * weight

    weight = minimize(loss, np.ones(2), jac=True, bounds=[(0.0, None)] * 2).x
    return weight if weight.any() else np.ones(2)


def _folds(kept, labels):
    """Labels to keep out of a graph at a time, as masks: a quarter of all, or those never tied."""
    n_labels = labels.nodes.size
    if kept.tally.is_tied:
        return [kept.tally.alone[kept.label[labels.nodes]]]
    shuffled = np.random.default_rng(kept.seed).permutation(n_labels)
    fold = np.empty(n_labels, dtype=np.int64)
    fold[shuffled[np.argsort(labels.code[shuffled], kind="stable")]] = np.arange(n_labels) % _FOLDS
    return [fold == number for number in range(_FOLDS)]


def _score_folds(kept, labels, folds, *, is_damped):
    """Scores of the labels that are kept out, fold by fold."""
    rng, one_hot, scores = np.random.default_rng(kept.seed), labels.one_hot(), []
    for out in folds:
        graph = aware_graph(kept, is_damped=is_damped, without=kept.label[labels.nodes[out]])
        nodes, targets, copies = labels.nodes[~out], one_hot[~out], None
        if kept.tally.is_tied:
            tie = Tie.of(kept.tally, labels)
            nodes, targets, copies = tie.leaders, np.eye(one_hot.shape[1])[tie.classes], tie.copies
        about = {"copies": copies, "tol": CHOICE_TOL, "random_state": rng}
        fit = stable_scores(graph, nodes, targets, _ALPHA * kept.unit, **about)
        scores.append(fit.centered[labels.nodes[out]])
    return np.concatenate(scores)


def _discount(weight, n_nodes, share):
    """Weights of sampled edges, smaller the coarser a sparsifier they make.

    At mean degree d, eps is 2 / sqrt(d) at best. Where that is a half or more, the sampled edges
    drown what the exact sums say, and each counts as itself alone, not as all those that it stands
    for: they still carry labels to where no sum does. As eps falls to zero they count in full; in
    between, weights are multiplied by share^min(1, 2 eps), share being that of the edges kept.
    """
    degree = 2 * weight.size / max(n_nodes, 1)
    return weight * share ** min(1.0, 4 / max(degree, 1.0) ** 0.5)
