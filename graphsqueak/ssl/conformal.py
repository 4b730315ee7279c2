"""Sets of classes that hold the true one as often as promised: jackknife+ and folds of p-values.

Let the labeled nodes S be drawn at random, and x be another node at random. How odd a class c is at
x, by a fit to the labels T alone, is the margin by which c loses there:

    s_T(x, c) = (largest score of the other classes) - (score of c).

*Jackknife+*. Each of the l labels i is left out in turn, T = S - i, and c stays in the set of x if

    1 + #{ i : s_T(i, y_i) >= s_T(x, c) }  >  alpha (1 + l).

*Folds*. With many labels a fold of them is left out at a time. Fold k gives a p-value,
p_k = (1 + #{ i in k : s_T(i, y_i) >= s_T(x, c) }) / (1 + |k|), and c stays if the mean of the
p-values is above alpha.

Either way x's own class stays with probability 1 - 2 alpha at least: the proof for jackknife+
[BCRT21, Theorem 1; RSC20, Theorem 2] asks only that a fit treats all nodes alike that it knows no
label of, and twice the mean of p-values is a p-value, however they depend on each other [VW20].
Hence a fit without label i must not know it in any way: eta is fixed, chosen within T, or chosen by
labels that are never left out; the graph was not sampled by the labels, or is sampled anew.

A node that T does not reach has no score. Among the nodes that S reaches the promise holds as well:
i counts only where it is reached without its own label, unless x and i are alone in a component,
where they cannot be told apart. Both proofs go through, with l the number of those that count.

References
----------
[BCRT21] Barber, Candes, Ramdas, Tibshirani. Predictive inference with the jackknife+. Annals of
         Statistics 49, 2021.
[RSC20]  Romano, Sesia, Candes. Classification with valid and adaptive coverage. NeurIPS 2020.
[VW20]   Vovk, Wang. Combining p-values via averaging. Biometrika 107, 2020.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.labels import ClassLabels
from graphsqueak.ssl.stable import Fit, labeled_components, smooth_labels

__all__ = [
    "Round",
    "assign_folds",
    "conformal_sets",
    "fit_without_each",
    "oddness",
    "refit_without_folds",
]

_MOST_FOLDS = 10
_CLOSEST = 1e-6  # of a label's own weight in its fit to one
_MOST_ENTRIES = 30_000_000  # of columns that are solved for at a time


class Round(NamedTuple):
    """A fit without some labels: scores (n, C) of all nodes, which it reached, who was left out.

    A class that has no label left scores -inf.
    """

    scores: np.ndarray
    reached: np.ndarray
    nodes: np.ndarray
    code: np.ndarray


def assign_folds(n_labels, alpha, most, rng):
    """The fold of each label: its own for up to `most` labels, else one of at most ten.

    The fewer labels, the fewer folds, since each costs 1 / l of alpha.

    >>> assign_folds(4, 0.1, 64, None)
    array([0, 1, 2, 3])
    >>> np.bincount(assign_folds(200, 0.1, 64, np.random.default_rng(7)))
    array([40, 40, 40, 40, 40])
    """
    if n_labels <= most:
        return np.arange(n_labels)
    n_folds = int(np.clip(alpha * n_labels / 4, 2, _MOST_FOLDS))
    return rng.permutation(n_labels) % n_folds


def conformal_sets(rounds, alpha):
    """Which classes stay, shape (n, C), by jackknife+ if every `Round` leaves out one label.

    Parameters
    ----------
    rounds : iterable of Round
    alpha : float

    Examples
    --------
    Three labels, left out in turn, scored .2 better than the other class; so did x for class 0:

    >>> scores = np.array([[0.1, -0.1]] * 4)
    >>> some = [Round(scores, np.ones(4, bool), np.array([i]), np.array([0])) for i in range(3)]
    >>> conformal_sets(some, 0.3)[3]
    array([ True, False])
    """
    alike, compared, p_values, n_rounds, one_by_one = 0, 0, 0.0, 0, True
    for scores, reached, nodes, code in rounds:
        odd, counts = oddness(scores), reached[nodes]
        own = np.sort(odd[nodes, code][counts])
        as_odd = own.size - np.searchsorted(own, odd)
        as_odd[~reached] = nodes.size
        among = np.where(reached, own.size, nodes.size)[:, None]
        alike, compared = alike + as_odd, compared + among
        p_values, n_rounds = p_values + (1 + as_odd) / (1 + among), n_rounds + 1
        one_by_one &= nodes.size == 1
    if one_by_one:
        return 1 + alike > alpha * (1 + compared)
    return p_values > alpha * n_rounds


def oddness(scores):
    """By how much each class loses: the largest of the other scores minus its own.

    >>> oddness(np.array([[3.0, 1.0, 0.0], [2.0, -np.inf, 2.0]]))
    array([[-2.,  2.,  3.],
           [ 0., inf,  0.]])
    """
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    return np.where(scores == best[:, None], second[:, None], best[:, None]) - scores


def refit_without_folds(refit, labels, folds):
    """A `Round` for every fold, by refit(labels), which gives scores and which nodes it reached."""
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        seen, code = np.unique(labels.code[~out], return_inverse=True)
        weight = None if labels.weight is None else labels.weight[~out]
        left = ClassLabels(labels.nodes[~out], code, labels.classes[seen], weight)
        some, reached = refit(left)
        scores = np.full((len(some), labels.classes.size), -np.inf)
        scores[:, seen] = some
        yield Round(scores, reached, labels.nodes[out], labels.code[out])


def fit_without_each(graph, labels, alpha, decide, left_out, *, tol=1e-8, random_state=None):
    """A `Round` for each label of `left_out`: exactly what Stable-HFS gives without it.

    A fit without label i is one with i's label put to what that fit predicts for i. Seen from all
    nodes, with M b the minimizer for labels b, and ybar_i the mean of the other labels,

        f without i  =  M y - ybar_i M 1 - (M e_i) (y_i - ybar_i - f_i without i),

    so that a column of one solve per label is all it takes. alpha stays fixed.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    alpha : float
        l eta.
    decide : callable
        decide(Fit) gives the scores to decide by.
    left_out : array of int
        Indices among the labels.
    tol, random_state
        As of `stable_scores`.
    """
    nodes, targets, component = labels.nodes, labels.one_hot(), graph.components()
    own, has_label = component[nodes], labeled_components(component, nodes)
    total = np.zeros((has_label.size, targets.shape[1]))
    np.add.at(total, own, targets)
    count = np.bincount(own, minlength=has_label.size)[:, None]
    mean = (total / np.maximum(count, 1))[component]
    is_last = np.bincount(labels.code)[labels.code] == 1
    rng, width = np.random.default_rng(random_state), max(_MOST_ENTRIES // graph.n_nodes, 1)
    rhs, known = np.column_stack([targets, np.ones(nodes.size)]), None
    for start in range(0, left_out.size, width):
        block = left_out[start : start + width]
        rhs = np.column_stack([rhs, np.eye(nodes.size)[:, block]])
        values = smooth_labels(graph, nodes, rhs, alpha, tol=tol, random_state=rng)
        if known is None:
            known, values = values[:, : -block.size], values[:, -block.size :]
            raw, constant, rhs = known[:, :-1], known[:, -1:], np.zeros((nodes.size, 0))
            whole = Fit(raw - mean * constant, mean, has_label[component])
        for index, column in zip(block, values.T, strict=True):
            place = own[index]
            fit = Fit(*(part.copy() for part in whole))
            here, others = np.flatnonzero(component == place), count[place] - 1
            if others == 0:
                fit.centered[here], fit.reached[here] = 0.0, False
            else:
                fit.offset[here] = rest = (total[place] - targets[index]) / others
                aim, leverage = targets[index] - rest, column[nodes[index]]
                free = raw[here] - rest * constant[here]
                guess = raw[nodes[index]] - rest * constant[nodes[index]] - leverage * aim
                moved = aim - guess / max(1 - leverage, _CLOSEST)
                fit.centered[here] = free - column[here, None] * moved
            scores = decide(fit)
            if is_last[index]:
                scores[:, labels.code[index]] = -np.inf
            yield Round(scores, fit.reached, nodes[[index]], labels.code[[index]])
