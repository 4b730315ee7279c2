"""What the labeled nodes themselves say: eta, the threshold, the cut, and whether neighbors agree.

What matters is alpha = l eta, and in units of 1 / (mean degree), so that rescaling all weights
changes nothing, one value suits nearly every graph and any number of labels. It is tested by how
many labeled nodes it would misclassify had it not known them. Where that is more than a tenth of
them, other values are tested as well, and taken if they make fewer mistakes by more than the square
root of their number, the noise of counting. Fewer than four labels a class are too few to test by.

Decisions are made on centered scores, f + t (m - 1/C) with m the class means and t the threshold.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 is the uncentered f + ybar. t is tested with eta. It stays 0 unless something else makes fewer
mistakes, and is the mean of all that make as few: the middle of the gap between the classes.

*The cut* between two classes: a few labels leave a whole interval of cuts that misclassify equally
few of them, and its middle is as good a guess as any for the labels alone. The nodes without a
label know more: a cut through a crowd of equal scores divides what belongs together. So the score
of the interval that the fewest nodes have is looked up (low-density separation [CZ05]), and the cut
moves half of the way there: the other half is left to the labels, which are few, but not fooled by
a crowd that is all of one class.

*Homophily*. h is the correlation of the classes at the two ends of an edge: 1 where neighbors agree
always, 0 where they do as often as strangers ("adjusted" homophily [P23]). Of labeled pairs (i, j)
that are k steps apart, with y~ the classes minus their means over the labeled degrees,

    r_k = sum W_ij y~_i y~_j / (v sum W_ij),   W = A for k = 1, A D^-1 A without i = j for k = 2,

has the mean h^k, about. Few labels have hardly a labeled neighbor, but often neighbors in common.
The density exp(-((r_1 - h) / s_1)^2 / 2 - ((r_2 - h^2) / s_2)^2 / 2) over [-1, 1] has the estimate
as its mean and the error as its spread. s_k is the larger of what independent classes would give
and of what the labeled nodes show. r_2 does not tell the sign, which is that of the correlation of
the classes with the scores that labeled nodes get without their own, as far as it is not noise.
Where it is clear the graph is of use, however small h is: many neighbors that each say little.

References
----------
[CZ05] Chapelle, Zien. Semi-supervised classification by low density separation. AISTATS 2005.
[P23]  Platonov, Kuznedelev, Babenko, Prokhorenkova. Characterizing graph datasets for node
       classification. NeurIPS 2023.
"""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse
from scipy.ndimage import gaussian_filter1d

from graphsqueak.ssl.stable import leave_one_out, stable_scores
from graphsqueak.validation import check_real

__all__ = [
    "CHOICE_TOL",
    "FEWEST_HELD_OUT",
    "N_ETAS",
    "Choice",
    "HeldFits",
    "Homophily",
    "HomophilyWarning",
    "best_threshold",
    "candidate_etas",
    "check_eta",
    "choose_for_classes",
    "cut_in_valley",
    "may_need_others",
    "measure_homophily",
    "warn_of_homophily",
]

CHOICE_TOL = 1e-5  # of solves that only serve to choose
_LEFT_OUT_TOL = 1e-4  # of the many columns of leave-one-out, whose diagonal is a sketch
_ALPHAS = (2.0, 0.2, 20.0)  # in natural units; the first is the one to take when in doubt
N_ETAS = len(_ALPHAS)
_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)  # in spreads of the scores
FEWEST_HELD_OUT = 8  # below which leave-one-out says nothing
_FEWEST_A_CLASS = 4
_GOOD_ENOUGH = 0.1  # share of mistakes at which no other eta is tried
_N_CUTS = 300  # that are tried, over all but the outermost 2 % of the scores on either side
_OUTERMOST = 0.02
_BANDWIDTH = 0.15  # of the density, in standard deviations of the scores
_REACH = 4.0  # of the Gaussian, in bandwidths
_LITTLE, _KNOWN = 0.2, 0.2  # homophily that is warned of, and its error that allows to
_CLEAR, _CLEAR_SHARE = 4.0, 0.7  # standard deviations, and share of what they are at most
_N_SIGNS = 16  # for the sum of squares of W


class HomophilyWarning(UserWarning):
    """Neighbors agree hardly more often than strangers: the graph is the wrong tool."""


class Choice(NamedTuple):
    """What was chosen, and by which labeled nodes.

    `held_out` and `code` are the centered scores and the classes of those that were scored without
    their own labels, empty if there were too few; `mistakes` is the share of them that was
    misclassified, else NaN.
    """

    eta: float
    threshold: float
    mistakes: float
    held_out: np.ndarray
    code: np.ndarray


class Homophily(NamedTuple):
    """Correlation of the classes of neighbors, its standard error, and what scores tell.

    `skill` is by how many standard deviations the scores that labeled nodes get without their own
    label are better than chance, 0 where there are none. `is_little`: the graph is no help.
    """

    value: float
    error: float
    skill: float
    is_little: bool


