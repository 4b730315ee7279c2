"""The online Newton step in R^j, with rank-one updates: O(j^2) a round.

For features z_t of a point, with A_0 = alpha I and u = A^-1 z [HKKA06], [LACL16],

    y^ = clip(z'w, -C, C),    w <- w - h(z'w) / (z'u) u,    h(v) = sign(v) max(|v| - C, 0),
    g = l'(y^),  h_t = eta_t g^2,    A^-1 <- A^-1 - h_t / (1 + h_t z'u) u u',    w <- w - A^-1 g z.

The first line is the projection, in the norm of A, on predictions within C; the step is folded in
at once, so that a prediction needs w only. `h_t`, by the rule for eta:

    "auto"    eta_t = sigma_t, the curvature at the prediction (`losses`); 1 / (L C t^1/2) where a
              loss has none (hinge). For the squared loss h_t = 2, recursive least squares.
    "global"  eta = sigma, the worst case over all predictions, as in [C17, Theorem 5.4].
    a number  eta itself.

All obey eta_t <= sigma_t, which the regret bound needs, as long as a number does.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017, Section 5.1.
[HKKA06] Hazan, Kalai, Kale, Agarwal. Logarithmic regret algorithms for online convex optimization.
         COLT 2006.
[LACL16] Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching.
         NeurIPS 2016.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg

from graphsqueak.errors import InputError
from graphsqueak.online.losses import loss_curvature, loss_of, loss_slope
from graphsqueak.validation import check_choice, check_real

__all__ = ["NewtonStep", "StepRule", "newton_weight", "step_rule"]

_CONSTANT, _LOCAL, _ROOT = range(3)


class StepRule(NamedTuple):
    """How h_t is found: numbers for compiled functions."""

    loss: int
    kind: int
    eta: float
    clip: float


def step_rule(loss: str, eta: float | str, clip: float) -> StepRule:
    """The rule for `eta`, as users write it.

    >>> step_rule("squared", "global", 1.0).eta, step_rule("hinge", "auto", 2.0).eta
    (0.125, 0.5)
    """
    law = loss_of(loss)
    if not isinstance(eta, str):
        return StepRule(law.code, _CONSTANT, check_real("eta", eta, least=0.0), clip)
    check_choice("eta", eta, ("auto", "global"))
    if law.sigma(1.0) == 0:
        return StepRule(law.code, _ROOT, 1 / (law.lipschitz(clip) * clip), clip)
    if eta == "auto":
        return StepRule(law.code, _LOCAL, 0.0, clip)
    if not np.isfinite(clip):
        raise InputError("eta='global' needs a clip: without one the curvature has no lower bound")
    return StepRule(law.code, _CONSTANT, law.sigma(clip), clip)


class NewtonStep:
    """w and A^-1 in coordinates that may become more.

    Examples
    --------
    With h = 2 and one coordinate, w = sum(2 z y) / (alpha + sum(2 z^2)) = 4 / 6:

    >>> step = NewtonStep(alpha=2.0, rule=step_rule("squared", "auto", np.inf))
    >>> step.open()
    >>> step.run(np.ones((1, 2), order="F"), np.ones(2))     # predictions before the updates
    array([0. , 0.5])
    >>> step.w
    array([0.66666667])
    """

    def __init__(self, *, alpha: float, rule: StepRule) -> None:
        self.alpha, self.rule = alpha, rule
        self.size = self.n_rounds = 0
        self._w, self._inverse = np.zeros(8), np.zeros((8, 8))

    @property
    def w(self) -> np.ndarray:
        """The hypothesis, in the coordinates that are open."""
        return self._w[: self.size]

    @property
    def inverse(self) -> np.ndarray:
        """A^-1."""
        return self._inverse[: self.size, : self.size]

    def open(self) -> None:
        """Add a coordinate: w <- (w, 0), A <- diag(A, alpha)."""
        j = self.size
        if j == self._w.size:
            self._w = np.concatenate([self._w, np.zeros(j)])
            larger = np.zeros((2 * j, 2 * j))
            larger[:j, :j] = self._inverse
            self._inverse = larger
        self._inverse[j, j] = 1 / self.alpha
        self.size += 1

    def reset(self) -> None:
        """w = 0 and A = alpha I, in the coordinates that are open."""
        self._w[:] = 0.0
        self._inverse[:] = 0.0
        self._inverse[np.arange(self.size), np.arange(self.size)] = 1 / self.alpha

    def move(self, T: np.ndarray) -> None:
        """Go over to the coordinates T z: A <- alpha I + T (A - alpha I) T', w <- A_new^-1 T A w.

        For the squared loss, where A w = sum h z y, that is least squares in the new coordinates.
        """
        A = scipy.linalg.inv(self.inverse)
        moment = T @ (A @ self.w)
        A[np.diag_indices_from(A)] -= self.alpha
        moved = T @ A @ T.T
        moved[np.diag_indices_from(moved)] += self.alpha
        self.size = j = len(T)
        self._w[:], self._inverse[:] = 0.0, 0.0
        self._inverse[:j, :j] = scipy.linalg.inv(moved)
        self._w[:j] = self.inverse @ moment

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Clipped predictions for the columns of `features`."""
        return np.clip(self.w @ features, -self.rule.clip, self.rule.clip)

    def run(self, features: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """A round for every column; the predictions before each update."""
        out = np.empty(targets.size)
        _rounds(features, targets, self._w, self._inverse, self.size, self.rule, self.n_rounds, out)
        self.n_rounds += targets.size
        return out


@numba.njit(cache=True, nogil=True)
def newton_weight(rule, slope, target, prediction, t):
    """h_t = eta_t l'^2."""
    if rule.kind == _LOCAL:
        return loss_curvature(rule.loss, target, prediction, rule.clip)
    eta = rule.eta
    if rule.kind == _ROOT:
        eta = eta / np.sqrt(t + 1.0)
    return eta * slope**2


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _rounds(features, targets, w, inverse, j, rule, t, out):
    u = np.empty(j)
    for column in range(targets.size):
        value = 0.0
        for i in range(j):
            value += w[i] * features[i, column]
        prediction = min(max(value, -rule.clip), rule.clip)
        over = value - prediction
        out[column] = prediction
        g = loss_slope(rule.loss, targets[column], prediction)
        h = newton_weight(rule, g, targets[column], prediction, t + column)
        if over == 0 and g == 0 and h == 0:
            continue
        a = 0.0
        for i in range(j):
            total = 0.0
            for k in range(j):
                total += inverse[i, k] * features[k, column]
            u[i] = total
            a += total * features[i, column]
        if a <= 0:
            continue
        shift = over / a + g / (1.0 + h * a)
        fall = h / (1.0 + h * a)
        for i in range(j):
            w[i] -= shift * u[i]
            scaled = fall * u[i]
            for k in range(j):
                inverse[i, k] -= scaled * u[k]
