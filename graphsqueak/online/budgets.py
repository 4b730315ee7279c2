"""Learners that hold at most B points: a new one takes the place of another.

All keep f = sum_i a_i k(x_i, .) and differ in when they learn and in whom they let go. With
labels y = -1 and 1, a mistake being y f(x) <= 0:

    RBP        [CCG07]    at a mistake, a random point goes, and a_t = y.
    Forgetron  [DSS08]    at a mistake a_t = y; all a shrink by phi, and the oldest point goes.
    BPA-S      [WV10]     at a loss l = max(0, 1 - y f), with t = min(C, l / k_tt), x_r goes, and
                          a_t = y t + a_r k_rt / k_tt takes in what it can of it.
    BOGD       [ZWWJH12]  a_i <- (1 - eta lam) a_i, a_t = -eta l'; a random point goes, and the
                          others weigh B / (B - 1) as much, so that f keeps its expectation.

The first two are in `perceptrons`. The Forgetron takes the largest phi <= 1 for which its bound on
mistakes holds: letting the oldest point r go costs

    Psi(phi) = phi^2 (a_r^2 k_rr - 2 a_r f(x_r)) + 2 phi |a_r|,

and the sum of all Psi is to be at most 15/32 of the number of mistakes. Where phi = 1 is too much,
that is a root of A phi^2 + B phi + C, -2 C / (B + (B^2 - 4 A C)^1/2), whatever the sign of A;
[DSS08, Section 5] lists cases.

BPA-S minimizes |f - f_t|^2 / 2 + C l(f) over f that has x_t in the place of some x_r. In t that is
one and the same problem for all r, so r is the one with the least a_r^2 (k_rr - k_rt^2 / k_tt): the
part of it that x_t cannot stand for.

References
----------
[CCG07]    Cavallanti, Cesa-Bianchi, Gentile. Tracking the best hyperplane with a simple budget
           perceptron. Machine Learning 69, 2007.
[DSS08]    Dekel, Shalev-Shwartz, Singer. The Forgetron: a kernel-based perceptron on a budget. SIAM
           J. Computing 37(5), 2008.
[WV10]     Wang, Vucetic. Online passive-aggressive algorithms on a budget. AISTATS 2010.
[ZWWJH12]  Zhao, Wang, Wu, Jin, Hoi. Fast bounded online gradient descent algorithms for scalable
           kernel-based online learning. ICML 2012.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import LOSSES, Law, loss_slope, loss_value
from graphsqueak.randomness import RandomState, uniforms
from graphsqueak.system.kernels import inline_njit, njit_cached
from graphsqueak.validation import check_count, check_real

__all__ = ["BOGD", "BPAS", "OLDEST", "BudgetLearner"]

_BLOCK = 128  # points whose kernel values are evaluated at once
_RANDOM, OLDEST, _LIKEST, _RESCALED = range(4)  # who goes
_SHARE = 15 / 32  # of the mistakes, what the Forgetron may lose


class _Rule(NamedTuple):
    """What compiled functions know of a learner; `step` is eta or C, `most` the largest |a|."""

    kind: int
    loss: Law
    step: float
    shrink: float
    most: float
    clip: float


class _Kept(NamedTuple):
    """Coefficients of the points kept, their rounds, k_ii, and what the Forgetron needs."""

    a: np.ndarray
    came: np.ndarray
    diagonal: np.ndarray
    gram: np.ndarray
    spent: np.ndarray  # the sum of Psi, the number of mistakes


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetLearner(OnlineLearner):
    """Base of the learners in which a new point takes the place of another."""

    clip: float | None = None
    n_components: int = 100

    _needs_clip = False
    _kind = _RANDOM
    _losses = frozenset({"hinge"})

    def _n_kept(self):
        return self._size

    @property
    def components_(self) -> np.ndarray:
        """The points kept."""
        return self._points[: self._size]

    def _begin(self, n_features):
        budget = check_count("n_components", self.n_components)
        name = self._loss().name
        if name not in self._losses:
            known = " and ".join(sorted(self._losses, reverse=True))
            raise InputError(
                f"{type(self).__name__} has no ", Parameter("loss", name), f"; it has {known}"
            )
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        self._rule = self._new_rule()
        self._seed = int(np.random.default_rng(self._random_state()).integers(2**63))
        side = budget if self._kind == OLDEST else 0
        self._points, self._size = np.empty((budget, n_features)), 0
        self._kept = _Kept(
            np.zeros(budget),
            np.zeros(budget, np.int64),
            np.zeros(budget),
            np.zeros((side, side)),
            np.zeros(2),
        )

    def _random_state(self):
        return getattr(self, "random_state", 0)

    def _new_rule(self):
        return _Rule(self._kind, self._loss().law, 1.0, 1.0, np.inf, self._bound())

    def _scores(self, points):
        if not self._size:
            return np.zeros(len(points))
        values = self._kernel(points, self.components_) @ self._kept.a[: self._size]
        return np.clip(values, -self._bound(), self._bound())

    def _features_of(self, points):
        return NystromEmbedding(self._kernel, self.components_)(points)

    def _learn(self, points, targets):
        out, budget = np.empty(len(points)), len(self._points)
        for start in range(0, len(points), _BLOCK):
            some = slice(start, min(start + _BLOCK, len(points)))
            part, first = points[some], self.n_rounds_ + start
            values = np.zeros((len(part), budget))
            values[:, : self._size] = self._kernel(part, self.components_)
            slots = np.full(budget, -1)  # the point of this block that a slot now holds
            self._size = _budget_rounds(
                values,
                self._kernel(part, part),
                targets[some],
                uniforms(self._seed, first, first + len(part)),
                self._rule,
                self._kept,
                self._size,
                first,
                slots,
                out[some],
            )
            new = slots >= 0
            self._points[new] = part[slots[new]]
        return out


@dataclass(kw_only=True, eq=False, repr=False)
class BPAS(BudgetLearner):
    """Budgeted passive-aggressive learning, simple form: a new point takes in the one that goes.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"hinge", "epsilon_insensitive"}
        The first makes a classifier, the second a regressor.
    tolerance : float, optional
        e of the second loss, see `loss_of`.
    clip : float or None
        Bound of predictions, if any.
    n_components : int
        B, the most points.
    aggressiveness : float
        C, the longest step.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.
    components_ : ndarray
        The points kept.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = BPAS(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.8
    (20, True)
    """

    loss: Literal["hinge", "epsilon_insensitive"] = "hinge"
    aggressiveness: float = 1.0

    _kind = _LIKEST
    _losses = frozenset({"hinge", "epsilon_insensitive"})

    def _new_rule(self):
        most = check_real("aggressiveness", self.aggressiveness, above=0.0)
        return super()._new_rule()._replace(step=most)


@dataclass(kw_only=True, eq=False, repr=False)
class BOGD(BudgetLearner):
    """Bounded online gradient descent: a random point makes room, the others weigh more.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance, clip
        As in `KernelOGD`.
    n_components : int
        B, the most points.
    learning_rate, regularization : float
        eta and lam.
    largest : float
        Of the coefficients, over eta: with all B points, f shrinks until none is larger.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.
    components_ : ndarray
        The points kept.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = BOGD(loss="hinge", n_components=50, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.8
    (50, True)
    """

    learning_rate: float = 0.2
    regularization: float = 0.01
    largest: float = 10.0
    random_state: RandomState = None

    _kind = _RESCALED
    _losses = frozenset(LOSSES)

    def _new_rule(self):
        step = check_real("learning_rate", self.learning_rate, above=0.0)
        lam = check_real("regularization", self.regularization, least=0.0)
        most = step * check_real("largest", self.largest, above=0.0)
        shrink = max(1 - step * lam, 0.0)
        return super()._new_rule()._replace(step=step, shrink=shrink, most=most)


@njit_cached(fastmath={"reassoc", "contract"})
def _budget_rounds(values, inside, targets, coins, rule, kept, size, before, slots, out):
    """Rounds with the kernel values of a block to the points kept; how many are kept then."""
    a, n = kept.a, targets.size
    for t in range(n):
        value = 0.0
        for i in range(size):
            value += a[i] * values[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        if rule.shrink != 1:
            for i in range(size):
                a[i] *= rule.shrink
        new = _coefficient(rule, targets[t], value, out[t], inside[t, t])
        if new == 0:
            continue
        kept.spent[1] += 1
        slot = size
        if size < a.size:
            size += 1
        else:
            slot, new = _make_room(rule, kept, values, inside, coins[t], new, t)
        a[slot], kept.came[slot], kept.diagonal[slot] = new, before + t, inside[t, t]
        slots[slot] = t
        if kept.gram.size:
            for i in range(size):
                kept.gram[slot, i] = kept.gram[i, slot] = values[t, i]
            kept.gram[slot, slot] = inside[t, t]
        for later in range(t + 1, n):
            values[later, slot] = inside[later, t]
    return size


@inline_njit
def _coefficient(rule, y, value, prediction, diagonal):
    """What a point is to be kept with; 0: not at all."""
    if rule.kind == _RANDOM or rule.kind == OLDEST:
        return y if y * value <= 0 else 0.0
    slope = loss_slope(rule.loss, y, prediction)
    if rule.kind == _RESCALED:
        return -rule.step * slope
    if diagonal <= 0:
        return 0.0
    return -slope * min(rule.step, loss_value(rule.loss, y, prediction) / diagonal)


@inline_njit
def _make_room(rule, kept, values, inside, coin, new, t):
    """Let a point go: its slot, and the coefficient of the one that takes it."""
    a, row, diagonal = kept.a, values[t], inside[t, t]
    if rule.kind == OLDEST:
        slot = 0
        for i in range(a.size):
            slot = i if kept.came[i] < kept.came[slot] else slot
        phi = _shrinkage(kept, slot, row, new)
        for i in range(a.size):
            a[i] *= phi
        return slot, phi * new
    if rule.kind == _LIKEST:
        slot, least = 0, np.inf
        for i in range(a.size):
            apart = a[i] ** 2 * (kept.diagonal[i] - row[i] ** 2 / diagonal)
            if apart < least:
                slot, least = i, apart
        return slot, new + a[slot] * row[slot] / diagonal
    slot = int(coin * a.size)
    if rule.kind == _RESCALED:
        a[slot] = 0.0
        grown, largest = a.size / max(a.size - 1, 1), abs(new)
        for i in range(a.size):
            largest = max(largest, grown * abs(a[i]))
        scale = min(rule.most / largest, 1.0)
        for i in range(a.size):
            a[i] *= scale * grown
        return slot, scale * new
    return slot, new


@inline_njit
def _shrinkage(kept, slot, row, new):
    """phi, by which the Forgetron can afford to let the point in `slot` go; notes the cost."""
    a = kept.a
    value = new * row[slot]
    for i in range(a.size):
        value += a[i] * kept.gram[slot, i]
    square = a[slot] ** 2 * kept.gram[slot, slot] - 2.0 * a[slot] * value
    linear = 2.0 * abs(a[slot])
    free = kept.spent[0] - _SHARE * kept.spent[1]
    phi = 1.0
    if square + linear + free > 0:
        phi = -2.0 * free / (linear + np.sqrt(linear**2 - 4.0 * square * free))
    kept.spent[0] += phi * (square * phi + linear)
    return phi
