"""Where one class ends and the next begins: thresholds by labels that were held out.

*The cut* between two classes: a few labels leave a whole interval of cuts that misclassify equally
few of them, and its middle is as good a guess as any for the labels alone. The nodes without a
label know more: a cut through a crowd of equal scores divides what belongs together. So the scores
of the interval that the fewest nodes have are looked up (low-density separation [CZ05]), and the
cut moves half of the way to their mean: the other half is left to the labels, which are few, but
not fooled by a crowd that is all of one class.

*The threshold* between two classes is a mean, too, over all that are tried: each counts the less
the more mistakes it makes, by a factor of e for every half mistake. A node whose score is near the
threshold makes part of a mistake (smoothed maximum score [H92]). A choice of the best alone would
jump where two are equally good, and be another one for scores that hardly differ.

References
----------
[H92]  Horowitz. A smoothed maximum score estimator for the binary response model. Econometrica 60,
       1992.
[CZ05] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS 2005.
"""

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr, softmax

__all__ = ["best_threshold", "low_density_threshold"]

_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)  # in spreads of the scores
_N_CUTS = 300  # that are tried, over all but the outermost 2 % of the scores on either side
_OUTERMOST = 0.02
_BANDWIDTH = 0.15  # of the density, in standard deviations of the scores
_EMPTINESS, _LEAST_DENSITY = 6.0, 1e-3  # power of the density by which cuts count, and its floor
_NEAR = 0.3  # to a threshold, the same
_PART = 0.5  # of a mistake that counts
_ROUNDING = 1e-9
_REACH = 4.0  # of the Gaussian, in bandwidths


def low_density_threshold(scores, held_out, is_second, *, sample_weight=None):
    """The cut to use instead of 0 on scores of the second class.

    Parameters
    ----------
    scores : array (n,)
        Of all nodes that a label reaches; above the cut they belong to the second class.
    held_out : array (l,)
        Scores of labeled nodes, each without its own label.
    is_second : array of bool (l,)
        Whether these belong to the second class.
    sample_weight : array (l,), optional
        How much each of them counts.

    Examples
    --------
    Labels at -2 and 3 allow any cut in between. No node lies from 1 to 2, and 1.5 / 2 is returned:

    >>> scores = np.concatenate([np.linspace(-3, 1, 400), np.linspace(2, 4, 200)])
    >>> round(low_density_threshold(scores, np.array([-2.0, 3.0]), np.array([False, True])), 2)
    0.75
    """
    low, high = np.quantile(scores, [_OUTERMOST, 1 - _OUTERMOST])
    bandwidth = _BANDWIDTH * scores.std()
    if not low < high:
        return 0.0
    step = (high - low) / (_N_CUTS - 1)
    n_beyond = int(np.ceil(_REACH * bandwidth / step))
    cuts = low + step * np.arange(-n_beyond, _N_CUTS + n_beyond)
    bounds = np.append(cuts, cuts[-1] + step) - step / 2
    counts = np.histogram(scores, bounds)[0].astype(np.float64)
    density = gaussian_filter1d(counts, bandwidth / step, truncate=_REACH)
    inside = slice(n_beyond, n_beyond + _N_CUTS)
    cuts, density = cuts[inside], density[inside]
    is_wrong = (held_out[:, None] > cuts) != is_second[:, None]
    mistakes = (np.ones(held_out.size) if sample_weight is None else sample_weight) @ is_wrong
    allowed = mistakes <= mistakes.min() + _ROUNDING * held_out.size
    cuts, density = cuts[allowed], density[allowed] / density.mean()
    emptiness = softmax(-_EMPTINESS * np.log(np.maximum(density, _LEAST_DENSITY)))
    return float(emptiness @ cuts) / 2


def best_threshold(scores, code, prior, threshold, *, sample_weight=None):
    """The threshold and the number of its mistakes among nodes that were held out.

    `prior` are the classes' fractions of the labels minus 1/C.
    """
    sample_weight = np.ones(code.size) if sample_weight is None else sample_weight
    if threshold != "auto":
        return float(threshold), _count_mistakes(scores + threshold * prior, code, sample_weight)
    levels = np.array(_STRENGTHS) * scores.std()
    if prior.size == 2:
        level = _mean_level(scores, code, prior, levels, sample_weight)
        return level, _count_mistakes(scores + level * prior, code, sample_weight)
    mistakes = np.array(
        [_count_mistakes(scores + level * prior, code, sample_weight) for level in levels]
    )
    # one threshold of several classes is a crude correction, and has to make up for it
    least = mistakes.min()
    if least >= mistakes[0] - 0.5 * np.sqrt(mistakes[0]):
        return float(levels[0]), float(mistakes[0])
    return float(levels[mistakes <= least + _ROUNDING * code.size].mean()), float(least)


def _mean_level(scores, code, prior, levels, sample_weight):
    """Of two classes: the mean of all levels, by the parts of mistakes that they make."""
    if not prior.any() or not levels.any():
        return 0.0
    own = (2 * code - 1) * (scores[:, 1] - scores[:, 0])
    shift = (2 * code - 1) * (prior[1] - prior[0])
    parts = ndtr(-(own[:, None] + shift[:, None] * levels) / (_NEAR * scores.std()))
    return float(softmax(-(sample_weight @ parts) / _PART) @ levels)


def _count_mistakes(scores, code, sample_weight):
    return float(sample_weight @ (scores.argmax(axis=1) != code))
