"""Online gradient descent: on features in R^k, and on an expansion in kernel functions.

With the step eta and the regularizer lam [KSW04],

    w <- (1 - eta lam) w - eta l'(y, f) z,          f = w'z, clipped,
    a_i <- (1 - eta lam) a_i,   a_t = -eta l'(y, f),   f = sum_i a_i k(x_i, .).

In the second a point with l' = 0 is not kept.

References
----------
[KSW04] Kivinen, Smola, Williamson. Online learning with kernels. IEEE Trans. Signal Processing
        52(8), 2004.
"""

from typing import NamedTuple

import numba
import numpy as np

from graphsqueak.online.losses import loss_of, loss_slope
from graphsqueak.validation import check_real

__all__ = ["Expansion", "GradientRule", "gradient_rounds", "gradient_rule"]

_BLOCK = 128


class GradientRule(NamedTuple):
    """Loss, step, regularizer and bound, for compiled functions."""

    loss: int
    step: float
    shrink: float
    clip: float


def gradient_rule(loss, learning_rate, regularization, clip):
    """The rule, from what a user writes.

    >>> gradient_rule("hinge", 0.5, 0.1, np.inf).shrink     # 1 - eta lam
    0.95
    """
    step = check_real("learning_rate", learning_rate, above=0.0)
    lam = check_real("regularization", regularization, least=0.0)
    return GradientRule(loss_of(loss).code, step, max(1 - step * lam, 0.0), clip)


def gradient_rounds(features, targets, w, rule):
    """A round for every row of `features`; w changes, the scores before each update come back.

    >>> w = np.zeros(1)
    >>> gradient_rounds(np.ones((2, 1)), np.ones(2), w, gradient_rule("squared", 0.25, 0, 9.0))
    array([0. , 0.5])
    """
    out = np.empty(targets.size)
    _linear_rounds(np.ascontiguousarray(features), targets, w, rule, out)
    return out


class Expansion:
    """f = sum_i a_i k(x_i, .), learnt by gradient descent.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> f = Expansion(as_kernel("linear"), 1, gradient_rule("squared", 0.25, 0, 9.0))
    >>> f.run(np.ones((2, 1)), np.ones(2)), f.a
    (array([0. , 0.5]), array([0.5 , 0.25]))
    """

    def __init__(self, kernel, n_features, rule):
        self.kernel, self.rule = kernel, rule
        self.points, self.a = np.empty((0, n_features)), np.zeros(0)

    def scores(self, points):
        if not len(self.a):
            return np.zeros(len(points))
        values = self.kernel(points, self.points) @ self.a
        return np.clip(values, -self.rule.clip, self.rule.clip)

    def run(self, points, targets, *, budget=None):
        """A round for every row, until `budget` points are kept; the scores of those rounds."""
        parts, done = [], 0
        while done < len(points) and len(self.a) != budget:
            some = slice(done, done + _BLOCK)
            parts.append(self._block(points[some], targets[some], budget))
            done += parts[-1].size
        return np.concatenate(parts) if parts else np.zeros(0)

    def _block(self, points, targets, budget):
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


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
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


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
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
