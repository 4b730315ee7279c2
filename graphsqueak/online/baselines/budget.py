"""Learners with at most B support points, which replace one support point by another.

All of them learn f = sum_i a_i k(x_i, .). They differ in when they update and in which support
point x_r they remove. For targets y = -1 and 1, a mistake is y f(x) <= 0.

    RBP        [CCG07]    After a mistake, a_t = y. Removes a random point.
    Forgetron  [DSS08]    After a mistake, a_t = y. Multiplies all a by phi and removes the oldest
                          point.
    BPA-S      [WV10]     After a loss l = max(0, 1 - y f), with tau = min(C, l / k_tt),
                          a_t = y tau + a_r k_rt / k_tt. Removes the point that costs least.
    BOGD       [ZWWJH12]  a_i <- (1 - eta lam) a_i, a_t = -eta l'. Removes a random point and
                          multiplies the other coefficients by B / (B - 1), which preserves f in
                          expectation.

The Forgetron chooses the largest phi <= 1 for which its bound on the number of mistakes holds.
Removing the oldest point r costs

    Psi(phi) = phi^2 (a_r^2 k_rr - 2 a_r f(x_r)) + 2 phi |a_r|,

and the sum of all Psi must not exceed 15/32 of the number of mistakes. If phi = 1 costs too much,
phi is a root of A phi^2 + B phi + C, namely -2 C / (B + (B^2 - 4 A C)^1/2) for A of any sign;
[DSS08, Section 5] distinguishes cases.

BPA-S minimizes |f - f_t|^2 / 2 + C l(f) over all f in which x_t replaces some x_r. The minimization
over tau is the same for all r, so r is the point with the smallest a_r^2 (k_rr - k_rt^2 / k_tt),
the part that x_t cannot represent.

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
from enum import IntEnum
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from graphsqueak.kernel.kernels import Kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import LOSSES, CompiledLoss, loss_slope, loss_value
from graphsqueak.online.support_set import SupportModel, SupportSet
from graphsqueak.randomness import RandomState, uniforms
from graphsqueak.system.kernels import inline_njit, njit_cached
from graphsqueak.validation import check_count, check_real


class Algorithm(IntEnum):
    """The learners, numbered for compiled functions."""

    RBP = 0
    FORGETRON = 1
    BPAS = 2
    BOGD = 3


class BudgetRule(NamedTuple):
    """Parameters of a learner, as one argument of compiled functions.

    `step_size` is eta of BOGD or C of BPA-S, `shrinkage` 1 - eta lam.
    """

    algorithm: int
    loss: CompiledLoss
    step_size: float
    shrinkage: float
    max_coefficient: float
    clip: float


class BudgetState(NamedTuple):
    """Arrays with one entry per slot, for compiled functions.

    `gram`, the kernel matrix of the support points, and `removal_cost`, the sum of Psi and the
    number of mistakes, are used by the Forgetron only.
    """

    a: np.ndarray
    inserted_in_round: np.ndarray
    diagonal: np.ndarray
    gram: np.ndarray
    removal_cost: np.ndarray


class BudgetModel(SupportModel):
    """The model of the learners in this module.

    Attributes
    ----------
    seed : int
        Of the numbers that choose which point is removed: `uniforms(seed, t, t + 1)` in round t.
    support : SupportSet
    state : BudgetState
    """

    def __init__(
        self, kernel: Kernel, n_features: int, rule: BudgetRule, *, capacity: int, seed: int
    ) -> None:
        self.rule = rule
        self.seed = seed
        self.support = SupportSet(kernel, n_features, capacity=capacity)
        # Only the Forgetron evaluates f at support points.
        n_gram = capacity if rule.algorithm == Algorithm.FORGETRON else 0
        self.state = BudgetState(
            a=np.zeros(capacity),
            inserted_in_round=np.zeros(capacity, np.int64),
            diagonal=np.zeros(capacity),
            gram=np.zeros((n_gram, n_gram)),
            removal_cost=np.zeros(2),
        )
        self._n_rounds = 0

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = np.empty(len(points))

        def run_rounds(rows, values, gram, source):
            first = self._n_rounds + rows.start
            size = _budget_rounds(
                values,
                gram,
                targets[rows],
                uniforms(self.seed, first, first + len(values)),
                self.rule,
                self.state,
                self.support.size,
                first,
                source,
                out[rows],
            )
            return len(values), size

        self.support.run_blocks(points, run_rounds)
        self._n_rounds += len(points)
        return out

    def scores(self, points):
        """Return f at the points, clipped."""
        values = self.support.values(points) @ self.state.a[: self.support.size]
        return np.clip(values, -self.rule.clip, self.rule.clip)


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetLearner(OnlineLearner):
    """Base class of the learners that replace one support point by another."""

    clip: float | None = None
    n_components: int = 100

    _algorithm: ClassVar[Algorithm]
    _losses: ClassVar[tuple[str, ...]] = ("hinge",)

    @property
    def components_(self) -> np.ndarray:
        """The support points."""
        return self.models_[0].support.points

    def _make_model(self, kernel, n_features):
        self._require_loss(*self._losses)
        # Forgetron and BPA-S use no random numbers.
        random_state = self.get_params().get("random_state", 0)
        return BudgetModel(
            kernel,
            n_features,
            self._rule(),
            capacity=check_count("n_components", self.n_components),
            seed=int(np.random.default_rng(random_state).integers(2**63)),
        )

    def _rule(self):
        return BudgetRule(
            int(self._algorithm),
            self._loss().compiled,
            step_size=1.0,
            shrinkage=1.0,
            max_coefficient=np.inf,
            clip=self._clip(),
        )


@dataclass(kw_only=True, eq=False, repr=False)
class RBP(BudgetLearner):
    """Random budget perceptron: the simplest baseline with a budget, for two or more classes.

    Use it as the least that a learner with a budget must beat. After a mistake, the point replaces
    a random support point.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge" and None; updates follow mistakes.
    clip : float or None
        Bound of the scores that are returned.
    n_components : int
        B, the largest number of support points.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.
    components_ : ndarray
        The support points.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = RBP(n_components=20, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.8
    (True, True)
    """

    loss: Literal["hinge"] = "hinge"
    random_state: RandomState = None

    _algorithm = Algorithm.RBP


@dataclass(kw_only=True, eq=False, repr=False)
class Forgetron(BudgetLearner):
    """Self-tuned Forgetron: a baseline with a budget and a bound on the number of mistakes.

    Use it to compare with a perceptron that has a guarantee. After a mistake all coefficients
    shrink, and the point replaces the oldest support point. The bound holds for kernels with
    k(x, x) <= 1.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge" and None; updates follow mistakes.
    clip : float or None
        Bound of the scores that are returned.
    n_components : int
        B, the largest number of support points.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.
    components_ : ndarray
        The support points.
    removal_cost_ : float
        Sum of Psi per mistake; the proof needs at most 15/32.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = Forgetron(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.8, m.removal_cost_ <= 15 / 32
    (True, True, True)
    """

    loss: Literal["hinge"] = "hinge"

    _algorithm = Algorithm.FORGETRON

    @property
    def removal_cost_(self) -> float:
        """Sum of Psi per mistake."""
        total, n_mistakes = self.models_[0].state.removal_cost
        return float(total / max(n_mistakes, 1.0))


@dataclass(kw_only=True, eq=False, repr=False)
class BPAS(BudgetLearner):
    """Budgeted passive-aggressive learning (BPA-S): a baseline with a budget.

    Use it to compare with steps that are sized by the loss. The new point takes over what it can
    represent of the support point that it replaces.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"hinge", "epsilon_insensitive"}
        With the first the learner is a classifier, with the second a regressor.
    tolerance : float, optional
        The e of the second loss, see `get_loss`.
    clip : float or None
        Bound of the predictions.
    n_components : int
        B, the largest number of support points.
    aggressiveness : float
        C, the largest step.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.
    components_ : ndarray
        The support points.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = BPAS(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.8
    (20, True)
    """

    loss: Literal["hinge", "epsilon_insensitive"] = "hinge"
    aggressiveness: float = 1.0

    _algorithm = Algorithm.BPAS
    _losses = ("hinge", "epsilon_insensitive")

    def _rule(self):
        step_size = check_real("aggressiveness", self.aggressiveness, above=0.0)
        return super()._rule()._replace(step_size=step_size)


@dataclass(kw_only=True, eq=False, repr=False)
class BOGD(BudgetLearner):
    """Bounded online gradient descent: a baseline with a budget, for any loss.

    Use it to compare with gradient descent on a budget. A random support point is removed, and the
    coefficients of the others increase.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance, clip
        As for `KernelOGD`.
    n_components : int
        B, the largest number of support points.
    learning_rate, regularization : float
        Step size eta and regularization lam.
    max_coefficient : float
        Largest coefficient as a multiple of eta. If one of B coefficients is larger, f is scaled.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.
    components_ : ndarray
        The support points.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = BOGD(loss="hinge", n_components=50, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.8
    (50, True)
    """

    learning_rate: float = 0.2
    regularization: float = 0.01
    max_coefficient: float = 10.0
    random_state: RandomState = None

    _algorithm = Algorithm.BOGD
    _losses = tuple(LOSSES)

    def _rule(self):
        # `max_coefficient` is relative to eta, the size of a new coefficient.
        step_size = check_real("learning_rate", self.learning_rate, above=0.0)
        lam = check_real("regularization", self.regularization, least=0.0)
        max_steps = check_real("max_coefficient", self.max_coefficient, above=0.0)
        rule = super()._rule()
        return rule._replace(
            step_size=step_size,
            shrinkage=max(1 - step_size * lam, 0.0),
            max_coefficient=step_size * max_steps,
        )


@njit_cached(fastmath={"reassoc", "contract"})
def _budget_rounds(values, gram, targets, uniform, rule, state, size, n_before, source, out):
    """Run rounds on one block; return the number of support points."""
    a = state.a
    for t in range(targets.size):
        value = 0.0
        for i in range(size):
            value += a[i] * values[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        if rule.shrinkage != 1:
            for i in range(size):
                a[i] *= rule.shrinkage
        new = _new_coefficient(rule, targets[t], value, out[t], gram[t, t])
        if new == 0:
            continue
        state.removal_cost[1] += 1
        slot = size
        if size < a.size:
            size += 1
        elif rule.algorithm == Algorithm.FORGETRON:
            slot, new = _replace_oldest(state, values[t], new)
        elif rule.algorithm == Algorithm.BPAS:
            slot, new = _replace_cheapest(state, values[t], new, gram[t, t])
        else:
            slot = int(uniform[t] * a.size)
            if rule.algorithm == Algorithm.BOGD:
                new = _rescale(rule, a, slot, new)
        a[slot] = new
        state.inserted_in_round[slot] = n_before + t
        state.diagonal[slot] = gram[t, t]
        source[slot] = t
        if state.gram.size:
            for i in range(size):
                state.gram[slot, i] = values[t, i]
                state.gram[i, slot] = values[t, i]
            state.gram[slot, slot] = gram[t, t]
        # Later points of the block need their kernel values to the new support point.
        for later in range(t + 1, targets.size):
            values[later, slot] = gram[later, t]
    return size


@inline_njit
def _new_coefficient(rule, y, value, prediction, diagonal):
    """Return the coefficient of a new point before one is removed; 0 if there is no update."""
    if rule.algorithm == Algorithm.RBP or rule.algorithm == Algorithm.FORGETRON:
        return y if y * value <= 0 else 0.0
    slope = loss_slope(rule.loss, y, prediction)
    if rule.algorithm == Algorithm.BOGD:
        return -rule.step_size * slope
    # BPA-S: a point with k_tt = 0 cannot change any prediction.
    if diagonal <= 0:
        return 0.0
    return -slope * min(rule.step_size, loss_value(rule.loss, y, prediction) / diagonal)


@inline_njit
def _replace_oldest(state, row, new):
    """Shrink all coefficients of the Forgetron; return the oldest slot and the new coefficient."""
    a = state.a
    slot = np.argmin(state.inserted_in_round)
    # f(x_r) after the new point was added.
    value = new * row[slot]
    for i in range(a.size):
        value += a[i] * state.gram[slot, i]
    # Psi(phi) = square * phi^2 + linear * phi; `excess`: cost so far beyond 15/32 per mistake.
    square = a[slot] ** 2 * state.gram[slot, slot] - 2.0 * a[slot] * value
    linear = 2.0 * abs(a[slot])
    excess = state.removal_cost[0] - 15 / 32 * state.removal_cost[1]
    phi = 1.0
    if square + linear + excess > 0:
        phi = -2.0 * excess / (linear + np.sqrt(linear**2 - 4.0 * square * excess))
    state.removal_cost[0] += phi * (square * phi + linear)
    for i in range(a.size):
        a[i] *= phi
    return slot, phi * new


@inline_njit
def _replace_cheapest(state, row, new, diagonal):
    """Return the slot that BPA-S removes at the least cost, and the new coefficient."""
    a = state.a
    slot = 0
    least = np.inf
    for i in range(a.size):
        # Squared norm of the part of a_i k(x_i, .) that is orthogonal to k(x_t, .).
        cost = a[i] ** 2 * (state.diagonal[i] - row[i] ** 2 / diagonal)
        if cost < least:
            slot = i
            least = cost
    return slot, new + a[slot] * row[slot] / diagonal


@inline_njit
def _rescale(rule, a, slot, new):
    """Scale the coefficients of BOGD that stay; return the new coefficient."""
    a[slot] = 0.0
    # B / (B - 1), then a common factor that limits the largest coefficient.
    growth = a.size / max(a.size - 1, 1)
    largest = abs(new)
    for i in range(a.size):
        largest = max(largest, growth * abs(a[i]))
    scale = min(rule.max_coefficient / largest, 1.0)
    for i in range(a.size):
        a[i] *= scale * growth
    return scale * new
