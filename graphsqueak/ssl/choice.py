"""Choose eta and the threshold from the labelled nodes themselves.

Every candidate eta is judged by how many labelled nodes it would misclassify had it not known
them. Few labels: leave-one-out, in closed form (`reduction`). Many labels on a large graph: four
folds, each predicted from the other three. Candidates are multiples of 1 / (mean degree), so that
rescaling all weights changes nothing.

Decisions are made on centred scores, f + t (m - 1/C) with m the class means and t the threshold.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 is the uncentred f + ybar. t is judged with eta, and stays 0 unless something else makes
strictly fewer mistakes; eta stays at its first candidate unless another one makes fewer by more
than the square root of their number, the noise of counting.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.ssl.reduction import leave_one_out, reduce_to_labels
from graphsqueak.ssl.stable import stable_scores

__all__ = ["Choice", "choose_for_classes", "choose_for_values", "leaving_out", "natural_unit"]

_ETAS = (0.02, 0.2, 0.001)  # in natural units; the first is the one to take when in doubt
_VALUE_ETAS = (0.02, 0.001, 0.3, 3.0, 30.0)
_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)  # in spreads of the scores
_FEW_JUDGES = 8  # below which leave-one-out says nothing
_MOST_WORK = 5e7  # labels times edges and nodes that leave-one-out may cost
_N_FOLDS = 4
_FOLD_TOL = 1e-5


class Choice(NamedTuple):
    """What was chosen; `mistakes` is the share of judges misclassified, NaN if nobody judged."""

    eta: float
    threshold: float
    mistakes: float


def natural_unit(graph):
    """1 / (mean weighted degree): eta in this unit does not depend on the scale of the weights.

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
        judged(eta) gives the centred scores of some labelled nodes that did not know their own
        labels, and their offsets.
    code : array of int
        The classes of these nodes.
    counts : array of int
        Labels of every class.
    unit : float
        `natural_unit` of the graph.
    """
    etas = [c * unit for c in _ETAS] if eta == "auto" else [eta]
    levels = (0.0,) if threshold == "auto" else (threshold,)
    best, least = Choice(etas[0], levels[0], np.nan), None
    could_judge = np.count_nonzero(counts[code] > 1)  # of a class that would survive without them
    if could_judge < _FEW_JUDGES or (threshold != "auto" and len(etas) == 1):
        return best
    prior = counts / counts.sum() - 1 / counts.size
    for candidate in etas:
        scores, _ = judged(candidate)
        valid = np.isfinite(scores[:, 0]) & (counts[code] > 1)
        n_judges = np.count_nonzero(valid)
        if n_judges < _FEW_JUDGES:
            break
        if threshold == "auto":
            levels = np.array(_STRENGTHS) * scores[valid].std()
        mistakes = [
            np.count_nonzero((scores[valid] + level * prior).argmax(axis=1) != code[valid])
            for level in levels
        ]
        rank = int(np.argmin(mistakes))
        # another eta has to be better by more than the noise of counting mistakes
        if least is None or mistakes[rank] < least - np.sqrt(least):
            least = mistakes[rank]
            best = Choice(candidate, float(levels[rank]), least / n_judges)
    return best


def choose_for_values(graph, labels, *, eta, rng):
    """eta for a regressor: the least squared error of leave-one-out or of the folds."""
    if eta != "auto":
        return eta
    unit = natural_unit(graph)
    targets = labels.value[:, None]
    best, least = _VALUE_ETAS[0] * unit, np.inf
    if labels.nodes.size < _FEW_JUDGES:
        return best
    judged = leaving_out(graph, labels.nodes, targets, rng)
    for candidate in (c * unit for c in _VALUE_ETAS):
        scores, mean = judged(candidate)
        valid = np.isfinite(scores[:, 0])
        if np.count_nonzero(valid) < _FEW_JUDGES:
            break
        error = float(((scores + mean - targets)[valid] ** 2).mean())
        if error < least:
            best, least = candidate, error
    return best


def leaving_out(graph, nodes, targets, rng):
    """A function of eta: scores and offsets of the labelled nodes, each without its own label."""
    n_labels = nodes.size
    if n_labels * (graph.n_edges + graph.n_nodes) <= _MOST_WORK:
        reduction = reduce_to_labels(graph, nodes, random_state=rng)
        return lambda eta: leave_one_out(reduction, targets, n_labels * eta)
    fold = rng.permutation(n_labels) % _N_FOLDS
    seed = int(rng.integers(2**63))

    def by_folds(eta):
        scores, mean = np.full_like(targets, np.nan), np.full_like(targets, np.nan)
        for number in range(_N_FOLDS):
            rest, out = fold != number, fold == number
            fit = stable_scores(
                graph,
                nodes[rest],
                targets[rest],
                rest.sum() * eta,
                tol=_FOLD_TOL,
                random_state=seed,
            )
            held = nodes[out]
            scores[out] = np.where(fit.reached[held][:, None], fit.centred[held], np.nan)
            mean[out] = fit.offset[held]
        return scores, mean

    return by_folds
