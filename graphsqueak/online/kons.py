"""KONS and Sketched-KONS: online Newton steps in the feature space of the kernel.

With phi_t = phi(x_t), the hypothesis before its projection is A_{t-1}^-1 sum_i c_i phi_i with

    c_i = h_i y^_i - g_i - (ybar_i - y^_i) / a_i,    a_i = phi_i' A_{i-1}^-1 phi_i,

where ybar_i is the prediction before and y^_i after clipping, g_i the derivative of the loss and
h_i = eta_i g_i^2, with eta_i the curvature of the loss at the prediction (`newton` has the other
choices), and A_i = alpha I + sum_{j <= i} h_j phi_j phi_j'. With d = h^1/2, the kernel values k to
earlier points and L L' = E = D K D + alpha I,

    v = L^-1 (d o k),  p = L^-1 (d o K c),  ybar = (k'c - v'p) / alpha,  a = (k_tt - v'v) / alpha.

No quantity is divided by g or eta, so rounds with g = 0 need no special case: if the prediction was
clipped, c contains the projection, which [C17, Lemma 5.2] and [CLV17c, Lemma 2] lose. The lemmas
also misprint two terms (docs/research/errata.md). After a round L gains the row (d_t v', (alpha (1
+ h_t a))^1/2), and p the term c_t v and one entry. A round takes one triangular solve, O(t^2), and
t kernel evaluations [C17, Algorithm 12].

Sketched-KONS adds only sampled steps to the matrix [C17, Algorithm 13]:

    A~_t = A~_{t-1} + z_t h_t phi_t phi_t',    z_t ~ Bernoulli(p_t),
    p_t = max(min(1, beta (1 + e) tau~_t), p_min),

where tau~_t is the leverage score that KORS computes with ridge alpha on the kernel d_i d_j k_ij,
which is known once the derivative is. The coefficients are those of KONS with z_i h_i in place of
h_i: the term h y^ is present only if z = 1, which [C17, Lemma 5.5] and [CLV17c, Lemma 4] omit. One
random number decides about both samples, so the landmarks of KORS are among the sampled steps. A
round takes O(t) kernel evaluations and O(n_sampled^2) time. Regret is at most that of KONS divided
by (1 - e) max(p_min, min tau).

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
from graphsqueak.kernel.kernels import Kernel
from graphsqueak.kernel.samplers.landmark_stream import OnlineSampler
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.online.newton import StepRule, newton_weight, step_rule
from graphsqueak.online.support_set import SupportModel, SupportSet
from graphsqueak.randomness import RandomState, uniforms
from graphsqueak.validation import check_real


class DualNewton:
    """Newton steps expressed in kernel values, which the caller evaluates.

    Attributes
    ----------
    c : ndarray
        Coefficients of the support points.
    sampled : ndarray of int
        Indices of the support points whose steps are in E.
    n_rounds : int

    Examples
    --------
    One point of norm 1, seen twice with y = 1, alpha = 2, h = 2, as in `NewtonStep`:

    >>> from graphsqueak.online.losses import get_loss
    >>> state = DualNewton(alpha=2.0, rule=step_rule(get_loss("squared"), "auto", np.inf))
    >>> state.run_round(np.zeros(0), 1.0, 1.0)
    0.0
    >>> state.run_round(np.ones(1), 1.0, 1.0)
    0.5
    """

    def __init__(self, *, alpha: float, rule: StepRule) -> None:
        self.alpha = alpha
        self.rule = rule
        self.c = np.zeros(0)
        self.sampled = np.zeros(0, np.int64)
        self.n_rounds = 0
        # d, p and L of the sampled steps.
        self._d = np.zeros(0)
        self._p = np.zeros(0)
        self._factor = GrowingCholesky()

    def run_round(
        self,
        row: np.ndarray,
        diagonal: float,
        target: float,
        *,
        sample: Callable[[float], bool] | None = None,
    ) -> float:
        """Run one round, given the kernel values to the support points; return the prediction.

        `sample(h)` decides whether a step enters E; by default all do. The point becomes a support
        point if `c` has grown.
        """
        rule = self.rule
        # ybar = (k'c - v'p) / alpha, a = (k_tt - v'v) / alpha
        v = self._factor.solve((self._d * row[self.sampled])[:, None])[:, 0]
        kc = row @ self.c
        raw = (kc - v @ self._p) / self.alpha
        a = (diagonal - v @ v) / self.alpha
        prediction = min(max(float(raw), -rule.clip), rule.clip)
        g = loss_slope(rule.loss, target, prediction)
        h = newton_weight(rule, g, target, prediction, self.n_rounds)
        self.n_rounds += 1
        # A point with phi = 0 changes no prediction.
        if a <= 0:
            return prediction
        if h > 0 and sample is not None and not sample(h):
            h = 0.0
        # c_t = h y^ - g - (ybar - y^) / a
        c = h * prediction - g - (raw - prediction) / a
        self._p += c * v
        if h > 0:
            # L gains the row (d v', (alpha (1 + h a))^1/2), p its entry for d (K c)_t.
            d = np.sqrt(h)
            pivot = np.sqrt(self.alpha * (1 + h * a))
            last = d * (kc + c * diagonal - v @ self._p) / pivot
            self._factor.append(d * v, pivot)
            self._d = np.append(self._d, d)
            self._p = np.append(self._p, last)
            self.sampled = np.append(self.sampled, len(self.c))
        # A step of length zero that is not in E leaves no trace.
        if c != 0 or h > 0:
            self.c = np.append(self.c, c)
        return prediction

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return clipped predictions from kernel values, one row per point."""
        # The formulas of `run_round`, for many points at once.
        v = self._factor.solve((self._d * values[:, self.sampled]).T)
        scores = (values @ self.c - self._p @ v) / self.alpha
        return np.clip(scores, -self.rule.clip, self.rule.clip)


