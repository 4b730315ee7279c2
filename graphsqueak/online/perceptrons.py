"""Perceptrons with a budget of points: RBP, Forgetron, Projectron and Projectron++.

They learn from mistakes. The first two let a point go for a new one (`budgets`), others project.
At a mistake, y f(x) <= 0, a perceptron adds y k(x, .). If x lies within `threshold` = e of the span
of the points kept, |k(x, .) - P k(x, .)| <= e, or if there are B of them, the projection y P k(x,.)
is added instead, and no further point is kept [OKC09, Algorithm 2]. In coordinates of the span,
z(x) = L^-1 k_I(x) with L L' = K_II,

    P k(x, .) = z(x),      |k(x, .) - P k(x, .)|^2 = d^2 = k_xx - z'z,      f(x) = w'z(x),

so that a mistake is w <- w + y z, or L and w gain the row (z', d) and the entry y d.

Projectron++ also learns from margins: where 0 < y f(x) < 1 and the loss l = 1 - y f(x) is more than
d / e, it adds t y z with t = min(1, l / |z|^2, 2 (l - d / e) / |z|^2) [OKC09, Algorithm 3].

References
----------
[OKC09] Orabona, Keshet, Caputo. Bounded kernel-based online learning. JMLR 10, 2009.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.budgets import OLDEST, BudgetLearner
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.randomness import RandomState
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_count, check_real

__all__ = ["RBP", "Forgetron", "Projectron", "ProjectronPP"]

_BLOCK = 256  # points whose coordinates are found at once
_TOLERANCE = 1e-10  # of k_xx: a point that is closer to the span lies in it


@dataclass(kw_only=True, eq=False, repr=False)
class RBP(BudgetLearner):
    """Random budget perceptron: at a mistake, a random point makes room.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge", None: it learns from mistakes.
    clip : float or None
        Bound of the scores that are shown, if any.
    n_components : int
        B, the most points.
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
    >>> m = RBP(n_components=20, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.8
    (True, True)
    """

    loss: Literal["hinge"] = "hinge"
    random_state: RandomState = None


@dataclass(kw_only=True, eq=False, repr=False)
class Forgetron(BudgetLearner):
    """Self-tuned Forgetron: at a mistake all coefficients shrink, and the oldest point goes.

    Its bound on the number of mistakes is for kernels with k(x, x) <= 1.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge", None: it learns from mistakes.
    clip : float or None
        Bound of the scores that are shown, if any.
    n_components : int
        B, the most points.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.
    components_ : ndarray
        The points kept.
    spent_ : float
        The sum of Psi over the number of mistakes; the proof needs at most 15/32.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = Forgetron(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.8, m.spent_ <= 15 / 32
    (True, True, True)
    """

    loss: Literal["hinge"] = "hinge"

    _kind = OLDEST

    @property
    def spent_(self) -> float:
        """The sum of Psi over the number of mistakes."""
        lost, mistakes = self._kept.spent
        return float(lost / max(mistakes, 1.0))


@dataclass(kw_only=True, eq=False, repr=False)
class Projectron(OnlineLearner):
    """A perceptron that projects: points near the span of the others are not kept.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge", None: it learns from mistakes.
    clip : float or None
        Bound of the scores that are shown, if any.
    n_components : int
        B, the most points; later ones are projected, however far.
    threshold : float
        e, the distance from the span up to which a point is projected at once; the first point
        is kept in any case.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.
    components_ : ndarray
        The points kept.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = Projectron(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.9
    (True, True)
    """

    clip: float | None = None
    loss: Literal["hinge"] = "hinge"
    n_components: int = 100
    threshold: float = 0.1

    _needs_clip = False
    _uses_margins = False

    def _n_kept(self):
        return self._factor.size

    @property
    def components_(self) -> np.ndarray:
        """The points kept."""
        return self._points[: self._factor.size]

    def _begin(self, n_features):
        if self._loss().name != "hinge":
            kind = type(self).__name__
            raise InputError(f"{kind} has no ", Parameter("loss", self.loss), "; it has 'hinge'")
        budget = check_count("n_components", self.n_components)
        least = {"above": 0.0} if self._uses_margins else {"least": 0.0}
        check_real("threshold", self.threshold, **least)
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        self._factor = GrowingCholesky()
        self._points, self._w = np.empty((budget, n_features)), np.zeros(budget)

    def _scores(self, points):
        values = self._features_of(points) @ self._w[: self.n_support_]
        return np.clip(values, -self._bound(), self._bound())

    def _features_of(self, points):
        if not self.n_support_:
            return np.zeros((len(points), 0))
        return self._factor.solve(self._kernel(self.components_, points)).T

    def _learn(self, points, targets):
        out = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            some = slice(start, start + _BLOCK)
            self._learn_block(points[some], targets[some], out[some])
        return np.clip(out, -self._bound(), self._bound())

    def _learn_block(self, points, targets, out):
        j, budget = self.n_support_, len(self._points)
        features = np.zeros((min(j + len(points), budget), len(points)), order="F")
        features[:j] = self._features_of(points).T
        diagonal = np.asarray(self._kernel.diag(points), dtype=np.float64)
        threshold, done = float(self.threshold), 0
        while done < len(points):
            j = self.n_support_
            state = self._w, j, threshold, self._uses_margins, j < budget
            t = _rounds(features[:, done:], diagonal[done:], targets[done:], *state, out[done:])
            done += t
            if done < len(points):  # this point is to be kept
                self._keep(points, features, diagonal, done, targets[done])
                done += 1

    def _keep(self, points, features, diagonal, t, target):
        j, later = self.n_support_, slice(t + 1, None)
        z = features[:j, t]
        pivot = np.sqrt(diagonal[t] - z @ z)
        self._points[j] = points[t]
        self._w[:j] += target * z
        self._w[j] = target * pivot
        self._factor.append(z, pivot)
        if t + 1 < len(points):
            values = self._kernel(points[t : t + 1], points[later])[0]
            features[j, later] = (values - z @ features[:j, later]) / pivot


class ProjectronPP(Projectron):
    """A Projectron that learns from small margins, too.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss, tolerance
        "hinge", None.
    clip : float or None
        Bound of the scores that are shown, if any.
    n_components : int
        B, the most points; later ones are projected, however far.
    threshold : float
        e > 0: mistakes within it of the span are projected, and a margin is learnt from if its loss
        is more than the distance over e.

    Attributes
    ----------
    n_support_, n_rounds_, components_
        As in `Projectron`.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(400, 2))
    >>> m = ProjectronPP(n_components=20).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_ <= 20, m.score(X, np.sign(X[:, 0])) > 0.9
    (True, True)
    """

    _uses_margins = True


@njit_cached(fastmath={"reassoc", "contract"})
def _rounds(features, diagonal, targets, w, size, threshold, margins, has_room, out):
    """Rounds in `size` coordinates, until a point is to be kept; how many were done."""
    for t in range(targets.size):
        value, square = 0.0, 0.0
        for i in range(size):
            value += w[i] * features[i, t]
            square += features[i, t] ** 2
        out[t] = value
        left = diagonal[t] - square
        if left <= _TOLERANCE * diagonal[t]:
            left = 0.0
        margin = targets[t] * value
        step = 0.0
        if margin <= 0:
            if has_room and left > (threshold**2 if size else 0.0):
                return t
            step = 1.0
        elif margins and margin < 1 and square > 0:
            surplus = 1.0 - margin - np.sqrt(left) / threshold
            if surplus > 0:
                step = min(1.0, (1.0 - margin) / square, 2.0 * surplus / square)
        if step > 0:
            for i in range(size):
                w[i] += step * targets[t] * features[i, t]
    return targets.size