def check_eta(eta):
    """`eta` as a positive number or "auto"."""
    return eta if eta == "auto" else check_real("eta", eta, above=0.0, below=np.inf)


def candidate_etas(unit, n_labels):
    """What "auto" chooses from; the first is the one to take when in doubt."""
    return [alpha * unit / n_labels for alpha in _ALPHAS]


def choose_for_classes(score_held_out, code, counts, *, unit, eta, threshold):
    """eta and threshold for a classifier; what is a number already is kept.

    Parameters
    ----------
    score_held_out : callable
        score_held_out(eta) gives the centered scores of some labeled nodes, each without its own
        label.
    code : array of int
        The classes of these nodes.
    counts : array of int
        Labels of every class.
    unit : float
        `natural_unit` of the graph.
    eta, threshold : float or "auto"
        What the user has set.
    """
    etas = candidate_etas(unit, counts.sum()) if eta == "auto" else [eta]
    none = np.zeros((0, counts.size)), np.zeros(0, dtype=np.int64)
    best = Choice(etas[0], 0.0 if threshold == "auto" else threshold, np.nan, *none)
    even = counts.size > 2 and (counts == counts[0]).all()
    settled = len(etas) == 1 and (threshold != "auto" or even)
    n_useful = np.count_nonzero(counts[code] > 1)  # of a class that would survive without them
    if settled or n_useful < max(FEWEST_HELD_OUT, _FEWEST_A_CLASS * counts.size):
        return best
    prior = counts / counts.sum() - 1 / counts.size
    least = None
    for candidate in etas:
        scores = score_held_out(candidate)
        if scores is None:
            break
        valid = np.isfinite(scores[:, 0]) & (counts[code] > 1)
        n_valid = np.count_nonzero(valid)
        if n_valid < FEWEST_HELD_OUT:
            break
        held_out = scores[valid], code[valid]
        level, mistakes = best_threshold(*held_out, prior, threshold)
        if least is None or mistakes < least - np.sqrt(least):
            least, best = mistakes, Choice(candidate, level, mistakes / n_valid, *held_out)
        if least <= _GOOD_ENOUGH * n_valid:
            break
    return best


def may_need_others(mistakes, n_labels):
    """Whether other etas may have to be tried, by a share of mistakes that is not quite exact.

    >>> may_need_others(0.0, 20), may_need_others(0.05, 20), may_need_others(0.05, 1000)
    (False, True, False)
    """
    spread = 1.5 * np.sqrt(mistakes * (1 - mistakes) / n_labels)
    return bool(mistakes + spread + 1 / n_labels > _GOOD_ENOUGH)


class HeldFits:
    """Stable-HFS on a graph in memory, for the etas that are asked for.

    Parameters
    ----------
    graph, labeled, targets, tol
        As of `stable_scores`.
    random_state : int, Generator or None
        Seeds the probes and the solver, of every fit alike.
    """

    def __init__(self, graph, labeled, targets, *, tol, random_state):
        self._about = (graph, labeled, targets)
        self._tol, self._random_state = tol, random_state

    def left_out(self, eta):
        """`leave_one_out` with this eta."""
        return self._solve(leave_one_out, eta, max(self._tol, _LEFT_OUT_TOL))

    def fit(self, eta):
        """`stable_scores` with this eta."""
        return self._solve(stable_scores, eta, self._tol)

    def _solve(self, function, eta, tol):
        rng = np.random.default_rng(self._random_state)
        alpha = self._about[1].size * eta
        return function(*self._about, alpha, tol=tol, random_state=rng)


