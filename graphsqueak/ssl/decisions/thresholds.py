"""Where one class ends and the next begins: thresholds by labels that were held out.

*The cut* between two classes: a few labels leave a whole interval of cuts that misclassify equally
few of them, and its middle is as good a guess as any for the labels alone. The nodes without a
label know more: a cut through a crowd of equal scores divides what belongs together. So the score
of the interval that the fewest nodes have is looked up (low-density separation [CZ05]), and the cut
moves half of the way there: the other half is left to the labels, which are few, but not fooled by
a crowd that is all of one class.

References
----------
[CZ05] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS 2005.
"""

import numpy as np
from scipy.ndimage import gaussian_filter1d

__all__ = ["best_threshold", "cut_in_valley"]

_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)  # in spreads of the scores
_N_CUTS = 300  # that are tried, over all but the outermost 2 % of the scores on either side
_OUTERMOST = 0.02
_BANDWIDTH = 0.15  # of the density, in standard deviations of the scores
_ROUNDING = 1e-9
_REACH = 4.0  # of the Gaussian, in bandwidths


def cut_in_valley(scores, held_out, is_second, *, trust=None):
    """The cut to use instead of 0 on scores of the second class.

    Parameters
    ----------
    scores : array (n,)
        Of all nodes that a label reaches; above the cut they belong to the second class.
    held_out : array (l,)
        Scores of labeled nodes, each without its own label.
    is_second : array of bool (l,)
        Whether these belong to the second class.
    trust : array (l,), optional
        How much each of them counts.

    Examples
    --------
    Labels at -2 and 3 allow any cut in between. No node lies from 1 to 2, and 1.5 / 2 is returned:

    >>> scores = np.concatenate([np.linspace(-3, 1, 400), np.linspace(2, 4, 200)])
    >>> round(cut_in_valley(scores, np.array([-2.0, 3.0]), np.array([False, True])), 1)
    0.8
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
    mistakes = (np.ones(held_out.size) if trust is None else trust) @ is_wrong
    allowed = np.flatnonzero(mistakes <= mistakes.min() + _ROUNDING * held_out.size)
    return float(cuts[allowed[density[allowed].argmin()]]) / 2


def best_threshold(scores, code, prior, threshold, *, trust=None):
    """The threshold and the number of its mistakes among nodes that were held out.

    `prior` are the classes' shares of the labels minus 1/C; mistakes count as much as `trust` says.
    """
    auto = threshold == "auto"
    levels = np.array(_STRENGTHS) * scores.std() if auto else np.array([threshold])
    trust = np.ones(code.size) if trust is None else trust
    mistakes = np.array(
        [trust @ ((scores + level * prior).argmax(axis=1) != code) for level in levels]
    )
    # with several classes one threshold is a cruder correction, and has to make up for it
    margin = 0.5 * np.sqrt(mistakes[0]) if prior.size > 2 else 0.0
    least = mistakes.min()
    if least >= mistakes[0] - margin:
        return float(levels[0]), float(mistakes[0])
    return float(levels[mistakes <= least + _ROUNDING * code.size].mean()), float(least)
