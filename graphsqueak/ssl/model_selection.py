"""Model selection by leave-one-out: eta, and the weight of the class prior.

*eta.* What matters is alpha = l eta. In units of 1 / (mean degree), in which rescaling all weights
changes nothing, one value suits nearly every graph and any number of labels. It is tested by how
many labeled nodes it misclassifies without their own labels. If these are more than a tenth,
other values are tested as well, and one is taken if it makes fewer mistakes by more than the square
root of their number, the noise of counting. Fewer than four labels per class are too few to test.

*The prior weight t.* Decisions are made on centered scores, f + t (m - 1/C) with m the class means.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 gives the uncentered f + ybar. t is selected together with eta (`decisions.thresholds`).

*Regression* takes the eta with the least squared leave-one-out error.

Leave-one-out scores have a closed form (`stable`). They come from any `HFSSolver`.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.decisions.thresholds import best_threshold
from graphsqueak.validation import check_real

__all__ = [
    "CLASS_ALPHAS",
    "MIN_LOO_LABELS",
    "Selection",
    "candidate_etas",
    "check_eta",
    "may_need_others",
    "select_for_classes",
    "select_for_values",
]

# l eta in units of 1 / (mean degree); the first is the default. Halving or doubling all of them
# changes the accuracies of bench_ssl by less than 0.3 points.
CLASS_ALPHAS = (2.0, 0.2, 20.0)
# Values are less noisy than classes, and a wider grid pays.
VALUE_ALPHAS = (2.0, 0.1, 30.0, 300.0)
# Scores without own labels that are needed to select anything by them.
MIN_LOO_LABELS = 8
MIN_LOO_LABELS_PER_CLASS = 4
# Error rate at which no other eta is tried, which saves two of three solves on most graphs.
GOOD_ERROR_RATE = 0.1


class Selection(NamedTuple):
    """What was selected, and by which labeled nodes.

    `loo_scores` and `code` are the centered scores and the classes of the nodes that were scored
    without their own labels, empty if there were too few; `error_rate` is the fraction of them that
    was misclassified, else NaN. `sample_weight` is their weight, 1 in the mean.
    """

    eta: float
    threshold: float
    error_rate: float
    loo_scores: np.ndarray
    code: np.ndarray
    sample_weight: np.ndarray


def check_eta(eta):
    """Return `eta` as a positive number or "auto"."""
    return eta if eta == "auto" else check_real("eta", eta, above=0.0, below=np.inf)


def candidate_etas(eta, solver, n_labels, alphas=CLASS_ALPHAS):
    """Return the values of eta to select from, the default first; one if it is given."""
    eta = check_eta(eta)
    if eta != "auto":
        return [eta]
    return [alpha * solver.inv_mean_degree / n_labels for alpha in alphas]


def select_for_classes(solver, labels, *, eta, threshold):
    """Select eta and the prior weight of a classifier; given numbers are kept.

    Parameters
    ----------
    solver : HFSSolver
    labels : ClassLabels
    eta, threshold : float or "auto"

    Returns
    -------
    Selection
    """
    code = labels.code
    counts = np.bincount(code, minlength=labels.classes.size)
    etas = candidate_etas(eta, solver, code.size)
    best = Selection(
        eta=etas[0],
        threshold=0.0 if threshold == "auto" else threshold,
        error_rate=np.nan,
        loo_scores=np.zeros((0, counts.size)),
        code=np.zeros(0, dtype=np.int64),
        sample_weight=np.zeros(0),
    )
    # With equally many labels of three or more classes the prior is zero, and t has no effect.
    has_no_prior = counts.size > 2 and (counts == counts[0]).all()
    is_given = len(etas) == 1 and (threshold != "auto" or has_no_prior)
    # The only label of a class cannot be predicted without itself.
    is_useful = counts[code] > 1
    n_needed = max(MIN_LOO_LABELS, MIN_LOO_LABELS_PER_CLASS * counts.size)
    if is_given or np.count_nonzero(is_useful) < n_needed:
        return best
    weight = np.ones(code.size)
    if labels.sample_weight is not None:
        weight = labels.sample_weight / labels.sample_weight.mean()
    prior = np.bincount(code, weight, counts.size) / code.size - 1 / counts.size
    least = None
    for candidate in etas:
        result = solver.loo(candidate)
        if result is None:
            break
        is_valid = np.isfinite(result.scores[:, 0]) & is_useful
        if np.count_nonzero(is_valid) < MIN_LOO_LABELS:
            break
        scores = result.scores[is_valid]
        level, mistakes = best_threshold(
            scores, code[is_valid], prior, threshold, sample_weight=weight[is_valid]
        )
        is_better = least is None or mistakes < least - np.sqrt(least)
        is_first = least is None
        if is_better:
            least = mistakes
            best = Selection(
                eta=candidate,
                threshold=level,
                error_rate=mistakes / weight[is_valid].sum(),
                loo_scores=scores,
                code=code[is_valid],
                sample_weight=weight[is_valid],
            )
        # The second and third candidate lie on different sides of the first: if one is better
        # than the first, the other is not tried.
        is_done = is_better and not is_first
        if is_done or least <= GOOD_ERROR_RATE * np.count_nonzero(is_valid):
            break
    return best


def may_need_others(error_rate, n_labels):
    """Return whether other etas may have to be tried, by an error rate that is approximate.

    >>> may_need_others(0.0, 20), may_need_others(0.05, 20), may_need_others(0.05, 1000)
    (False, True, False)
    """
    noise = 1.5 * np.sqrt(error_rate * (1 - error_rate) / n_labels)
    return bool(error_rate + noise + 1 / n_labels > GOOD_ERROR_RATE)


def select_for_values(solver, labels, *, eta):
    """Return the eta of a regressor: that of the least squared leave-one-out error.

    Parameters
    ----------
    solver : HFSSolver
    labels : RealLabels
    eta : float or "auto"
    """
    etas = candidate_etas(eta, solver, labels.nodes.size, VALUE_ALPHAS)
    best = etas[0]
    if len(etas) == 1 or labels.nodes.size < MIN_LOO_LABELS:
        return best
    least = np.inf
    for candidate in etas:
        result = solver.loo(candidate)
        if result is None:
            break
        residual = (result.scores + result.mean - labels.targets).ravel()
        is_valid = np.isfinite(residual)
        if np.count_nonzero(is_valid) < MIN_LOO_LABELS:
            break
        weight = None if labels.sample_weight is None else labels.sample_weight[is_valid]
        error = float(np.average(residual[is_valid] ** 2, weights=weight))
        if error < least:
            least = error
            best = candidate
    return best
