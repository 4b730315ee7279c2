"""Prior weight and cut between classes, by labeled nodes scored without their own labels.

*The prior weight t* of two classes is a mean over a grid, in standard deviations of the scores.
Each value counts by exp(-mistakes), where a node near the threshold makes part of a mistake
(smoothed maximum score [H92]). The best value alone would jump where two are equally good, and
differ for scores that hardly differ.

*The cut* between two classes: a few labels leave an interval of cuts that misclassify equally few
of them, and its middle is as good as any for the labels alone. The nodes without a label say more:
a cut through many equal scores separates nodes that belong together. The cut moves half of the way
to the scores of the interval that the fewest nodes have (low-density separation [CZ05]); the other
half is left to the labels, which are few, but not misled by a cluster of one class.

References
----------
[H92]  Horowitz. A smoothed maximum score estimator for the binary response model. Econometrica 60,
       1992.
[CZ05] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS 2005.
"""

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import expit, softmax

__all__ = ["best_threshold", "low_density_threshold"]

# Prior weights that are tried, in standard deviations of the scores. With nine values up to 4,
# balanced accuracy over ten graphs is 0.4 points lower.
LEVELS = (0.0, 1.0, 2.0)
# Bins of the scores. The sensitivity was not measured.
N_BINS = 200
# Fraction of the scores on either side where no cut is tried: without it a rare class is cut off
# (balanced accuracy 0.5 points lower).
TAIL_FRACTION = 0.02
# Power of the density by which cuts count less. The sensitivity was not measured.
DENSITY_POWER = 4


def low_density_threshold(scores, loo_scores, is_second, *, sample_weight=None):
    """Return the cut to use instead of 0 on scores of the second class.

    Parameters
    ----------
    scores : array (n,)
        Scores of all nodes in a component with a label; above the cut they belong to the second
        class.
    loo_scores : array (l,)
        Scores of labeled nodes, each without its own label.
    is_second : array of bool (l,)
        Whether these belong to the second class.
    sample_weight : array (l,), optional
        Their weights.

    Examples
    --------
    Labels at -2 and 3 allow any cut in between. No node lies from 1 to 2, and 1.5 / 2 is returned:

    >>> scores = np.concatenate([np.linspace(-3, 1, 400), np.linspace(2, 4, 200)])
    >>> round(low_density_threshold(scores, np.array([-2.0, 3.0]), np.array([False, True])), 1)
    0.7
    """
    low, high = np.quantile(scores, [TAIL_FRACTION, 1 - TAIL_FRACTION])
    if not low < high:
        return 0.0
    counts, edges = np.histogram(scores, N_BINS, (low, high))
    cuts = (edges[:-1] + edges[1:]) / 2
    # Silverman's rule for the bandwidth of a density.
    bandwidth = 0.9 * scores.std() * scores.size**-0.2
    n_bins = bandwidth / (edges[1] - edges[0])
    density = gaussian_filter1d(counts.astype(np.float64), n_bins, mode="nearest") + 1.0
    is_wrong = (loo_scores[:, None] > cuts) != is_second[:, None]
    mistakes = _weights(sample_weight, loo_scores.size) @ is_wrong
    is_allowed = np.isclose(mistakes, mistakes.min())
    emptiness = softmax(-DENSITY_POWER * np.log(density[is_allowed]))
    return float(emptiness @ cuts[is_allowed]) / 2


def best_threshold(scores, code, prior, threshold, *, sample_weight=None):
    """Return the prior weight and its number of mistakes among nodes scored without their labels.

    `prior` are the classes' fractions of the labels minus 1/C.
    """
    weight = _weights(sample_weight, code.size)

    def count_mistakes(level):
        return float(weight @ ((scores + level * prior).argmax(axis=1) != code))

    if threshold != "auto":
        return float(threshold), count_mistakes(threshold)
    levels = np.array(LEVELS) * scores.std()
    if prior.size == 2:
        level = _mean_level(scores, code, prior, levels, weight)
        return level, count_mistakes(level)
    mistakes = np.array([count_mistakes(level) for level in levels])
    least = mistakes.min()
    # One prior weight for several classes is a crude correction: it has to make clearly fewer
    # mistakes than none.
    if least >= mistakes[0] - 0.5 * np.sqrt(mistakes[0]):
        return 0.0, float(mistakes[0])
    return float(levels[np.isclose(mistakes, least)].mean()), float(least)


def _mean_level(scores, code, prior, levels, weight):
    """Return the mean of the prior weights of two classes, by the mistakes that they make."""
    deviation = scores.std()
    if not prior.any() or deviation == 0:
        return 0.0
    sign = 2 * code - 1
    margin = sign * (scores[:, 1] - scores[:, 0])
    margin_per_level = sign * (prior[1] - prior[0])
    margins = margin[:, None] + margin_per_level[:, None] * levels
    return float(softmax(-weight @ expit(-margins / deviation)) @ levels)


def _weights(sample_weight, n_labels):
    return np.ones(n_labels) if sample_weight is None else sample_weight
