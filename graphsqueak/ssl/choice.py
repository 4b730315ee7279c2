"""What the labeled nodes themselves say: eta, the threshold and the cut.

What matters is alpha = l eta, and in units of 1 / (mean degree), so that rescaling all weights
changes nothing, one value suits nearly every graph and any number of labels. It is tested by how
many labeled nodes it would misclassify had it not known them. Where that is more than a tenth of
them, other values are tested as well, and taken if they make fewer mistakes by more than the square
root of their number, the noise of counting; the first that is ends the search. Fewer than four
labels a class are too few to test by.

Decisions are made on centered scores, f + t (m - 1/C) with m the class means and t the threshold.
t = 0 is best unless the classes are uneven and overlap, where part of the prior has to come back;
t = 1 is the uncentered f + ybar. t is tested with eta. Of two classes it is a mean of all that are
tried, by the mistakes that each makes (`thresholds`). Of more, it stays 0 unless something else
makes clearly fewer, and is the mean of all that make as few.

*Leave-one-out* needs no other fit. Seen from the labeled nodes S, Stable-HFS is a linear smoother:
f_S = M y~, where M b are the values on S of the minimizer for labels b. Without label i it is
M'_ij = M_ij / (1 - M_ii), as in any penalized least squares, so that

    f_i without i  =  ( (M y)_i - M_ii y_i - ybar_i ((M 1)_i - M_ii) ) / (1 - M_ii),

exactly, where ybar_i is the mean of the other labels of the component and alpha stays fixed. M y is
the fit itself, M 1 = 1 - (1' 1 / 1' v) v since A 1 = I_S 1, and of columns that sum to one over the
classes the last is what the others leave: with v, C columns are all that is solved. The diagonal
takes a column per label; with many labels it is sketched instead: for random signs s, the mean of
s_i (M s)_i is M_ii with variance sum_(j != i) M_ij^2 over the number of probes: little, since the
weight of a row of M is mostly on its diagonal or spread over many labels. The probes are those of a
graph that is read in passes (`refinement`), so that both choose alike. Few digits are enough to
choose by, and the fit goes on from there.

*Another eta*, rho times as large, has the smoother M (M + rho (I - M))^-1. Of few labels M is
known, and nothing is solved again. Of many there are no further probes: that function of M has on
its diagonal, about, the mean of its values at M_ii plus and minus the spread of the row.
"""

from typing import NamedTuple

import numpy as np

from graphsqueak.solvers import LaplacianSolver
from graphsqueak.solvers.components import component_sums
from graphsqueak.ssl.decisions.thresholds import best_threshold
from graphsqueak.ssl.stable import Fit, StableSolver, centered_fit, natural_unit
from graphsqueak.validation import check_real

__all__ = [
    "CHOICE_TOL",
    "FEWEST_HELD_OUT",
    "NOT_LEFT_OUT",
    "N_ETAS",
    "Choice",
    "HeldFits",
    "LeftOut",
    "candidate_etas",
    "check_eta",
    "choose_for_classes",
    "leave_one_out",
    "left_out_scores",
    "may_need_others",
    "probe_signs",
]

CHOICE_TOL = 1e-5  # of solves that only serve to choose
_LEFT_OUT_TOL = 1e-3  # of leave-one-out; a tenth for few labels, or where M_ii is near 1
_CLOSEST = 1e-6  # of M_ii to one
_FEW = 32  # labels that get a column each
_N_PROBES = 16  # for the diagonal of M
_ALPHAS = (2.0, 0.2, 20.0)  # in natural units; the first is the one to take when in doubt
N_ETAS = len(_ALPHAS)
FEWEST_HELD_OUT = 8  # below which leave-one-out says nothing
_FEWEST_A_CLASS = 4
_GOOD_ENOUGH = 0.1  # share of mistakes at which no other eta is tried


class Choice(NamedTuple):
    """What was chosen, and by which labeled nodes.

    `held_out` and `code` are the centered scores and the classes of those that were scored without
    their own labels, empty if there were too few; `mistakes` is the share of them that was
    misclassified, else NaN. `trust` is how much each of them counts, 1 in the mean.
    """

    eta: float
    threshold: float
    mistakes: float
    held_out: np.ndarray
    code: np.ndarray
    trust: np.ndarray


def check_eta(eta):
    """`eta` as a positive number or "auto"."""
    return eta if eta == "auto" else check_real("eta", eta, above=0.0, below=np.inf)


def candidate_etas(unit, n_labels):
    """What "auto" chooses from; the first is the one to take when in doubt."""
    return [alpha * unit / n_labels for alpha in _ALPHAS]


