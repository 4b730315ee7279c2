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

from graphsqueak.ssl.stable import MAX_LEVERAGE, Fit, labeled_components, smooth_labels

__all__ = [
    "Round",
    "assign_folds",
    "conformal_sets",
    "fit_without_each",
    "oddness",
    "refit_without_folds",
]

# Each fold is a fit. With more folds a fit misses fewer labels; ten miss a tenth.
MAX_FOLDS = 10
# Bound on the memory of a block of columns that is solved at a time, 240 MB.
MAX_BLOCK_ENTRIES = 30_000_000


class Round(NamedTuple):
    """A fit without some labels: scores (n, C), which nodes it reached, and the labels left out.

    A class that has no label left scores -inf.
    """

    scores: np.ndarray
    reached: np.ndarray
    nodes: np.ndarray
    code: np.ndarray


def assign_folds(n_labels, alpha, max_single, rng):
    """Return the fold of each label: its own for up to `max_single` labels, else one of ten.

    The fewer labels, the fewer folds, since each costs 1 / l of alpha.

    >>> assign_folds(4, 0.1, 64, None)
    array([0, 1, 2, 3])
    >>> np.bincount(assign_folds(200, 0.1, 64, np.random.default_rng(7)))
    array([40, 40, 40, 40, 40])
    """
    if n_labels <= max_single:
        return np.arange(n_labels)
    n_folds = int(np.clip(alpha * n_labels / 4, 2, MAX_FOLDS))
    return rng.permutation(n_labels) % n_folds


def conformal_sets(rounds, alpha):
    """Return which classes stay, shape (n, C): jackknife+ if every round leaves out one label.

    Parameters
    ----------
    rounds : iterable of Round
    alpha : float

    Examples
    --------
    Three labels, left out in turn, scored 0.2 better than the other class; so did x for class 0:

    >>> scores = np.array([[0.1, -0.1]] * 4)
    >>> some = [Round(scores, np.ones(4, bool), np.array([i]), np.array([0])) for i in range(3)]
    >>> conformal_sets(some, 0.3)[3]
    array([ True, False])
    """
    n_as_odd = 0
    n_compared = 0
    p_values = 0.0
    n_rounds = 0
    is_jackknife = True
    for scores, reached, nodes, code in rounds:
        odd = oddness(scores)
        own = np.sort(odd[nodes, code][reached[nodes]])
        # Labels that are at least as odd as each class of each node.
        as_odd = own.size - np.searchsorted(own, odd)
        as_odd[~reached] = nodes.size
        compared = np.where(reached, own.size, nodes.size)[:, None]
        n_as_odd = n_as_odd + as_odd
        n_compared = n_compared + compared
        p_values = p_values + (1 + as_odd) / (1 + compared)
        n_rounds += 1
        is_jackknife &= nodes.size == 1
    if is_jackknife:
        return 1 + n_as_odd > alpha * (1 + n_compared)
    return p_values > alpha * n_rounds


def oddness(scores):
    """Return by how much each class loses: the largest of the other scores minus its own.

    >>> oddness(np.array([[3.0, 1.0, 0.0], [2.0, -np.inf, 2.0]]))
    array([[-2.,  2.,  3.],
           [ 0., inf,  0.]])
    """
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    return np.where(scores == best[:, None], second[:, None], best[:, None]) - scores


def refit_without_folds(refit, labels, folds):
    """Yield a `Round` per fold; refit(labels) returns scores and which nodes it reached."""
    for fold in range(int(folds.max()) + 1):
        is_out = folds == fold
        some, reached = refit(labels.select(~is_out))
        scores = np.full((len(some), labels.classes.size), -np.inf)
        scores[:, np.unique(labels.code[~is_out])] = some
        yield Round(scores, reached, labels.nodes[is_out], labels.code[is_out])


def fit_without_each(graph, labels, alpha, decide, left_out, *, tol=1e-8, random_state=None):
    """Yield a `Round` for each label of `left_out`: exactly the Stable-HFS fit without it.

    A fit without label i is one with i's label set to what that fit predicts for i. On all nodes,
    with M b the minimizer for labels b, and ybar_i the mean of the other labels,

        f without i  =  M y - ybar_i M 1 - (M e_i) (y_i - ybar_i - f_i without i),

    so that one column of one solve per label is enough. alpha stays fixed.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    alpha : float
        l eta.
    decide : callable
        decide(Fit) returns the scores to decide by.
    left_out : array of int
        Indices among the labels.
    tol, random_state
        As in `stable_scores`.
    """
    nodes = labels.nodes
    n_labels = nodes.size
    # M y and M 1, the first columns of the first block.
    rhs = np.column_stack([labels.targets, np.ones(n_labels)])
    n_first = rhs.shape[1]
    rng = np.random.default_rng(random_state)
    width = max(MAX_BLOCK_ENTRIES // graph.n_nodes, 1)
    all_fits = None
    for start in range(0, left_out.size, width):
        block = left_out[start : start + width]
        columns = np.eye(n_labels)[:, block]
        if all_fits is None:
            columns = np.column_stack([rhs, columns])
        values = smooth_labels(graph, nodes, columns, alpha, tol=tol, random_state=rng)
        if all_fits is None:
            all_fits = _LeaveOneOutFits(graph, labels, values[:, :n_first])
            values = values[:, n_first:]
        for index, column in zip(block, values.T, strict=True):
            fit = all_fits.without(index, column)
            scores = decide(fit)
            if np.count_nonzero(labels.code == labels.code[index]) == 1:
                scores[:, labels.code[index]] = -np.inf
            yield Round(scores, fit.reached, nodes[[index]], labels.code[[index]])


class _LeaveOneOutFits:
    """Fits without one label each, by the formula of `fit_without_each`.

    `known` are M y and M 1.
    """

    def __init__(self, graph, labels, known):
        self._nodes = labels.nodes
        self._targets = labels.targets
        self._component = graph.components()
        self._raw = known[:, :-1]
        self._constant = known[:, -1:]
        has_label = labeled_components(self._component, self._nodes)
        own = self._component[self._nodes]
        self._total = np.zeros((has_label.size, self._targets.shape[1]))
        np.add.at(self._total, own, self._targets)
        self._count = np.bincount(own, minlength=has_label.size)
        mean = (self._total / np.maximum(self._count, 1)[:, None])[self._component]
        self._reached = has_label[self._component]
        self._mean = mean

    def without(self, index, column):
        """Return the `Fit` without a label; `column` is M e_i."""
        fit = Fit(self._raw - self._mean * self._constant, self._mean.copy(), self._reached.copy())
        node = self._nodes[index]
        place = self._component[node]
        # Other components do not depend on this label.
        here = np.flatnonzero(self._component == place)
        n_others = self._count[place] - 1
        if n_others == 0:
            fit.centered[here] = 0.0
            fit.reached[here] = False
            return fit
        rest = (self._total[place] - self._targets[index]) / n_others
        target = self._targets[index] - rest
        leverage = column[node]
        free = self._raw[here] - rest * self._constant[here]
        predicted = self._raw[node] - rest * self._constant[node] - leverage * target
        predicted = predicted / max(1 - leverage, 1 - MAX_LEVERAGE)
        fit.offset[here] = rest
        fit.centered[here] = free - column[here, None] * (target - predicted)
        return fit
