"""Losses l(z) of a prediction z for a target y, their derivatives and curvature.

A learner bounds its predictions by C (`clip`). For |z|, |u| <= C a loss has the Lipschitz constant
L, and the curvature sigma if [C17, Assumption 2]

    l(z) >= l(u) + l'(u) (z - u) + sigma / 2 l'(u)^2 (z - u)^2.

    loss                 l(z)                                 L              sigma
    squared              (y - z)^2                            4 C            1 / (8 C^2)
    logistic             log(1 + e^(-y z))                    1              e^-C
    squared hinge        max(0, 1 - y z)^2                    2 (1 + C)      see below
    hinge                max(0, 1 - y z)                      1              0
    epsilon-insensitive  max(0, |y - z| - e)                  1              0
    Huber                (y - z)^2 if |y - z| <= e,           min(2 e, 4 C)  0
                         e (2 |y - z| - e) otherwise

For the squared hinge sigma = (3 C - 1) / (8 C^2 (1 + C)), or 1 / (2 (1 + C)^2) if C < 1. Targets
are -1 or 1 for classification and |y| <= C for regression.

These sigma are the largest constants that hold for every u. At one given prediction u the
inequality holds with a larger sigma_t, for example 1 / (2 (y - u)^2) for the squared loss. A Newton
step (`newton`) needs only the product

    h_t = sigma_t l'(u)^2,

which is finite if l'(u) = 0, and 2 for the squared loss with any target.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Chapter 5.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.system.kernels import inline_njit, njit_cached
from graphsqueak.validation import check_choice, check_real


class LossKind(IntEnum):
    """The losses, numbered for compiled functions."""

    SQUARED = 0
    LOGISTIC = 1
    SQUARED_HINGE = 2
    HINGE = 3
    EPSILON_INSENSITIVE = 4
    HUBER = 5


class CompiledLoss(NamedTuple):
    """A loss as an argument of compiled functions: its kind and its tolerance e."""

    kind: int
    tolerance: float


class Loss(NamedTuple):
    """A loss by name, with its tolerance e.

    With the squared loss, derivatives are zero if |y - z| <= e, so that first-order learners skip
    such rounds. The values of the loss are not affected.

    >>> hinge = get_loss("hinge")
    >>> float(hinge.value(1.0, 0.25)), float(hinge.derivative(1.0, 0.25)), hinge.sigma(1.0)
    (0.75, -1.0, 0.0)
    >>> get_loss("squared").sigma(1.0), get_loss("squared").lipschitz(1.0)
    (0.125, 4.0)
    """

    name: str
    tolerance: float = 0.0

    @property
    def kind(self) -> LossKind:
        """The number of the loss."""
        return LossKind[self.name.upper()]

    @property
    def compiled(self) -> CompiledLoss:
        """The loss for compiled functions."""
        return CompiledLoss(int(self.kind), self.tolerance)

    @property
    def is_classification(self) -> bool:
        """Whether targets are -1 and 1."""
        return self.kind in (LossKind.LOGISTIC, LossKind.SQUARED_HINGE, LossKind.HINGE)

    def value(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """Return l(z), elementwise."""
        return self._evaluate(y, z, 1.0)[0]

    def derivative(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """Return l'(z), elementwise."""
        return self._evaluate(y, z, 1.0)[1]

    def curvature(self, y: ArrayLike, z: ArrayLike, clip: ArrayLike) -> np.ndarray:
        """Return h = sigma_t l'(z)^2 at the predictions z, for comparators within `clip`."""
        return self._evaluate(y, z, clip)[2]

    def lipschitz(self, clip: float) -> float:
        """Return L for predictions within `clip`."""
        if self.kind == LossKind.SQUARED:
            return 4.0 * clip
        if self.kind == LossKind.SQUARED_HINGE:
            return 2.0 * (1.0 + clip)
        if self.kind == LossKind.HUBER:
            return min(2.0 * self.tolerance, 4.0 * clip)
        return 1.0

    def sigma(self, clip: float) -> float:
        """Return the curvature that holds for all predictions within `clip`."""
        if self.kind == LossKind.SQUARED:
            return 1 / (8 * clip**2)
        if self.kind == LossKind.LOGISTIC:
            return math.exp(-clip)
        if self.kind == LossKind.SQUARED_HINGE:
            # The margin lies beyond C: h = 2 for all predictions, and l'^2 <= 4 (1 + C)^2.
            if clip < 1:
                return 1 / (2 * (1 + clip) ** 2)
            return (3 * clip - 1) / (8 * clip**2 * (1 + clip))
        return 0.0

    def _evaluate(self, *arguments):
        """Return values, derivatives and curvatures for (y, z, clip), elementwise."""
        y, z, clip = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
        out = np.empty((3, y.size))
        _evaluate(self.compiled, y.flatten(), z.flatten(), clip.flatten(), out)
        return out.reshape(3, *y.shape)


LOSSES = {
    "squared": Loss("squared"),
    "logistic": Loss("logistic"),
    "squared_hinge": Loss("squared_hinge"),
    "hinge": Loss("hinge"),
    "epsilon_insensitive": Loss("epsilon_insensitive", tolerance=0.1),
    "huber": Loss("huber", tolerance=0.1),
}