def choose_for_classes(score_held_out, code, counts, *, unit, eta, threshold, trust=None):
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
    trust : array of float, optional
        How much the mistake at each of these nodes counts, which are then all labeled nodes.
    """
    etas = candidate_etas(unit, counts.sum()) if eta == "auto" else [eta]
    none = np.zeros((0, counts.size)), np.zeros(0, dtype=np.int64)
    best = Choice(etas[0], 0.0 if threshold == "auto" else threshold, np.nan, *none, np.zeros(0))
    even = counts.size > 2 and (counts == counts[0]).all()
    settled = len(etas) == 1 and (threshold != "auto" or even)
    n_useful = np.count_nonzero(counts[code] > 1)  # of a class that would survive without them
    if settled or n_useful < max(FEWEST_HELD_OUT, _FEWEST_A_CLASS * counts.size):
        return best
    trust = np.ones(code.size) if trust is None else trust / trust.mean()
    shares = counts / counts.sum() if (trust == 1).all() else np.bincount(code, trust) / code.size
    prior, least = shares - 1 / counts.size, None
    for candidate in etas:
        scores = score_held_out(candidate)
        if scores is None:
            break
        valid = np.isfinite(scores[:, 0]) & (counts[code] > 1)
        n_valid = np.count_nonzero(valid)
        if n_valid < FEWEST_HELD_OUT:
            break
        held_out = scores[valid], code[valid]
        level, mistakes = best_threshold(*held_out, prior, threshold, trust=trust[valid])
        if least is None or mistakes < least - np.sqrt(least):
            is_other = least is not None
            share = mistakes / trust[valid].sum()
            least, best = mistakes, Choice(candidate, level, share, *held_out, trust[valid])
            if is_other:  # the next candidate lies on the other side of the first
                break
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


class LeftOut(NamedTuple):
    """The `fit` to all labels, and what labeled nodes get without their own.

    `scores` and label `mean`, of shape (l, C); NaN where the component has no other label.
    """

    fit: Fit | None
    scores: np.ndarray | None
    mean: np.ndarray | None


NOT_LEFT_OUT = LeftOut(None, None, None)  # of an eta that comes too late to be tried


def leave_one_out(
    graph, labeled, targets, alpha, *, trust=None, n_probes=_N_PROBES, tol=1e-8, random_state=None
):
    """Fit to all labels, and what each labeled node would get without its own.

    Parameters
    ----------
    graph, labeled, targets, alpha, trust, tol
        As of `stable_scores`.
    n_probes : int
        Columns for the diagonal of M, if there are more than 32 labels.
    random_state : int, Generator or None
        Seeds the probes and the solver.

    Examples
    --------
    On a path whose ends are labeled, each end alone says the same everywhere:

    >>> from graphsqueak.graph import EdgeList
    >>> path = EdgeList(tail=[0, 1], head=[1, 2])
    >>> out = leave_one_out(path, np.array([0, 2]), np.array([[1.0], [0.0]]), alpha=1.0)
    >>> out.scores.ravel().round(6) + 0.0, out.mean.ravel()
    (array([0., 0.]), array([0., 1.]))
    """
    rng = np.random.default_rng(random_state)
    signs = probe_signs(len(targets), rng, n_probes=n_probes)
    solver = LaplacianSolver(graph, tol=tol, random_state=rng)
    values = StableSolver(solver, labeled, targets, alpha, trust=trust).smooth(signs)
    return left_out_scores(values, signs, solver.component, labeled, targets, trust=trust)


def probe_signs(n_labels, rng, *, n_probes=_N_PROBES):
    """Columns that tell the diagonal of M: one for each of few labels, else random signs."""
    if n_labels <= max(n_probes, _FEW):
        return np.eye(n_labels)
    return rng.choice([-1.0, 1.0], size=(n_labels, n_probes))


def left_out_scores(values, signs, component, labeled, targets, *, trust=None):
    """`LeftOut` from `values`, M b for the columns b of `targets`, of ones and of `signs`."""
    n_labels, n_columns = targets.shape
    fit = centered_fit(values, component, labeled, targets, trust=trust)
    raw, probes = np.split(values[labeled], [n_columns + 1], axis=1)
    products = signs * probes
    is_exact = signs.shape[1] == n_labels
    diagonal = products.sum(axis=1) if is_exact else products.mean(axis=1)
    scores, rest = _without_own(raw, diagonal, component[labeled], targets, trust)
    return LeftOut(fit, scores, rest)


def _without_own(raw, diagonal, own, targets, trust):
    """Scores and label means of labeled nodes without themselves.

    By `raw`, M b for the columns b of `targets` and of ones at the labeled nodes, the `diagonal` of
    M, and their `own` components.
    """
    diagonal = np.clip(diagonal, 0.0, 1 - _CLOSEST)[:, None]
    trust = np.ones(len(targets)) if trust is None else trust
    total = np.bincount(own, trust)[own][:, None]
    others = np.where(np.bincount(own)[own] > 1, total[:, 0] - trust, np.nan)[:, None]
    held = trust[:, None] * targets
    rest = (component_sums(own, int(own.max()) + 1, held)[own] - held) / others
    scores = raw[:, :-1] - diagonal * targets - rest * (raw[:, -1:] - diagonal)
    return scores / (1 - diagonal), rest


class HeldFits:
    """Stable-HFS on a graph in memory, for the etas that are asked for.

    Parameters
    ----------
    graph, labeled, targets, trust, tol
        As of `stable_scores`.
    random_state : int, Generator or None
        Seeds the probes and the solver, of every fit alike.
    """

    def __init__(self, graph, labeled, targets, *, trust=None, tol, random_state):
        self._about, self._trust = (labeled, targets), trust
        self._solver = LaplacianSolver(
            graph, tol=tol, random_state=np.random.default_rng(random_state)
        )
        self._random_state, self._unit = random_state, natural_unit(graph)
        self._held = {}
        self._first = None  # the eta that was probed, and M or its diagonal and the spread of it

    def left_out(self, eta):
        """`leave_one_out` with this eta, to a tolerance that is enough to choose by; no fit."""
        labeled, targets = self._about
        if self._first is None:
            found = self._probe(eta)
        elif self._first[1].ndim == 2:
            found = _other_smoother(self._first[1], eta / self._first[0], targets)
        else:
            raw = self._smooth(eta, np.zeros((len(targets), 0)))
            found = raw, _other_diagonal(*self._first[1:], eta / self._first[0])
        own = self._solver.component[labeled]
        return LeftOut(None, *_without_own(*found, own, targets, self._trust))

    def _probe(self, eta):
        """M b for `targets` and ones at labeled nodes, and the diagonal of M."""
        n_labels, n_columns = self._about[1].shape
        signs = probe_signs(n_labels, np.random.default_rng(self._random_state))
        raw, probes = np.split(self._smooth(eta, signs), [n_columns + 1], axis=1)
        if signs.shape[1] == n_labels:
            self._first = eta, probes
            return raw, np.diag(probes)
        products = signs * probes
        diagonal = np.clip(products.mean(axis=1), 0.0, 1 - _CLOSEST)
        self._first = eta, diagonal, products.std(axis=1, ddof=1)
        return raw, diagonal

    def _smooth(self, eta, signs):
        """M b at labeled nodes, for targets, ones and `signs`."""
        alpha, n_labels = len(signs) * eta / (_ALPHAS[0] * self._unit), len(signs)
        share = 0.1 if n_labels <= _FEW else min(max(alpha, 0.1), 1.0)
        tol = max(self._solver.tol, share * _LEFT_OUT_TOL)
        return self._at(eta).smooth(signs, tol=tol, at=self._about[0])

    def fit(self, eta):
        """`stable_scores` with this eta."""
        return self._at(eta).fit()

    def _at(self, eta):
        """The equations; those of the first eta are kept, and those of the last."""
        if eta not in self._held:
            for old in [*self._held][1:]:
                del self._held[old]
            solver = next((first.solver for first in self._held.values()), self._solver)
            about = (*self._about, len(self._about[0]) * eta)
            self._held[eta] = StableSolver(solver, *about, trust=self._trust)
        return self._held[eta]


def _other_diagonal(diagonal, spread, ratio):
    """Of M, for an eta so many times as large, from its rows' `spread` off the diagonal."""
    spread = np.minimum(spread, np.minimum(diagonal, 1 - diagonal))
    values = diagonal + spread * np.array([[-1.0], [1.0]])
    return (values / (values + ratio * (1 - values))).mean(axis=0)


def _other_smoother(smoother, ratio, targets):
    """M b for `targets` and ones, and the diagonal of M, for an eta so many times as large.

    >>> _other_smoother(np.array([[0.5]]), 3.0, np.array([[2.0]]))
    (array([[0.5 , 0.25]]), array([0.25]))
    """
    mixed = smoother + ratio * (np.eye(len(smoother)) - smoother)
    other = np.linalg.solve(mixed.T, smoother.T).T
    return other @ np.column_stack([targets, np.ones(len(targets))]), np.diag(other)
