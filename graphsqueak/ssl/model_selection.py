"""Model selection by leave-one-out: the weight of the class prior, and eta of a regressor.

*eta.* What matters is alpha = l eta. In units of 1 / (mean degree), in which rescaling all weights
changes nothing, alpha = 2 suits classes on every graph and for any number of labels. (Selecting
among 0.2, 2 and 20 by leave-one-out took another value in none of 540 fits to ten graphs, with and
without wrong labels.)

*The prior weight t.* Decisions are made on centered scores, f + t (m - 1/C) with m the class means.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 gives the uncentered f + ybar. t is selected by the labeled nodes that are misclassified
without their own labels (`decisions.thresholds`). Fewer than four labels per class are too few.

*Regression* takes the eta with the least squared leave-one-out error.

Leave-one-out scores have a closed form (`stable`). They come from any `HFSSolver`.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.decisions.thresholds import best_threshold
from graphsqueak.validation import check_real

__all__ = [
    "MIN_LOO_LABELS",
    "Selection",
    "eta_for_classes",
    "select_for_classes",
    "select_for_values",
]

# l eta in units of 1 / (mean degree). Halved or doubled: less than 0.1 points over ten graphs.
CLASS_ALPHA = 2.0
# Candidates of a regressor, the default first: how noisy values are differs more.
VALUE_ALPHAS = (2.0, 0.1, 30.0, 300.0)
# Scores without own labels that are needed to select anything by them.
MIN_LOO_LABELS = 8
MIN_LOO_LABELS_PER_CLASS = 4


class Selection(NamedTuple):
    """What was selected, and by which labeled nodes.

    `loo_scores` and `code` are the centered scores and the classes of the nodes that were scored
    without their own labels, empty if there were too few; `error_rate` is the fraction of them that
    was misclassified, else NaN. `sample_weight` is their weight, 1 in the mean.
    """

    eta: float
    prior_weight: float
    error_rate: float
    loo_scores: np.ndarray
    code: np.ndarray
    sample_weight: np.ndarray


def eta_for_classes(eta, solver, n_labels):
    """Return the eta of a classifier: that given, or by the mean degree."""
    if eta == "auto":
        return CLASS_ALPHA * solver.inv_mean_degree / n_labels
    return check_real("eta", eta, above=0.0, below=np.inf)


def select_for_classes(solver, labels, *, eta, prior_weight):
    """Select the prior weight of a classifier; given numbers are kept.

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
    counts = np.bincount(code, minlength=n_classes)
    none = Selection(
        eta=eta_for_classes(eta, solver, code.size),
        prior_weight=0.0 if prior_weight == "auto" else prior_weight,
        error_rate=np.nan,
        loo_scores=np.zeros((0, n_classes)),
        code=np.zeros(0, dtype=np.int64),
        sample_weight=np.zeros(0),
    )
    # With equally many labels of three or more classes the prior is zero, and t has no effect.
    has_no_prior = n_classes > 2 and (counts == counts[0]).all()
    is_given = eta != "auto" and (prior_weight != "auto" or has_no_prior)
    # The only label of a class cannot be predicted without itself.
    is_useful = counts[code] > 1
    n_needed = max(MIN_LOO_LABELS, MIN_LOO_LABELS_PER_CLASS * n_classes)
    if is_given or np.count_nonzero(is_useful) < n_needed:
        return none
    loo_scores = solver.loo(none.eta).scores
    is_valid = np.isfinite(loo_scores[:, 0]) & is_useful
    if np.count_nonzero(is_valid) < MIN_LOO_LABELS:
        return none
    weight = np.ones(code.size)
    if labels.sample_weight is not None:
        weight = labels.sample_weight / labels.sample_weight.mean()
    level, mistakes = best_threshold(
        loo_scores[is_valid],
        code[is_valid],
        np.bincount(code, weight, n_classes) / code.size - 1 / n_classes,
        prior_weight,
        sample_weight=weight[is_valid],
    )
    return Selection(
        eta=none.eta,
        prior_weight=level,
        error_rate=mistakes / weight[is_valid].sum(),
        loo_scores=loo_scores[is_valid],
        code=code[is_valid],
        sample_weight=weight[is_valid],
    )


def select_for_values(solver, labels, *, eta):
    """Return the eta of a regressor: that of the least squared leave-one-out error.

    Parameters
    ----------
    solver : HFSSolver
    labels : RealLabels
    eta : float or "auto"
    """
    if eta != "auto":
        return check_real("eta", eta, above=0.0, below=np.inf)
    n_labels = labels.nodes.size
    etas = [alpha * solver.inv_mean_degree / n_labels for alpha in VALUE_ALPHAS]
    best = etas[0]
    if n_labels < MIN_LOO_LABELS:
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
