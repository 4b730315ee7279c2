"""KONS: the online Newton step in the kernel's own feature space.

With phi_t = phi(x_t), A_{t-1}^-1 sum_i c_i phi_i is the hypothesis before its projection, where

    c_i = h_i y^_i - g_i - over_i / a_i,    over = h(ybar_i),    a_i = phi_i' A_{i-1}^-1 phi_i,

h_i = eta_i g_i^2 (`newton`). With d = h^1/2 and L L' = E = D K D + alpha I,

    v = L^-1 (d o k),  p = L^-1 (d o K c),  ybar = (k'c - v'p) / alpha,  a = (k_tt - v'v) / alpha.

Nothing is divided by g or eta, so rounds without a slope are rounds like others: where the
prediction was clipped, c has the projection. [C17, Lemma 5.2] and [CLV17c, Lemma 2] lose it there,
and misprint two terms (docs/errata.md). L grows by the row (d_t v', (alpha (1 + h_t a))^1/2), p by
c_t v and one entry. A round costs one triangular solve, O(t^2), and t kernel evaluations.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Section 5.1.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import numpy as np

from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.online.newton import newton_weight, step_rule
from graphsqueak.validation import check_real

__all__ = ["KONS", "DualNewton"]

_BLOCK = 64


class DualNewton:
    """The state above, for kernel values that the caller evaluates.

    Examples
    --------
    One point of norm 1, seen twice with y = 1, alpha = 2, h = 2: as in `NewtonStep`.

    >>> state = DualNewton(alpha=2.0, rule=step_rule("squared", "auto", np.inf))
    >>> state.round(np.zeros(0), 1.0, 1.0)
    0.0
    >>> state.round(np.ones(1), 1.0, 1.0)
    0.5
    """

    def __init__(self, *, alpha, rule):
        self.alpha, self.rule = alpha, rule
        self.c = np.zeros(0)
        self.chosen = np.zeros(0, np.int64)  # which of the points kept are in E, by number
        self.d, self.p = np.zeros(0), np.zeros(0)
        self.factor = GrowingCholesky()
        self.n_rounds = 0

    def round(self, row, diagonal, target, *, select=None):
        """Predict and learn from kernel values to the points kept.

        `select(h)`, if given, says whether the step enters A (see `sketched_kons`). The point is
        kept if `len(c)` has grown.
        """
        rule, clip = self.rule, self.rule.clip
        v = self.factor.solve((self.d * row[self.chosen])[:, None])[:, 0]
        along = row @ self.c
        value = (along - v @ self.p) / self.alpha
        a = (diagonal - v @ v) / self.alpha
        prediction = float(min(max(value, -clip), clip))
        g = loss_slope(rule.loss, target, prediction)
        h = newton_weight(rule, g, target, prediction, self.n_rounds)
        self.n_rounds += 1
        if a <= 0:
            return prediction
        if h > 0 and select is not None and not select(h):
            h = 0.0
        c = h * prediction - g - (value - prediction) / a
        self.p += c * v
        if h > 0:
            d = np.sqrt(h)
            pivot = np.sqrt(self.alpha * (1 + h * a))
            last = d * (along + c * diagonal - v @ self.p) / pivot
            self.factor.append(d * v, pivot)
            self.d, self.p = np.append(self.d, d), np.append(self.p, last)
            self.chosen = np.append(self.chosen, self.c.size)
        if c != 0 or h > 0:
            self.c = np.append(self.c, c)
        return prediction

    def scores(self, values):
        """Clipped predictions from an (points kept, points) matrix of kernel values."""
        v = self.factor.solve(self.d[:, None] * values[self.chosen])
        scores = (self.c @ values - self.p @ v) / self.alpha
        return np.clip(scores, -self.rule.clip, self.rule.clip)


class KONS(OnlineLearner):
    """Kernelized online Newton step: exact, every point is kept.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "logistic", "squared_hinge", "hinge"}
    clip : float or None
        C: predictions, and targets of the squared loss, are within [-C, C]. None, with the squared
        loss only: no bound.
    alpha : float
        A_0 = alpha I.
    eta : "auto", "global" or float
        See `newton`.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.

    Examples
    --------
    >>> m = KONS(kernel="linear", alpha=2.0, clip=None)
    >>> m.learn_one([1.0], 1.0).predict_one([1.0])     # 2 x y / (alpha + 2 x^2)
    0.5
    >>> m.learn_one([1.0], 1.0).n_support_
    2
    """

    def __init__(
        self, *, kernel="rbf", kernel_params=None, loss="squared", clip=1.0, alpha=1.0, eta="auto"
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.alpha = alpha
        self.eta = eta

    @property
    def n_support_(self):
        return len(self._state.c)

    def _begin(self, n_features):
        alpha = check_real("alpha", self.alpha, above=0.0)
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        self._state = DualNewton(alpha=alpha, rule=step_rule(self.loss, self.eta, self._bound()))
        self._points = np.empty((0, n_features))

    def _scores(self, points):
        return self._state.scores(self._kernel(self._points, points))

    def _features_of(self, points):
        return Embedding(self._kernel, self._points)(points)

    def _learn(self, points, targets):
        parts = [slice(i, i + _BLOCK) for i in range(0, len(points), _BLOCK)]
        return np.concatenate([self._learn_block(points[p], targets[p]) for p in parts])

    def _learn_block(self, points, targets):
        n, m = len(points), self.n_support_
        values = np.empty((m + n, n))
        values[:m] = self._kernel(self._points, points)
        inside, diagonal = self._kernel(points, points), self._kernel.diag(points)
        out, kept = np.empty(n), []
        for i in range(n):
            out[i] = self._round(values[:m, i], diagonal[i], targets[i])
            if self.n_support_ > m:
                values[m] = inside[i]
                kept.append(i)
                m += 1
        self._points = np.concatenate([self._points, points[kept]])
        return out

    def _round(self, row, diagonal, target):
        return self._state.round(row, diagonal, target)
