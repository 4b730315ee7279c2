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

With a discount d < 1 rounds count less as they age: every 32 rounds, A <- alpha I +
d^32 (A - alpha I) and w <- A_new^-1 d^32 A w, which for the squared loss is least squares with
weights d^age. The regret is then one against hypotheses that move, of a memory of 1 / (1 - d)
rounds.

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

import numpy as np
import scipy.linalg

from graphsqueak.errors import InputError, Parameter
from graphsqueak.online.losses import Law, Loss, loss_curvature, loss_of, loss_slope
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_choice, check_real

__all__ = ["NewtonStep", "StepRule", "newton_weight", "step_rule"]

_CONSTANT, _LOCAL, _ROOT = range(3)
_FADE = 32  # rounds between two discounts


class StepRule(NamedTuple):
    """How h_t is found: numbers for compiled functions."""

    loss: Law
    kind: int
    eta: float
    clip: float


def step_rule(loss: str | Loss, eta: float | str, clip: float) -> StepRule:
    """The rule for `eta`, as users write it.

    >>> step_rule("squared", "global", 1.0).eta, step_rule("hinge", "auto", 2.0).eta
    (0.125, 0.5)
    """
    law = loss if isinstance(loss, Loss) else loss_of(loss)
    if law.name == "squared" and law.width:
        raise InputError(
            "tolerance with ",
            Parameter("loss", "squared"),
            " is for first-order learners; take 'huber'",
        )
    if not isinstance(eta, str):
        return StepRule(law.law, _CONSTANT, check_real("eta", eta, least=0.0), clip)
    check_choice("eta", eta, ("auto", "global"))
    if law.sigma(1.0) == 0:
        return StepRule(law.law, _ROOT, 1 / (law.lipschitz(clip) * clip), clip)
    if eta == "auto":
        return StepRule(law.law, _LOCAL, 0.0, clip)
    if not np.isfinite(clip):
        raise InputError(
            Parameter("eta", "global"),
            " needs a clip: without one the curvature has no lower bound",
        )
    return StepRule(law.law, _CONSTANT, law.sigma(clip), clip)


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

    def __init__(self, *, alpha: float, rule: StepRule, discount: float = 1.0) -> None:
        self.alpha, self.rule, self.discount = alpha, rule, discount
        self.size = 0
        self.n_rounds = 0
        self.n_starts = 0  # how often w = 0 and A = alpha I were set
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
        self.n_starts += 1
        self._w[:] = 0.0
        self._inverse[:] = 0.0
        self._inverse[np.arange(self.size), np.arange(self.size)] = 1 / self.alpha

    def clear(self) -> None:
        """Close all coordinates."""
        self.size = 0
        self.reset()

    def move(self, T: np.ndarray) -> None:
        """Go over to the coordinates T z: A <- alpha I + T (A - alpha I) T', w <- A_new^-1 T A w.

        For the squared loss, where A w = sum h z y, that is least squares in the new coordinates.
        """
        a, V = self._spectrum()
        TV = T @ V
        moved = (TV * (a - self.alpha)) @ TV.T
        moved[np.diag_indices_from(moved)] += self.alpha
        moment = TV @ (a * (V.T @ self.w))
        j = self.size = len(T)
        self._w[:], self._inverse[:] = 0.0, 0.0
        self._inverse[:j, :j] = _inverse_of(moved)
        self._w[:j] = self.inverse @ moment

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Clipped predictions for the columns of `features`."""
        return np.clip(self.w @ features, -self.rule.clip, self.rule.clip)

    def run(self, features: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """A round for every column; the predictions before each update."""
        out, start = np.empty(targets.size), 0
        while start < targets.size:
            stop = targets.size
            if self.discount < 1:
                stop = min(stop, start + _FADE - self.n_rounds % _FADE)
            part = slice(start, stop)
            state = self._w, self._inverse, self.size, self.rule, self.n_rounds
            _rounds(features[:, part], targets[part], *state, out[part])
            self.n_rounds += stop - start
            start = stop
            if self.discount < 1 and self.n_rounds % _FADE == 0 and self.size:
                self._fade()
        return out

    def _fade(self):
        """Let the rounds so far count less."""
        share = self.discount**_FADE
        a, V = self._spectrum()
        faded = self.alpha + share * (a - self.alpha)
        self.w[:] = V @ (share * a / faded * (V.T @ self.w))
        self.inverse[:] = (V / faded) @ V.T

    def _spectrum(self):
        """Eigenvalues of A, none below alpha, and its eigenvectors."""
        values, V = np.linalg.eigh(self.inverse)
        return 1 / np.clip(values, np.finfo(np.float64).tiny, 1 / self.alpha), V


def _inverse_of(matrix):
    """Inverse of a positive definite matrix, by its Cholesky factor.

    >>> _inverse_of(np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([[ 1., -1.],
           [-1.,  2.]])
    """
    if matrix.size == 0:
        return matrix
    factor, _ = scipy.linalg.cho_factor(matrix)
    upper = np.triu(scipy.linalg.lapack.dpotri(factor)[0])
    return upper + np.triu(upper, 1).T


@njit_cached
def newton_weight(rule, slope, target, prediction, t):
    """h_t = eta_t l'^2."""
    if rule.kind == _LOCAL:
        return loss_curvature(rule.loss, target, prediction, rule.clip)
    eta = rule.eta
    if rule.kind == _ROOT:
        eta = eta / np.sqrt(t + 1.0)
    return eta * slope**2


@njit_cached(fastmath={"reassoc", "contract"})
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