@dataclass(kw_only=True, eq=False, repr=False)
class KONS(OnlineLearner):
    """Kernel online Newton step, exact: for short streams and as a reference.

    Use it as the reference for the other learners. Every point is kept and a round takes O(t^2)
    time; the regret is bounded (`kons_regret`).

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        With one of the first three the learner is a regressor, otherwise a classifier.
    tolerance : float, optional
        The e of the second and third loss, see `get_loss`.
    clip : float or None
        C: predictions, and targets of the squared loss, lie in [-C, C]. None is possible for the
        squared loss only.
    alpha : float
        Regularization: A_0 = alpha I.
    eta : "auto", "global" or float
        Curvature of the loss: at the prediction, for all predictions, or a number.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.

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

    def _make_model(self, kernel, n_features):
        return KONSModel(kernel, n_features, self._dual_newton())

    def _dual_newton(self):
        alpha = check_real("alpha", self.alpha, above=0.0)
        return DualNewton(alpha=alpha, rule=step_rule(self._loss(), self.eta, self._clip()))


class KONSModel(SupportModel):
    """The model of `KONS`.

    Attributes
    ----------
    newton : DualNewton
    support : SupportSet
    """

    def __init__(self, kernel: Kernel, n_features: int, newton: DualNewton) -> None:
        self.newton = newton
        self.support = SupportSet(kernel, n_features)

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = np.empty(len(points))

        def run_rounds(rows, values, gram, source):
            size = self.support.size
            for t in range(len(values)):
                target = targets[rows.start + t]
                out[rows.start + t] = self._run_round(values[t, :size], gram[t, t], target)
                # Later points of the block need their kernel values to a new support point.
                if len(self.newton.c) > size:
                    values[t + 1 :, size] = gram[t + 1 :, t]
                    source[size] = t
                    size += 1
            return len(values), size

        self.support.run_blocks(points, run_rounds)
        return out

    def scores(self, points):
        """Return f at the points, clipped."""
        return self.newton.scores(self.support.values(points))

    def _run_round(self, row, diagonal, target):
        return self.newton.run_round(row, diagonal, target)


@dataclass(kw_only=True, eq=False, repr=False)
class SketchedKONS(KONS):
    """Sketched-KONS: kernel online Newton step whose matrix contains only sampled steps.

    Use it for streams that are too long for `KONS`, whose regret has to be bounded
    (`sketched_kons_regret`); every point is kept. Otherwise use `CONKONS`.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KONS`.
    alpha : float
        Regularization: A_0 = alpha I, and the ridge of KORS.
    eta : "auto", "global" or float
        As for `KONS`.
    beta : float
        Budget of KORS: a step with leverage score tau is sampled with probability
        beta (1 + epsilon) tau, at most 1.
    min_probability : float
        Smallest sampling probability of a step; 1 is `KONS`.
    epsilon : float
        Accuracy that KORS assumes of its dictionary.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_sampled_, n_rounds_ : int
        Numbers of support points, of sampled steps and of rounds.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> m = SketchedKONS(beta=2.0, min_probability=0.05, random_state=7).fit(X, X[:, 0] ** 2)
    >>> m.n_support_, m.n_sampled_ < 50
    (100, True)
    """

    beta: float = 1.0
    min_probability: float = 0.0
    epsilon: float = 0.5
    random_state: RandomState = None

    @property
    def n_sampled_(self) -> int:
        """Number of sampled steps."""
        return len(self.models_[0].newton.sampled)

    def _make_model(self, kernel, n_features):
        newton = self._dual_newton()
        sampler = OnlineSampler(
            ridge=newton.alpha,
            n_copies=check_real("beta", self.beta, above=0.0),
            epsilon=check_real("epsilon", self.epsilon, above=0.0, below=1.0),
            form="paper",
        )
        return SketchedKONSModel(
            kernel,
            n_features,
            newton,
            sampler,
            min_probability=check_real("min_probability", self.min_probability, least=0.0),
            seed=int(np.random.default_rng(self.random_state).integers(2**63)),
        )


class SketchedKONSModel(KONSModel):
    """The model of `SketchedKONS`.

    Attributes
    ----------
    landmarks : ndarray of int
        Indices of the support points in the dictionary of KORS.
    seed : int
        `uniforms(seed, t, t + 1)` decides whether the step of round t is sampled.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_features: int,
        newton: DualNewton,
        sampler: OnlineSampler,
        *,
        min_probability: float,
        seed: int,
    ) -> None:
        super().__init__(kernel, n_features, newton)
        self.seed = seed
        self.landmarks = np.zeros(0, np.int64)
        self._landmark_d = np.zeros(0)
        self._sampler = sampler
        self._min_probability = min_probability

    def _run_round(self, row, diagonal, target):
        n_before = self.newton.n_rounds
        (uniform,) = uniforms(self.seed, n_before, n_before + 1)

        def sample(h):
            # KORS on the kernel d_i d_j k_ij, d = h^1/2.
            d = np.sqrt(h)
            scaled_row = d * self._landmark_d * row[self.landmarks]
            if self._sampler.offer(scaled_row, h * diagonal, uniform=uniform) > 0:
                self.landmarks = np.append(self.landmarks, len(row))
                self._landmark_d = np.append(self._landmark_d, d)
                return True
            return uniform > 1 - self._min_probability

        return self.newton.run_round(row, diagonal, target, sample=sample)
