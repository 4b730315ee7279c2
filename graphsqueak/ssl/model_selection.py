"""Model selection of Stable-HFS by leave-one-out: eta, and the weight of the class prior.

*eta.* What matters is alpha = l eta. In units of 1 / (mean degree), in which rescaling all weights
changes nothing, alpha = 2 suits classes on every graph and for any number of labels. (Selecting
among 0.2, 2 and 20 by leave-one-out took another value in none of 540 fits to ten graphs, with and
without wrong labels.) Regression takes the alpha with the least squared leave-one-out error,

    min over alpha of   sum_S s_i (f_i + ybar_i - y_i)^2,

f_i and ybar_i fitted without label i and s_i its sample weight.

*The prior weight t.* Decisions are made on centered scores, f + t (m - 1/C) with m the class means.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 gives the uncentered f + ybar. t is selected by the labeled nodes that are misclassified
without their own labels (`decisions.thresholds`). Fewer than four labels per class are too few.

*Component means.* Centered scores f sum to zero over every component, and do not show that a class
has most of the labels of a component. If there are many components, f + (m - mean of all labels) is
better, which does; in a connected graph this is f. If nearly all nodes are in one component, its m
differs from the mean of all labels by noise only, which may exceed f. The means are therefore added
if the labels that are left out are then misclassified less often, by more than one standard error.
Of 180 fits to nine graphs with several components, 26 add them: accuracy is 1.4 points higher on
average over the 180, and 9.4 lower in the worst fit. With two standard errors, it is 0.8 higher and
never lower.

Leave-one-out scores have a closed form (`stable`). They come from any `HFSSolver`.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.decisions.thresholds import select_prior_weight
from graphsqueak.validation import check_real

__all__ = [
    "MIN_LOO_LABELS",
    "Selection",
    "eta_for_classes",
    "etas_for_values",
    "select_for_classes",
    "select_for_values",
]

# l eta in units of 1 / (mean degree). The first is that of classifiers; halved or doubled, accuracy
# over ten graphs changes by less than 0.1 points. All are candidates for regressors, since the
# noise of values varies more than that of classes.
ALPHAS = (2.0, 0.1, 30.0, 300.0)
# Number of scores without own labels that are needed to select anything for values or two classes;
# for more classes, half of it per class. On seven graphs with 5 and 20 labels per class and six
# seeds, halved: the same accuracy; doubled: 0.1 points lower on average, and from 8 lower to 6
# higher with 5 labels of each of two classes.
MIN_LOO_LABELS = 8
# Rounding of the mean of labels that are all of one class.
ONE_CLASS_TOL = 1e-9


class Selection(NamedTuple):
    """The parameters that were selected, and the labeled nodes by which they were.

    Attributes
    ----------
    eta, prior_weight : float
    loo_scores : array of float, shape (k, C)
        Scores of labeled nodes without their own labels, before a prior is added: centered, or the
        means of the labels minus 1/C in a component whose other labels are of one class. Empty if
        they were too few.
    code : array of int, shape (k,)
        Classes of these nodes.
    sample_weight : array of float, shape (k,)
        Weights of these nodes, in units of the mean weight of all labels.
    is_mixed : array of bool, shape (k,)
        Whether the other labels of the node's component are of several classes, so that the
        decision depends on prior weight and threshold.
    can_select : bool
        Whether these are enough to select prior weight and threshold by.
    adds_means : bool
        Whether the class means of a component, minus those of all labels, are added to its
        centered scores; `loo_scores` include them.
    """

    eta: float
    prior_weight: float
    loo_scores: np.ndarray
    code: np.ndarray
    sample_weight: np.ndarray
    is_mixed: np.ndarray
    can_select: bool
    adds_means: bool


def eta_for_classes(eta, inv_mean_degree, n_labels):
    """Return the eta of a classifier: the given one, or that by the mean degree."""
    if eta == "auto":
        return ALPHAS[0] * inv_mean_degree / n_labels
    return check_real("eta", eta, above=0.0, below=np.inf)


def select_for_classes(solver, labels, *, eta, prior_weight):
    """Select the prior weight of a classifier; parameters that are given are kept.

    Parameters
    ----------
    solver : HFSSolver
    labels : ClassLabels
    eta, prior_weight : float or "auto"

    Returns
    -------
    Selection
    """
    code = labels.code
    n_classes = labels.classes.size
    unselected = Selection(
        eta=eta_for_classes(eta, solver.inv_mean_degree, code.size),
        prior_weight=0.0 if prior_weight == "auto" else prior_weight,
        loo_scores=np.zeros((0, n_classes)),
        code=np.zeros(0, dtype=np.int64),
        sample_weight=np.zeros(0),
        is_mixed=np.zeros(0, dtype=bool),
        can_select=False,
        adds_means=False,
    )
    counts = np.bincount(code, minlength=n_classes)
    # The only label of a class cannot be predicted without itself.
    has_other = counts[code] > 1
    if np.count_nonzero(has_other) < MIN_LOO_LABELS:
        return unselected
    scores, mean, mean_of_all = solver.loo(unselected.eta)
    is_valid = np.isfinite(scores[:, 0]) & has_other
    if np.count_nonzero(is_valid) < MIN_LOO_LABELS:
        return unselected
    weight = np.ones(code.size)
    if labels.sample_weight is not None:
        weight = labels.sample_weight / labels.sample_weight.mean()
    prior = np.bincount(code, weight, n_classes) / code.size - 1 / n_classes
    # Means of weighted labels are rounded.
    is_mixed = mean[is_valid].max(axis=1) < 1 - ONE_CLASS_TOL
    n_needed = max(MIN_LOO_LABELS, MIN_LOO_LABELS // 2 * n_classes)
    found = unselected._replace(
        loo_scores=np.where(is_mixed[:, None], scores[is_valid], mean[is_valid] - 1 / n_classes),
        code=code[is_valid],
        sample_weight=weight[is_valid],
        is_mixed=is_mixed,
        can_select=np.count_nonzero(is_mixed) >= n_needed,
    )
    if prior_weight != "auto" or not found.can_select:
        return found
    deviation = (mean - mean_of_all)[is_valid] * is_mixed[:, None]
    if _makes_fewer_mistakes(deviation, found):
        found = found._replace(loo_scores=found.loo_scores + deviation, adds_means=True)
    best, _ = select_prior_weight(
        found.loo_scores[is_mixed],
        found.code[is_mixed],
        prior,
        "auto",
        sample_weight=found.sample_weight[is_mixed],
    )
    return found._replace(prior_weight=best)


def _makes_fewer_mistakes(deviation, found):
    """Return whether scores plus `deviation` make fewer mistakes, by more than a standard error."""
    is_wrong = found.loo_scores.argmax(axis=1) != found.code
    is_wrong_with_means = (found.loo_scores + deviation).argmax(axis=1) != found.code
    gain = found.sample_weight * (is_wrong.astype(float) - is_wrong_with_means)
    return bool(gain.sum() > np.sqrt((gain**2).sum()))


def etas_for_values(eta, inv_mean_degree, n_labels):
    """Return the candidates of a regressor: the given eta, or some that leave-one-out compares."""
    if eta != "auto":
        return [check_real("eta", eta, above=0.0, below=np.inf)]
    alphas = ALPHAS if n_labels >= MIN_LOO_LABELS else ALPHAS[:1]
    return [alpha * inv_mean_degree / n_labels for alpha in alphas]


def select_for_values(solver, labels, etas):
    """Return the eta of a regressor, that of the least squared error, and its `LooResult`.

    The latter is None if there was nothing to select, or too few labels.

    Parameters
    ----------
    solver : HFSSolver
    labels : RealLabels
    etas : list of float
    """
    if len(etas) == 1:
        return etas[0], None
    found = [solver.loo(eta) for eta in etas]
    errors = [_squared_error(loo, labels) for loo in found]
    best = int(np.argmin(errors))
    # The first one if too few labels could be left out, when all errors are infinite.
    return etas[best], found[best] if np.isfinite(errors[best]) else None


def _squared_error(loo, labels):
    """Return the mean squared leave-one-out error; infinite if too few labels have a score."""
    residual = (loo.scores + loo.mean - labels.targets).ravel()
    is_valid = np.isfinite(residual)
    if np.count_nonzero(is_valid) < MIN_LOO_LABELS:
        return np.inf
    weight = None if labels.sample_weight is None else labels.sample_weight[is_valid]
    return np.average(residual[is_valid] ** 2, weights=weight)
