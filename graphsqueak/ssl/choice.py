"""Choose eta and the threshold from the labeled nodes themselves.

What matters is alpha = l eta, and in units of 1 / (mean degree), so that rescaling all weights
changes nothing, one value suits nearly every graph and any number of labels. It is judged by how
many labeled nodes it would misclassify had it not known them (`leave_one_out`). Where that is more
than a tenth of them, others are judged as well, and taken if they make fewer mistakes by more than
the square root of their number, the noise of counting; with fewer than four labels a class nobody
can judge.

Decisions are made on centered scores, f + t (m - 1/C) with m the class means and t the threshold.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 is the uncentered f + ybar. t is judged with eta. It stays 0 unless something else makes fewer
mistakes, and is the mean of all that make as few: the middle of the gap between the classes.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.leave_one_out import leave_one_out

__all__ = ["Choice", "choose_for_classes", "choose_for_values", "natural_unit"]

_ALPHAS = (2.0, 0.2, 20.0)  # in natural units; the first is the one to take when in doubt
_VALUE_ALPHAS = (2.0, 0.1, 30.0, 300.0)
_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)  # in spreads of the scores
_FEW_JUDGES = 8  # below which leave-one-out says nothing
_FEW_A_CLASS = 4
_GOOD_ENOUGH = 0.1  # share of mistakes at which no other eta is tried
_JUDGE_TOL = 1e-5


class Choice(NamedTuple):
    """What was chosen, and by whom: centered scores and classes of the judges, empty if there were
    too few; `mistakes` is the share of them misclassified, else NaN."""

    eta: float
    threshold: float
    mistakes: float
    judged: np.ndarray
    code: np.ndarray


def natural_unit(graph):
    """1 / (mean weighted degree): alpha in this unit does not depend on the scale of the weights.

    >>> from graphsqueak.graph import EdgeList
    >>> natural_unit(EdgeList(tail=[0, 1], head=[1, 0], weight=[2.0, 2.0]))
    0.25
    """
    degrees = graph.degrees()
    total = degrees.sum()
    return float(np.count_nonzero(degrees) / total) if total > 0 else 1.0


def choose_for_classes(judged, code, counts, *, unit, eta, threshold):
    """eta and threshold for a classifier; what is a number already is kept.

    Parameters
    ----------
    judged : callable
        judged(eta) gives the centered scores of some labeled nodes that did not know their own
        labels.
    code : array of int
        The classes of these nodes.
    counts : array of int
        Labels of every class.
    unit : float
        `natural_unit` of the graph.
    """
    etas = [alpha * unit / counts.sum() for alpha in _ALPHAS] if eta == "auto" else [eta]
    nobody = np.zeros((0, counts.size)), np.zeros(0, dtype=np.int64)
    best = Choice(etas[0], 0.0 if threshold == "auto" else threshold, np.nan, *nobody)
    even = counts.size > 2 and (counts == counts[0]).all()
    settled = len(etas) == 1 and (threshold != "auto" or even)
    could_judge = np.count_nonzero(counts[code] > 1)  # of a class that would survive without them
    if settled or could_judge < max(_FEW_JUDGES, _FEW_A_CLASS * counts.size):
        return best
    prior = counts / counts.sum() - 1 / counts.size
    least = None
    for candidate in etas:
        scores = judged(candidate)
        valid = np.isfinite(scores[:, 0]) & (counts[code] > 1)
        n_judges = np.count_nonzero(valid)
        if n_judges < _FEW_JUDGES:
            break
        judges = scores[valid], code[valid]
        level, mistakes = _threshold(*judges, prior, threshold)
        if least is None or mistakes < least - np.sqrt(least):
            least, best = mistakes, Choice(candidate, level, mistakes / n_judges, *judges)
        if least <= _GOOD_ENOUGH * n_judges:
            break
    return best


def _threshold(scores, code, prior, threshold):
    """The threshold and its number of mistakes among the judges."""
    auto = threshold == "auto"
    levels = np.array(_STRENGTHS) * scores.std() if auto else np.array([threshold])
    mistakes = np.array(
        [np.count_nonzero((scores + level * prior).argmax(axis=1) != code) for level in levels]
    )
    # with several classes one threshold is a cruder correction, and has to earn its place
    margin = 0.5 * np.sqrt(mistakes[0]) if prior.size > 2 else 0.0
    least = mistakes.min()
    if least >= mistakes[0] - margin:
        return float(levels[0]), int(mistakes[0])
    return float(levels[mistakes == least].mean()), int(least)


def choose_for_values(graph, labels, *, eta, rng):
    """eta for a regressor: that of the least squared leave-one-out error."""
    if eta != "auto":
        return eta
    targets, n_labels = labels.value[:, None], labels.nodes.size
    etas = [alpha * natural_unit(graph) / n_labels for alpha in _VALUE_ALPHAS]
    best, least = etas[0], np.inf
    if n_labels < _FEW_JUDGES:
        return best
    seed = int(rng.integers(2**63))
    for candidate in etas:
        left = leave_one_out(
            graph, labels.nodes, targets, n_labels * candidate, tol=_JUDGE_TOL, random_state=seed
        )
        wrong = (left.scores + left.mean - targets).ravel()
        valid = np.isfinite(wrong)
        if np.count_nonzero(valid) < _FEW_JUDGES:
            break
        error = float((wrong[valid] ** 2).mean())
        if error < least:
            best, least = candidate, error
    return best
