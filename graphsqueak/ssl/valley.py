"""Two classes: cut where few nodes lie, as far as the labels allow.

A few labels leave a whole interval of cuts that misjudge equally few of them, and its middle is as
good a guess as any for the labels alone. The nodes without a label know more: a cut through a crowd
of equal scores divides what belongs together. So the sparsest place of the interval is looked
up (low-density separation [CZ05]) and the cut moves half of the way there: the other half is left
to the labels, which are few, but not fooled by a crowd that is all of one class.

References
----------
[CZ05] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS 2005.
"""

import numpy as np
from scipy.ndimage import gaussian_filter1d

__all__ = ["cut_in_valley"]

_PLACES = 300  # cuts that are tried, over all but the outermost 2 % of the scores on either side
_OUTERMOST = 0.02
_BANDWIDTH = 0.15  # of the density, in standard deviations of the scores
_REACH = 4.0  # of the Gaussian, in bandwidths


def cut_in_valley(scores, judged, is_second):
    """The cut to use instead of 0 on scores of the second class.

    Parameters
    ----------
    scores : array (n,)
        Of all nodes that a label reaches; above the cut they belong to the second class.
    judged : array (l,)
        Of labeled nodes that did not know their own labels.
    is_second : array of bool (l,)
        Whether these belong to the second class.

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
    step = (high - low) / (_PLACES - 1)
    n_beyond = int(np.ceil(_REACH * bandwidth / step))
    place = low + step * np.arange(-n_beyond, _PLACES + n_beyond)
    bounds = np.append(place, place[-1] + step) - step / 2
    crowd = gaussian_filter1d(
        np.histogram(scores, bounds)[0].astype(np.float64), bandwidth / step, truncate=_REACH
    )
    inside = slice(n_beyond, n_beyond + _PLACES)
    place, crowd = place[inside], crowd[inside]
    mistakes = np.count_nonzero((judged[:, None] > place) != is_second[:, None], axis=0)
    allowed = np.flatnonzero(mistakes == mistakes.min())
    return float(place[allowed[crowd[allowed].argmin()]]) / 2
