"""Conformal prediction sets: classes per node, among which the true one is with high probability.

Let the labeled nodes S be drawn at random, and let x be another node at random. The nonconformity
of class c at x, by a fit to the labels T alone, is the margin by which c loses:

    s_T(x, c) = (largest score of the other classes) - (score of c).

*Jackknife+.* Each of the l labels i is left out in turn, T = S - i, and c is in the set of x if

    1 + #{ i : s_T(i, y_i) >= s_T(x, c) }  >  alpha (1 + l).

*Folds.* With many labels, a fold of them is left out at a time. Fold k gives a p-value,
p_k = (1 + #{ i in k : s_T(i, y_i) >= s_T(x, c) }) / (1 + |k|), and c is in the set if the mean of
the p-values is above alpha.

Either way, the true class is in the set with probability at least 1 - 2 alpha. For jackknife+ the
proof [BCRT21, Theorem 1; RSC20, Theorem 2] assumes only that a fit treats all nodes alike whose
label it does not use. For folds, twice the mean of p-values is a p-value, however they depend on
each other [VW20]. Therefore a fit without label i must not depend on it in any way: eta is fixed,
or selected by the labels in T, or by labels that are never left out; the graph was not sampled by
the labels, or is sampled again.

*Components.* A node in a component without a label of T has no score. Among the nodes that have a
label of S in their component the same guarantee holds, if i counts only where it has a score
without its own label, unless x and i are in a component with no other label, where they cannot be
distinguished. Both proofs hold with l the number of labels that count.

References
----------
[BCRT21] Barber, Candes, Ramdas, Tibshirani. Predictive inference with the jackknife+. Annals of
         Statistics 49, 2021.
[RSC20]  Romano, Sesia, Candes. Classification with valid and adaptive coverage. NeurIPS 2020.
[VW20]   Vovk, Wang. Combining p-values via averaging. Biometrika 107, 2020.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums
from graphsqueak.ssl.stable import MAX_LEVERAGE, Fit, StableSystem

__all__ = [
    "Round",
    "assign_folds",
    "conformal_sets",
    "fit_without_each",
    "nonconformity",
    "refit_without_folds",
]


class Round(NamedTuple):
    """A fit without some of the labels.

    Attributes
    ----------
    scores : array of shape (n_nodes, C)
        -inf for a class without a label in the fit.
    has_label : array of bool, shape (n_nodes,)
        Whether a label of the fit is in the node's component.
    nodes, code : arrays of int
        The labels that were left out.
    """

    scores: np.ndarray
    has_label: np.ndarray
    nodes: np.ndarray
    code: np.ndarray


def assign_folds(n_labels, alpha, max_single, rng, *, max_folds=10):
    """Return the fold of each label: its own for up to `max_single` labels, else one of a few.

    With fewer labels there are fewer folds: the p-values of a fold of k labels are multiples of
    1 / (1 + k), which must be small compared with alpha.

    >>> assign_folds(4, 0.1, 64, None)
    array([0, 1, 2, 3])
    >>> np.bincount(assign_folds(200, 0.1, 64, np.random.default_rng(7)))
    array([40, 40, 40, 40, 40])
    """
    if n_labels <= max_single:
        return np.arange(n_labels)
    n_folds = int(np.clip(alpha * n_labels / 4, 2, max_folds))
    # Sizes differ by one label at most.
    return rng.permutation(n_labels) % n_folds


def conformal_sets(rounds, alpha):
    """Return which classes are in the set of each node, shape (n_nodes, C).

    Parameters
    ----------
    rounds : iterable of Round
        Jackknife+ if every round leaves out one label, otherwise the mean of p-values.
    alpha : float

    Examples
    --------
    Three labels, left out in turn, have scores 0.2 better than the other class, and so does class 0
    of the fourth node:

    >>> scores = np.array([[0.1, -0.1]] * 4)
    >>> has_label = np.ones(4, dtype=bool)
    >>> rounds = [Round(scores, has_label, np.array([i]), np.array([0])) for i in range(3)]
    >>> conformal_sets(rounds, 0.3)[3]
    array([ True, False])
    """
    n_at_least = 0
    n_compared = 0
    p_values = 0.0
    n_rounds = 0
    is_jackknife = True
    for scores, has_label, nodes, code in rounds:
        # s_T(x, c) for all nodes and classes.
        margin = nonconformity(scores)
        left_out = np.sort(margin[nodes, code][has_label[nodes]])
        # Left-out labels whose margin is at least that of each class of each node.
        at_least = left_out.size - np.searchsorted(left_out, margin)
        at_least[~has_label] = nodes.size
        compared = np.where(has_label, left_out.size, nodes.size)[:, None]
        n_at_least = n_at_least + at_least
        n_compared = n_compared + compared
        p_values = p_values + (1 + at_least) / (1 + compared)
        n_rounds += 1
        is_jackknife &= nodes.size == 1
    if is_jackknife:
        return 1 + n_at_least > alpha * (1 + n_compared)
    return p_values > alpha * n_rounds


def nonconformity(scores):
    """Return the margin by which each class loses: the largest of the other scores minus its own.

    >>> nonconformity(np.array([[3.0, 1.0, 0.0], [2.0, -np.inf, 2.0]]))
    array([[-2.,  2.,  3.],
           [ 0., inf,  0.]])
    """
    if scores.shape[1] == 1:
        return np.full(scores.shape, -np.inf)
    second, best = np.partition(scores, -2, axis=1)[:, -2:].T
    largest_other = np.where(scores == best[:, None], second[:, None], best[:, None])
    return largest_other - scores


def refit_without_folds(refit, labels, folds):
    """Yield a `Round` per fold.

    Parameters
    ----------
    refit : callable
        refit(labels) returns scores (n_nodes, C), and which nodes are in a component with a label.
    labels : ClassLabels
    folds : array of int, shape (l,)
    """
    for fold in range(int(folds.max()) + 1):
        is_out = folds == fold
        fold_scores, has_label = refit(labels.select(~is_out))
        scores = np.full((len(fold_scores), labels.classes.size), -np.inf)
        scores[:, np.unique(labels.code[~is_out])] = fold_scores
        yield Round(scores, has_label, labels.nodes[is_out], labels.code[is_out])


def fit_without_each(
    graph,
    labels,
    alpha,
    decide,
    left_out,
    *,
    max_block_entries=30_000_000,
    tol=1e-8,
    random_state=None,
):
    """Yield a `Round` for each label of `left_out`: exactly the Stable-HFS fit without it.

    A fit without label i is one with i's label set to what that fit predicts for i. On all nodes,
    with M b the minimizer for labels b, and ybar_i the mean of the other labels,

        f without i  =  M y - ybar_i M 1 - (M e_i) (y_i - ybar_i - f_i without i),

    so that each label takes one column of one solve. alpha is the same for all fits.

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
    max_block_entries : int
        Largest size of a block of right-hand sides that are solved together (8 bytes per entry).
    tol, random_state
        As in `stable_scores`.
    """
    component = graph.components()
    system = StableSystem(component, labels, alpha)
    solver = LaplacianSolver(graph, ridge=system.ridge, tol=tol, random_state=random_state)
    # M y and M 1.
    raw, constant = system.constrain(solver.solve(system.right_side(labels.targets)))
    component_of_label = component[labels.nodes]
    n_in_component = np.bincount(component_of_label)
    total = component_sums(component_of_label, len(system.mean), labels.targets)
    is_only_of_class = np.bincount(labels.code)[labels.code] == 1
    unit = np.eye(labels.nodes.size)
    width = max(max_block_entries // graph.n_nodes, 1)
    for start in range(0, left_out.size, width):
        block = left_out[start : start + width]
        columns, _ = system.constrain(solver.solve(system.right_side(unit[:, block])))
        for index, column in zip(block, columns.T, strict=True):
            node = labels.nodes[[index]]
            target = labels.targets[index]
            of_label = component_of_label[index]
            n_others = n_in_component[of_label] - 1
            mean = system.mean.copy()
            mean[of_label] = (total[of_label] - target) / max(n_others, 1)
            offset = mean[component]
            # M (y - ybar_i), and f_i without i.
            centered = raw - offset * constant
            leverage = column[node[0]]
            residual = target - mean[of_label]
            predicted = centered[node] - leverage * residual
            predicted /= max(1 - leverage, 1 - MAX_LEVERAGE)
            # M e_i is zero in other components, which do not depend on this label.
            centered -= column[:, None] * (residual - predicted)
            has_label = system.has_label
            if n_others == 0:
                has_label = has_label & (component != of_label)
                centered[~has_label] = 0.0
            scores = decide(Fit(centered, offset, has_label))
            if is_only_of_class[index]:
                scores[:, labels.code[index]] = -np.inf
            yield Round(scores, has_label, node, labels.code[[index]])