def get_loss(name: str, tolerance: float | None = None) -> Loss:
    """Return the loss with this name.

    Parameters
    ----------
    name : {"squared", "logistic", "squared_hinge", "hinge", "epsilon_insensitive", "huber"}
    tolerance : float, optional
        The e of the losses for regression: smaller errors cost nothing ("epsilon_insensitive",
        default 0.1), are squared ("huber", default 0.1), or cause no step ("squared", default 0).

    Returns
    -------
    Loss
        With `value(y, z)`, `derivative(y, z)`, `lipschitz(clip)`, `sigma(clip)` and
        `curvature(y, z, clip)`.

    Examples
    --------
    >>> get_loss("huber", tolerance=0.5).lipschitz(1.0)
    1.0
    >>> get_loss("absolute")
    Traceback (most recent call last):
    graphsqueak.errors.InputError: loss='absolute' is not one of 'squared', ...
    """
    if not isinstance(name, str):
        raise InputError(Parameter("loss", name), f" must be a name: {', '.join(LOSSES)}")
    loss = LOSSES[check_choice("loss", name, tuple(LOSSES))]
    if tolerance is None:
        return loss
    if loss.is_classification:
        raise InputError(
            "tolerance is for regression; remove it or replace the classification ",
            Parameter("loss", name),
        )
    return loss._replace(tolerance=check_real("tolerance", tolerance, least=0.0))


@inline_njit
def loss_value(loss, y, z):
    """Return l(z)."""
    if loss.kind == LossKind.SQUARED:
        return (y - z) ** 2
    if loss.kind == LossKind.LOGISTIC:
        # The exponent is never positive, so it cannot overflow.
        return max(-y * z, 0.0) + math.log1p(math.exp(-abs(z)))
    if loss.kind == LossKind.EPSILON_INSENSITIVE:
        return max(abs(y - z) - loss.tolerance, 0.0)
    if loss.kind == LossKind.HUBER:
        error = abs(y - z)
        if error <= loss.tolerance:
            return error**2
        return loss.tolerance * (2.0 * error - loss.tolerance)
    margin = max(1.0 - y * z, 0.0)
    return margin if loss.kind == LossKind.HINGE else margin**2


@njit_cached
def loss_slope(loss, y, z):
    """Return l'(z)."""
    error = z - y
    if loss.kind == LossKind.SQUARED:
        # A prediction within the tolerance causes no step; without one, every error does.
        return 2.0 * error if abs(error) > loss.tolerance or loss.tolerance == 0 else 0.0
    if loss.kind == LossKind.LOGISTIC:
        # e^700 is about the largest number in double precision.
        return -y / (1.0 + math.exp(min(y * z, 700.0)))
    if loss.kind == LossKind.EPSILON_INSENSITIVE:
        return np.sign(error) if abs(error) > loss.tolerance else 0.0
    if loss.kind == LossKind.HUBER:
        return 2.0 * min(max(error, -loss.tolerance), loss.tolerance)
    margin = max(1.0 - y * z, 0.0)
    if loss.kind == LossKind.HINGE:
        return -y if margin > 0 else 0.0
    return -2.0 * y * margin


@inline_njit
def loss_curvature(loss, y, u, clip):
    """Return the largest h with l(z) >= l(u) + l'(u) (z - u) + h / 2 (z - u)^2 for |z| <= clip."""
    if loss.kind == LossKind.SQUARED:
        return 2.0
    if loss.kind == LossKind.LOGISTIC or loss.kind == LossKind.HUBER:
        # The quotient is smallest at one of the ends of the interval.
        return min(_quotient(loss, y, u, -clip), _quotient(loss, y, u, clip))
    margin = 1.0 - y * u
    if loss.kind != LossKind.SQUARED_HINGE or margin < 0:
        return 0.0
    # The loss is quadratic up to the margin and zero beyond, where comparators may lie.
    reach = clip - y * u
    if reach <= margin:
        # No comparator lies beyond the margin: even a prediction at the margin has curvature 2.
        return 2.0
    return 2.0 * margin * (2.0 * reach - margin) / reach**2


@inline_njit
def _quotient(loss, y, u, z):
    """Return 2 (l(z) - l(u) - l'(u) (z - u)) / (z - u)^2, or l''(u) if z is close to u."""
    step = z - u
    # For shorter steps the difference in the numerator is dominated by rounding errors.
    if abs(step) < 1e-3:
        if loss.kind == LossKind.HUBER:
            # l'' of the Huber loss jumps at the tolerance.
            return 2.0 if abs(u - y) < loss.tolerance else 0.0
        # l'' = p (1 - p) for the logistic loss, p = |l'|.
        probability = abs(loss_slope(loss, y, u))
        return probability * (1.0 - probability)
    difference = loss_value(loss, y, z) - loss_value(loss, y, u) - loss_slope(loss, y, u) * step
    return max(2.0 * difference / step**2, 0.0)


@njit_cached
def _evaluate(loss, y, z, clip, out):
    """Write values, derivatives and curvatures into the three rows of `out`."""
    for i in range(y.size):
        out[0, i] = loss_value(loss, y[i], z[i])
        out[1, i] = loss_slope(loss, y[i], z[i])
        out[2, i] = loss_curvature(loss, y[i], z[i], clip[i])
