"""Online Newton steps in R^j with rank-one updates, O(j^2) per round.

With A_0 = alpha I, the features z_t of a point and u = A^-1 z, a round is [HKKA06], [LACL16]

    1: y^ = clip(z'w, -C, C)                        predict
    2: w <- w - (z'w - y^) / (z'u) u                project on predictions within C, in the norm A
    3: g = l'(y^),  h_t = eta_t g^2                 derivative and curvature of the loss
    4: A^-1 <- A^-1 - h_t / (1 + h_t z'u) u u'      A <- A + h_t z z'
    5: w <- w - g A^-1 z                            Newton step

Step 5 follows the loss immediately, so that a prediction needs only w. The parameter eta sets the
curvature:

    "auto"    eta_t = sigma_t, the curvature at the prediction (`losses`), or 1 / (L C t^1/2) for
              losses without curvature. For the squared loss h_t = 2: recursive least squares.
    "global"  eta_t = sigma, which holds for all predictions, as in [C17, Theorem 5.4].
    a number  eta_t = eta.

The regret bound needs eta_t <= sigma_t, which "auto" and "global" satisfy.

With a discount d < 1, older rounds count less. Every 32 rounds A <- alpha I + d^32 (A - alpha I)
and w <- A_new^-1 d^32 A w, which for the squared loss is least squares with weights d^age. The
learner then competes with hypotheses that change over about 1 / (1 - d) rounds.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Section 5.1.
[HKKA06] Hazan, Kalai, Kale, Agarwal. Logarithmic regret algorithms for online convex optimization.
         COLT 2006.
[LACL16] Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching.
         NeurIPS 2016.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import scipy.linalg

from graphsqueak.errors import InputError, Parameter
from graphsqueak.online.losses import CompiledLoss, Loss, loss_curvature, loss_slope
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_choice, check_real

# A point lies in the span of others if the squared distance is at most this fraction of k(x, x).
# Smaller distances are dominated by rounding errors of the kernel values. A hundred times larger
# or smaller: the same losses (CON-KONS, three streams).
SPAN_TOLERANCE = 1e-10
# Rounds between two discounts, which take O(j^3) time each. Halved, CON-KONS with 50 landmarks took
# 12 % longer; doubled, 7 % less time. Losses on a stream whose target moves changed by less than
# 0.2 %.
DISCOUNT_INTERVAL = 32


class StepKind(IntEnum):
    """How eta_t depends on the round, numbered for compiled functions."""

    CONSTANT = 0
    AT_PREDICTION = 1
    INVERSE_ROOT = 2


class StepRule(NamedTuple):
    """Loss, rule for eta_t and clip, as one argument of compiled functions."""

    loss: CompiledLoss
    kind: int
    eta: float
    clip: float


def step_rule(loss: Loss, eta: float | str, clip: float) -> StepRule:
    """Check eta and return the rule for h_t.

    >>> from graphsqueak.online.losses import get_loss
    >>> step_rule(get_loss("squared"), "global", 1.0).eta
    0.125
    >>> step_rule(get_loss("hinge"), "auto", 2.0).eta
    0.5
    """
    if loss.name == "squared" and loss.tolerance:
        raise InputError(
            "tolerance with ",
            Parameter("loss", "squared"),
            " is for first-order learners; use ",
            Parameter("loss", "huber"),
        )
    # Without a clip, the curvature of the other losses has no positive lower bound.
    if np.isinf(clip) and (loss.name != "squared" or eta == "global"):
        raise InputError(
            Parameter("loss", loss.name),
            " with ",
            Parameter("eta", eta),
            " needs a clip; without one, use 'squared' with 'auto' or a number",
        )
    if not isinstance(eta, str):
        constant = check_real("eta", eta, least=0.0)
        return StepRule(loss.compiled, int(StepKind.CONSTANT), constant, clip)
    check_choice("eta", eta, ("auto", "global"))
    if loss.sigma(1.0) == 0:
        first = 1 / (loss.lipschitz(clip) * clip)
        return StepRule(loss.compiled, int(StepKind.INVERSE_ROOT), first, clip)
    if eta == "auto":
        return StepRule(loss.compiled, int(StepKind.AT_PREDICTION), 0.0, clip)
    return StepRule(loss.compiled, int(StepKind.CONSTANT), loss.sigma(clip), clip)


class NewtonStep:
    """The hypothesis w and A^-1, in a number of coordinates that may grow.

    Attributes
    ----------
    size : int
        Number of coordinates j.
    n_rounds : int
        Number of rounds so far.
    n_resets : int
        How often w = 0 and A = alpha I were set.

    Examples
    --------
    With h = 2 and one coordinate, w = sum(2 z y) / (alpha + sum(2 z^2)) = 4 / 6:

    >>> from graphsqueak.online.losses import get_loss
    >>> step = NewtonStep(alpha=2.0, rule=step_rule(get_loss("squared"), "auto", np.inf))
    >>> step.add_coordinate()
    >>> step.run(np.ones((2, 1)), np.ones(2))     # predictions before the updates
    array([0. , 0.5])
    >>> step.w
    array([0.66666667])
    """

    def __init__(self, *, alpha: float, rule: StepRule, discount: float = 1.0) -> None:
        self.alpha = alpha
        self.rule = rule
        self.discount = discount
        self.size = 0
        self.n_rounds = 0
        self.n_resets = 0
        # Allocated for more coordinates than are in use.
        self._w = np.zeros(8)
        self._inverse = np.zeros((8, 8))

    @property
    def w(self) -> np.ndarray:
        """The hypothesis."""
        return self._w[: self.size]

    @property
    def inverse(self) -> np.ndarray:
        """A^-1."""
        return self._inverse[: self.size, : self.size]

    def add_coordinate(self) -> None:
        """Set w <- (w, 0) and A <- diag(A, alpha)."""
        j = self.size
        if j == len(self._w):
            self._w = np.pad(self._w, (0, j))
            self._inverse = np.pad(self._inverse, (0, j))
        self._inverse[j, j] = 1 / self.alpha
        self.size += 1

    def reset(self) -> None:
        """Set w = 0 and A = alpha I in the present coordinates."""
        self.n_resets += 1
        self._w[:] = 0.0
        self._inverse[:] = 0.0
        np.fill_diagonal(self.inverse, 1 / self.alpha)

    def remove_coordinates(self) -> None:
        """Start again without coordinates."""
        self.size = 0
        self.reset()

    def transform(self, T: np.ndarray) -> None:
        """Move to the coordinates T z: A <- alpha I + T (A - alpha I) T', w <- A_new^-1 T A w.

        For the squared loss, where A w = sum h z y, this is least squares in the new coordinates.
        """
        # T (A - alpha I) T' from the eigenvalues of A, of which only the inverse is stored.
        eigenvalues, V = self._eigen()
        TV = T @ V
        A = (TV * (eigenvalues - self.alpha)) @ TV.T
        A[np.diag_indices_from(A)] += self.alpha
        # T A w
        moment = TV @ (eigenvalues * (V.T @ self.w))
        self.size = len(T)
        self._w[:] = 0.0
        self._inverse[:] = 0.0
        self.inverse[:] = _invert_positive_definite(A)
        self.w[:] = self.inverse @ moment

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the clipped predictions for the rows of `features`."""
        return np.clip(features @ self.w, -self.rule.clip, self.rule.clip)

    def run(self, features: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Run one round per row of `features`; return the predictions before each update.

        The array may have more columns than there are coordinates; they are ignored.
        """
        out = np.empty(len(targets))
        start = 0
        while start < len(targets):
            stop = len(targets)
            # Discounts follow every 32nd round, wherever batches end.
            if self.discount < 1:
                n_until_discount = DISCOUNT_INTERVAL - self.n_rounds % DISCOUNT_INTERVAL
                stop = min(stop, start + n_until_discount)
            rows = slice(start, stop)
            _newton_rounds(
                features[rows],
                targets[rows],
                self._w,
                self._inverse,
                self.size,
                self.rule,
                self.n_rounds,
                out[rows],
            )
            self.n_rounds += stop - start
            start = stop
            if self.discount < 1 and self.n_rounds % DISCOUNT_INTERVAL == 0 and self.size:
                self._discount()
        return out

    def _discount(self):
        """Multiply the weights of all rounds so far by d^32."""
        factor = self.discount**DISCOUNT_INTERVAL
        eigenvalues, V = self._eigen()
        # A <- alpha I + d^32 (A - alpha I), w <- A_new^-1 d^32 A w
        discounted = self.alpha + factor * (eigenvalues - self.alpha)
        self.w[:] = V @ (factor * eigenvalues / discounted * (V.T @ self.w))
        self.inverse[:] = (V / discounted) @ V.T

    def _eigen(self):
        """Return the eigenvalues of A, which are at least alpha, and its eigenvectors."""
        # Rounding errors may bring eigenvalues of A below alpha.
        inverses, V = np.linalg.eigh(self.inverse)
        return 1 / np.clip(inverses, np.finfo(np.float64).tiny, 1 / self.alpha), V


def _invert_positive_definite(A):
    if A.size == 0:
        return A
    # LAPACK's inverse from a Cholesky factor writes the upper triangle only.
    upper = np.triu(scipy.linalg.lapack.dpotri(scipy.linalg.cho_factor(A)[0])[0])
    return upper + np.triu(upper, 1).T


@njit_cached
def newton_weight(rule, slope, target, prediction, n_before):
    """Return h_t = eta_t l'^2 in the round after `n_before` others."""
    if rule.kind == StepKind.AT_PREDICTION:
        return loss_curvature(rule.loss, target, prediction, rule.clip)
    eta = rule.eta
    if rule.kind == StepKind.INVERSE_ROOT:
        eta = eta / np.sqrt(n_before + 1.0)
    return eta * slope**2


@njit_cached(fastmath={"reassoc", "contract"})
def _newton_rounds(features, targets, w, inverse, j, rule, n_before, out):
    """Run one round per row in the first j coordinates; numbers are those of the module."""
    u = np.empty(j)
    for t in range(targets.size):
        # 1: y^ = clip(z'w)
        value = 0.0
        for i in range(j):
            value += w[i] * features[t, i]
        prediction = min(max(value, -rule.clip), rule.clip)
        out[t] = prediction
        # 3: g = l'(y^), h = eta_t g^2
        g = loss_slope(rule.loss, targets[t], prediction)
        h = newton_weight(rule, g, targets[t], prediction, n_before + t)
        clipped = value - prediction
        if clipped == 0 and g == 0 and h == 0:
            continue
        # u = A^-1 z, a = z'u
        a = 0.0
        for i in range(j):
            total = 0.0
            for k in range(j):
                total += inverse[i, k] * features[t, k]
            u[i] = total
            a += total * features[t, i]
        if a <= 0:
            continue
        # 2, 5: both move w along u; A_t^-1 z = u / (1 + h a)
        step = clipped / a + g / (1.0 + h * a)
        # 4: A^-1 <- A^-1 - h / (1 + h a) u u'
        shrinkage = h / (1.0 + h * a)
        for i in range(j):
            w[i] -= step * u[i]
            scaled = shrinkage * u[i]
            for k in range(j):
                inverse[i, k] -= scaled * u[k]
