"""KONS and Sketched-KONS: the online Newton step in the kernel's own feature space.

With phi_t = phi(x_t), A_{t-1}^-1 sum_i c_i phi_i is the hypothesis before its projection, where

    c_i = h_i y^_i - g_i - over_i / a_i,    over = h(ybar_i),    a_i = phi_i' A_{i-1}^-1 phi_i,

h_i = eta_i g_i^2 (`newton`). With d = h^1/2 and L L' = E = D K D + alpha I,

    v = L^-1 (d o k),  p = L^-1 (d o K c),  ybar = (k'c - v'p) / alpha,  a = (k_tt - v'v) / alpha.

Nothing is divided by g or eta, so rounds without a slope are rounds like others: where the
prediction was clipped, c has the projection. [C17, Lemma 5.2] and [CLV17c, Lemma 2] lose it there,
and misprint two terms (docs/errata.md). L grows by the row (d_t v', (alpha (1 + h_t a))^1/2), p by
c_t v and one entry. A round costs one triangular solve, O(t^2), and t kernel evaluations.

In Sketched-KONS only sampled steps enter the matrix:

    A~_t = A~_{t-1} + z_t h_t phi_t phi_t',    z_t ~ Bernoulli(p_t),
    p_t = max(min(1, beta (1 + e) tau~_t), floor),

tau~_t the score of KORS on the kernel d_i d_j k_ij with ridge alpha, known once the slope is. The
coefficients are those of KONS with z_i h_i in place of h_i: the term h y^ enters only when z = 1,
which [C17, Lemma 5.5] and [CLV17c, Lemma 4] omit. One number decides both draws, so the atoms of
KORS are among the chosen. A round is O(t) kernel evaluations and O(chosen^2); regret is at most
that of KONS over (1 - e) max(floor, min tau).

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Sections 5.1 and 5.2.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphsqueak.kernel.cholesky import GrowingCholesky
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.kernel.samplers.landmark_stream import OnlineSampler
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.online.newton import StepRule, newton_weight, step_rule
from graphsqueak.randomness import RandomState, uniforms
from graphsqueak.validation import check_real

__all__ = ["KONS", "DualNewton", "SketchedKONS"]

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

    def __init__(self, *, alpha: float, rule: StepRule) -> None:
        self.alpha, self.rule = alpha, rule
        self.c = np.zeros(0)
        self.chosen = np.zeros(0, np.int64)  # which of the points kept are in E, by number
        self.d, self.p = np.zeros(0), np.zeros(0)
        self.factor = GrowingCholesky()
        self.n_rounds = 0

    def round(
        self,
        row: np.ndarray,
        diagonal: float,
        target: float,
        *,
        select: Callable[[float], bool] | None = None,
    ) -> float:
        """Predict and learn from kernel values to the points kept.

        `select(h)`, if given, says whether the step enters A (see `SketchedKONS`). The point is
        kept if `len(c)` has grown.
        """
        rule, clip = self.rule, self.rule.clip
        v = self.factor.solve((self.d * row[self.chosen])[:, None])[:, 0]
        along = row @ self.c
        value = (along - v @ self.p) / self.alpha
        a = (diagonal - v @ v) / self.alpha
        prediction = min(max(float(value), -clip), clip)
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

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Clipped predictions from an (points kept, points) matrix of kernel values."""
        v = self.factor.solve(self.d[:, None] * values[self.chosen])
        scores = (self.c @ values - self.p @ v) / self.alpha
        return np.clip(scores, -self.rule.clip, self.rule.clip)


@dataclass(kw_only=True, eq=False, repr=False)
class KONS(OnlineLearner):
    """Kernelized online Newton step: exact, every point is kept.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        The first three make a regressor, the others a classifier.
    tolerance : float, optional
        e of the second and third loss, see `loss_of`.
    clip : float or None
        C: predictions, and targets of the squared loss, are within [-C, C]. None, with the squared
        loss only: no bound.
    alpha : float
        A_0 = alpha I.
    eta : "auto", "global" or float
        The curvature at the prediction, the worst case over all predictions, or a number.

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

    alpha: float = 1.0
    eta: float | Literal["auto", "global"] = "auto"

    def _n_kept(self):
        return len(self._state.c)

    def _begin(self, n_features):
        alpha = check_real("alpha", self.alpha, above=0.0)
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        self._state = DualNewton(alpha=alpha, rule=step_rule(self._loss(), self.eta, self._bound()))
        self._points = np.empty((0, n_features))

    def _scores(self, points):
        return self._state.scores(self._kernel(self._points, points))

    def _features_of(self, points):
        return NystromEmbedding(self._kernel, self._points)(points)

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


@dataclass(kw_only=True, eq=False, repr=False)
class SketchedKONS(KONS):
    """Sketched KONS: every point is kept, but only sampled steps enter the matrix.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KONS`.
    alpha : float
        Of A_0 = alpha I, and of the scores of KORS, whose ridge it is.
    eta : "auto", "global" or float
        As in `KONS`.
    beta : float
        Budget of KORS: a step of score tau enters with chance beta (1 + epsilon) tau, at most 1.
    floor : float
        Least chance of any step; 1 is KONS.
    epsilon : float
        Accuracy assumed of the dictionary of KORS.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_chosen_, n_rounds_ : int
        Points kept, steps in the matrix, and rounds so far.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> m = SketchedKONS(beta=2.0, floor=0.05, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_, m.n_chosen_ < 50
    (100, True)
    """

    beta: float = 1.0
    floor: float = 0.0
    epsilon: float = 0.5
    random_state: RandomState = None

    @property
    def n_chosen_(self) -> int:
        """Steps in the matrix."""
        return len(self._state.chosen)

    def _begin(self, n_features):
        super()._begin(n_features)
        self._sampler = OnlineSampler(
            ridge=self._state.alpha,
            n_copies=check_real("beta", self.beta, above=0.0),
            epsilon=check_real("epsilon", self.epsilon, above=0.0, below=1.0),
            form="paper",
        )
        self._floor = check_real("floor", self.floor, least=0.0)
        self._seed = int(np.random.default_rng(self.random_state).integers(2**63))
        self._atoms, self._atom_roots = np.zeros(0, np.int64), np.zeros(0)

    def _round(self, row, diagonal, target):
        state = self._state
        (draw,) = uniforms(self._seed, state.n_rounds, state.n_rounds + 1)

        def select(h):
            root = np.sqrt(h)
            scaled = root * self._atom_roots * row[self._atoms]
            atom = self._sampler.offer(scaled, h * diagonal, uniform=draw) > 0
            if atom:
                self._atoms = np.append(self._atoms, row.size)
                self._atom_roots = np.append(self._atom_roots, root)
            return atom or draw > 1 - self._floor

        return state.round(row, diagonal, target, select=select)
