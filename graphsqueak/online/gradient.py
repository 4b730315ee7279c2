"""Online gradient descent: on features in R^k, and on an expansion in kernel functions.

With the step eta and the regularizer lam [KSW04],

    w <- (1 - eta lam) w - eta l'(y, f) z,          f = w'z, clipped,
    a_i <- (1 - eta lam) a_i,   a_t = -eta l'(y, f),   f = sum_i a_i k(x_i, .).

In the second, `KernelOGD`, a point with l' = 0 is not kept, and there is no budget.

References
----------
[KSW04] Kivinen, Smola, Williamson. Online learning with kernels. IEEE Trans. Signal Processing
        52(8), 2004.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import Kernel, as_kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import Law, Loss, loss_of, loss_slope
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_real

__all__ = [
    "FEATURE_BLOCK",
    "Expansion",
    "GradientLearner",
    "GradientRule",
    "KernelOGD",
    "descend",
    "gradient_rounds",
    "gradient_rule",
]

FEATURE_BLOCK = 1024  # points whose features are made at once
_BLOCK = 128  # points whose kernel values are evaluated at once


class GradientRule(NamedTuple):
    """Loss, step, regularizer and bound, for compiled functions."""

    loss: Law
    step: float
    shrink: float
    clip: float


def gradient_rule(
    loss: str | Loss, learning_rate: float, regularization: float, clip: float
) -> GradientRule:
    """The rule, from what a user writes.

    >>> gradient_rule("hinge", 0.5, 0.1, np.inf).shrink     # 1 - eta lam
    0.95
    """
    step = check_real("learning_rate", learning_rate, above=0.0)
    lam = check_real("regularization", regularization, least=0.0)
    law = (loss if isinstance(loss, Loss) else loss_of(loss)).law
    return GradientRule(law, step, max(1 - step * lam, 0.0), clip)


def gradient_rounds(
    features: np.ndarray, targets: np.ndarray, w: np.ndarray, rule: GradientRule
) -> np.ndarray:
    """A round for every row of `features`; w changes, the scores before each update come back.

    >>> w = np.zeros(1)
    >>> gradient_rounds(np.ones((2, 1)), np.ones(2), w, gradient_rule("squared", 0.25, 0, 9.0))
    array([0. , 0.5])
    """
    out = np.empty(targets.size)
    _linear_rounds(np.ascontiguousarray(features), targets, w, rule, out)
    return out


def descend(
    features: Callable[[np.ndarray], np.ndarray],
    points: np.ndarray,
    targets: np.ndarray,
    w: np.ndarray,
    rule: GradientRule,
) -> np.ndarray:
    """`gradient_rounds` on the features of points, some points at a time.

    >>> w = np.zeros(1)
    >>> descend(np.abs, -np.ones((2, 1)), np.ones(2), w, gradient_rule("squared", 0.25, 0, 9.0))
    array([0. , 0.5])
    """
    parts = [np.zeros(0)]
    for start in range(0, len(points), FEATURE_BLOCK):
        some = slice(start, start + FEATURE_BLOCK)
        parts.append(gradient_rounds(features(points[some]), targets[some], w, rule))
    return np.concatenate(parts)


class Expansion:
    """f = sum_i a_i k(x_i, .), learnt by gradient descent.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> f = Expansion(as_kernel("linear"), 1, gradient_rule("squared", 0.25, 0, 9.0))
    >>> f.run(np.ones((2, 1)), np.ones(2)), f.a
    (array([0. , 0.5]), array([0.5 , 0.25]))
    """

    def __init__(self, kernel: Kernel, n_features: int, rule: GradientRule) -> None:
        self.kernel, self.rule = kernel, rule
        self.points, self.a = np.empty((0, n_features)), np.zeros(0)

    def scores(self, points: np.ndarray) -> np.ndarray:
        """f at the points, clipped."""
        if not len(self.a):
            return np.zeros(len(points))
        values = self.kernel(points, self.points) @ self.a
        return np.clip(values, -self.rule.clip, self.rule.clip)

    def run(
        self, points: np.ndarray, targets: np.ndarray, *, budget: int | None = None
    ) -> np.ndarray:
        """A round for every row, until `budget` points are kept; the scores of those rounds."""
        parts, done = [], 0
        while done < len(points) and len(self.a) != budget:
            some = slice(done, done + _BLOCK)
            parts.append(self._run_block(points[some], targets[some], budget))
            done += parts[-1].size
        return np.concatenate(parts) if parts else np.zeros(0)

    def _run_block(self, points, targets, budget):
        m, n = len(self.a), len(points)
        values = np.empty((n, m + n))
        values[:, :m] = self.kernel(points, self.points)
        inside = self.kernel(points, points)
        a = np.concatenate([self.a, np.empty(n)])
        kept, out = np.empty(n, np.int64), np.empty(n)
        limit = m + n if budget is None else budget
        done, size = _expansion_rounds(values, inside, targets, a, m, limit, self.rule, kept, out)
        self.a = a[:size]
        self.points = np.concatenate([self.points, points[kept[: size - m]]])
        return out[:done]


@dataclass(kw_only=True, eq=False, repr=False)
class GradientLearner(OnlineLearner):
    """Base of the learners that take steps of one length, with the parameters that all have."""

    clip: float | None = None
    learning_rate: float = 0.1
    regularization: float = 0.0

    _needs_clip = False

    def _gradient_rule(self):
        return gradient_rule(self._loss(), self.learning_rate, self.regularization, self._bound())

    def _new_expansion(self, n_features):
        kernel = as_kernel(self.kernel, self.kernel_params)
        return Expansion(kernel, n_features, self._gradient_rule())


@dataclass(kw_only=True, eq=False, repr=False)
class KernelOGD(GradientLearner):
    """Functional gradient descent without a budget; O(t) a round.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        The first three make a regressor, the others a classifier.
    tolerance : float, optional
        e of the loss, see `loss_of`; with "squared", errors up to it make no step.
    clip : float or None
        Bound of predictions, if any.
    learning_rate, regularization : float
        eta and lam.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.

    Examples
    --------
    >>> m = KernelOGD(kernel="linear", learning_rate=0.25)
    >>> m.learn_one([1.0], 1.0).predict_one([1.0])     # 2 eta y
    0.5
    """

    def _n_kept(self):
        return len(self._expansion.a)

    def _begin(self, n_features):
        self._expansion = self._new_expansion(n_features)

    def _scores(self, points):
        return self._expansion.scores(points)

    def _features_of(self, points):
        return NystromEmbedding(self._expansion.kernel, self._expansion.points)(points)

    def _learn(self, points, targets):
        return self._expansion.run(points, targets)


@njit_cached(fastmath={"reassoc", "contract"})
def _linear_rounds(features, targets, w, rule, out):
    for t in range(targets.size):
        value = 0.0
        for i in range(w.size):
            value += w[i] * features[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        step = rule.step * loss_slope(rule.loss, targets[t], out[t])
        if step == 0 and rule.shrink == 1:
            continue
        for i in range(w.size):
            w[i] = rule.shrink * w[i] - step * features[t, i]


@njit_cached(fastmath={"reassoc", "contract"})
def _expansion_rounds(values, inside, targets, a, m, limit, rule, kept, out):
    """Rounds until there are `limit` coefficients; how many rounds, how many coefficients."""
    n, first = targets.size, m
    for t in range(n):
        if m == limit:
            return t, m
        value = 0.0
        for i in range(m):
            value += a[i] * values[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        slope = loss_slope(rule.loss, targets[t], out[t])
        if rule.shrink != 1:
            for i in range(m):
                a[i] *= rule.shrink
        if slope != 0:
            a[m] = -rule.step * slope
            kept[m - first] = t
            for later in range(t + 1, n):
                values[later, m] = inside[later, t]
            m += 1
    return n, m