def measure_homophily(graph, labels, held_out=None):
    """How much more often than strangers the neighbors in a graph agree: `Homophily`.

    Parameters
    ----------
    graph : EdgeList
    labels : ClassLabels
    held_out : tuple of arrays (k, C) and (k,), optional
        Scores of labeled nodes without their own labels, and their classes.

    Examples
    --------
    Two classes that take turns on a path:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.ssl.labels import ClassLabels
    >>> path = EdgeList(tail=range(99), head=range(1, 100))
    >>> labels = ClassLabels(np.arange(100), np.arange(100) % 2, np.array([0, 1]))
    >>> round(measure_homophily(path, labels).value, 1)
    -0.9
    """
    nodes, one_hot, degrees = labels.nodes, labels.one_hot(), graph.degrees()
    share = degrees[nodes] @ one_hot / max(degrees[nodes].sum(), np.finfo(float).tiny)
    size = 1 - share @ share
    if labels.classes.size < 2 or share.sum() == 0 or size <= 0:
        return Homophily(np.nan, np.nan, 0.0, is_little=False)
    among = np.full(graph.n_nodes, -1)
    among[nodes] = np.arange(nodes.size)
    out, back = (np.flatnonzero(among[end] >= 0) for end in (graph.tail, graph.head))
    row = np.concatenate([among[graph.tail[out]], among[graph.head[back]]])
    column = np.concatenate([graph.head[out], graph.tail[back]])
    weight = np.concatenate([graph.weight[out], graph.weight[back]])
    edges = scipy.sparse.csr_array((weight, (row, column)), shape=(nodes.size, graph.n_nodes))
    inverse = 1 / np.where(degrees > 0, degrees, 1.0)
    returns = edges.multiply(edges) @ inverse
    centered, n_classes = one_hot - share, labels.classes.size
    signs = np.random.default_rng(nodes.size).choice([-1.0, 1.0], size=(nodes.size, _N_SIGNS))
    block = np.column_stack([centered, np.ones(nodes.size), signs])
    two_steps = edges @ (inverse[:, None] * (edges.T @ block)) - returns[:, None] * block
    covariance = np.diag(share) - np.outer(share, share)
    grid, surprise = np.linspace(-1, 1, 401), np.zeros(401)
    for power, product in ((1, edges[:, nodes] @ block), (2, two_steps)):
        agreement, pairs, squares = np.split(product, [n_classes, n_classes + 1], axis=1)
        total = size * pairs.sum()
        if total <= 0:
            continue
        agreement = (centered * agreement).sum(axis=1)
        mean = agreement.sum() / total
        by_rows = 2 * ((agreement - mean * size * pairs[:, 0]) ** 2).sum()
        by_chance = 2 * (covariance**2).sum() * (squares**2).mean(axis=1).sum()
        surprise += (mean - grid**power) ** 2 * total**2 / max(by_rows, by_chance)
    skill = 0.0 if held_out is None else _correlation(*held_out)
    surprise += np.where(grid > 0, min(skill, 0.0), max(skill, 0.0)) ** 2
    density = np.exp(-(surprise - surprise.min()) / 2)
    density /= density.sum()
    value = float(density @ grid)
    error = float(np.sqrt(density @ (grid - value) ** 2))
    is_clear = skill > min(_CLEAR, _CLEAR_SHARE * np.sqrt((nodes.size - 1) * (n_classes - 1)))
    return Homophily(value, error, skill, value < _LITTLE and error < _KNOWN and not is_clear)


def warn_of_homophily(found, *, stacklevel):
    """Say where neighbors agree hardly more often than strangers, and what to do instead."""
    if found.is_little:
        warnings.warn(
            HomophilyWarning(
                f"neighbors agree hardly more often than strangers (homophily {found.value:.2f} "
                f"+- {found.error:.2f}, where 1 is always), so that this graph tells little about "
                "the classes: learn from features of the nodes, or from those and their neighbors' "
                "(NeighborMeans), or try a graph that joins nodes two steps apart"
            ),
            stacklevel=stacklevel + 1,
        )


def _correlation(scores, code):
    """Of scores and classes, in standard deviations over all ways of giving out the classes."""
    valid = np.isfinite(scores[:, 0])
    scores, one_hot = scores[valid], np.eye(scores.shape[1])[code[valid]]
    if len(scores) < FEWEST_HELD_OUT:
        return 0.0
    scores, one_hot = scores - scores.mean(axis=0), one_hot - one_hot.mean(axis=0)
    variance = ((scores.T @ scores) * (one_hot.T @ one_hot)).sum() / (len(scores) - 1)
    return float((scores * one_hot).sum() / np.sqrt(variance)) if variance > 0 else 0.0


def cut_in_valley(scores, held_out, is_second):
    """The cut to use instead of 0 on scores of the second class.

    Parameters
    ----------
    scores : array (n,)
        Of all nodes that a label reaches; above the cut they belong to the second class.
    held_out : array (l,)
        Scores of labeled nodes, each without its own label.
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
    step = (high - low) / (_N_CUTS - 1)
    n_beyond = int(np.ceil(_REACH * bandwidth / step))
    cuts = low + step * np.arange(-n_beyond, _N_CUTS + n_beyond)
    bounds = np.append(cuts, cuts[-1] + step) - step / 2
    counts = np.histogram(scores, bounds)[0].astype(np.float64)
    density = gaussian_filter1d(counts, bandwidth / step, truncate=_REACH)
    inside = slice(n_beyond, n_beyond + _N_CUTS)
    cuts, density = cuts[inside], density[inside]
    mistakes = np.count_nonzero((held_out[:, None] > cuts) != is_second[:, None], axis=0)
    allowed = np.flatnonzero(mistakes == mistakes.min())
    return float(cuts[allowed[density[allowed].argmin()]]) / 2


def best_threshold(scores, code, prior, threshold):
    """The threshold and the number of its mistakes among nodes that were held out.

    `prior` are the classes' shares of the labels minus 1/C.
    """
    auto = threshold == "auto"
    levels = np.array(_STRENGTHS) * scores.std() if auto else np.array([threshold])
    mistakes = np.array(
        [np.count_nonzero((scores + level * prior).argmax(axis=1) != code) for level in levels]
    )
    # with several classes one threshold is a cruder correction, and has to make up for it
    margin = 0.5 * np.sqrt(mistakes[0]) if prior.size > 2 else 0.0
    least = mistakes.min()
    if least >= mistakes[0] - margin:
        return float(levels[0]), int(mistakes[0])
    return float(levels[mistakes == least].mean()), int(least)
