"""Losses of one prediction z for one target y, with their slopes and their curvature.

A learner bounds its predictions by C. For |z|, |u| <= C a loss l has the Lipschitz constant L, and
the curvature sigma if

    l(z) >= l(u) + l'(u) (z - u) + sigma / 2 l'(u)^2 (z - u)^2        [C17, Assumption 2].

              l(z)                 L            sigma
    squared        (y - z)^2            4 C          1 / (8 C^2)
    logistic       log(1 + e^(-y z))    1            e^-C
    squared hinge  max(0, 1 - y z)^2    2 (1 + C)    (3 C - 1) / (8 C^2 (1 + C)), or for C < 1
                                                     1 / (2 (1 + C)^2)
    hinge          max(0, 1 - y z)      1            0
    epsilon-insensitive  max(0, |y - z| - e)                 1            0
    Huber          (y - z)^2 up to |y - z| = e, then e (2 |y - z| - e)    2 e (or 4 C)    0

(|y| <= C where y is a number, else -1 or 1; L for predictions within C). These sigma are
the largest possible. They are worst cases over u: at the u that was predicted the same inequality
holds with a larger sigma_t, for instance 1 / (2 (y - u)^2) for the squared loss. A Newton step only
needs the product

    h_t = sigma_t l'(u)^2,

which is finite where l' = 0, and 2 for the squared loss whatever the targets.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Chapter 5.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError, Parameter
from graphsqueak.system.kernels import inline_njit, njit_cached
from graphsqueak.validation import check_choice, check_real

__all__ = ["LOSSES", "Loss", "loss_curvature", "loss_of", "loss_slope", "loss_value"]

_SQUARED, _LOGISTIC, _SQUARED_HINGE, _HINGE, _INSENSITIVE, _HUBER = range(6)
_WIDTH = 0.1  # of the losses that have one, if nobody says


class Law(NamedTuple):
    """What compiled functions know of a loss: its number, and e."""

    code: int
    width: float


class Loss(NamedTuple):
    """A loss by name, with its e if it has one.

    With the squared loss, slopes are zero where |y - z| is at most e: first-order learners then
    take no step. Values do not know of it.

    >>> hinge = loss_of("hinge")
    >>> float(hinge.value(1.0, 0.25)), float(hinge.derivative(1.0, 0.25)), hinge.sigma(1.0)
    (0.75, -1.0, 0.0)
    >>> loss_of("squared").sigma(1.0), loss_of("squared").lipschitz(1.0)
    (0.125, 4.0)
    """

    name: str
    code: int
    width: float = 0.0

    @property
    def law(self) -> Law:
        """For compiled functions."""
        return Law(self.code, self.width)

    @property
    def is_classification(self) -> bool:
        """Whether targets are -1 and 1."""
        return self.code in (_LOGISTIC, _SQUARED_HINGE, _HINGE)

    def value(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """l(z), element by element."""
        return _each(_values, self.law, y, z)

    def derivative(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """l'(z), element by element."""
        return _each(_slopes, self.law, y, z)

    def lipschitz(self, clip: float) -> float:
        """L for predictions within `clip`."""
        table = {_SQUARED: 4 * clip, _SQUARED_HINGE: 2 * (1 + clip)}
        table[_HUBER] = min(2 * self.width, 4 * clip)
        return float(table.get(self.code, 1.0))

    def sigma(self, clip: float) -> float:
        """The curvature for predictions within `clip`, in the worst case."""
        if self.code == _SQUARED:
            return 1 / (8 * clip**2)
        if self.code == _LOGISTIC:
            return math.exp(-clip)
        if self.code == _SQUARED_HINGE:
            if clip < 1:
                return 1 / (2 * (1 + clip) ** 2)
            return (3 * clip - 1) / (8 * clip**2 * (1 + clip))
        return 0.0

    def curvature(self, y: ArrayLike, z: ArrayLike, clip: ArrayLike) -> np.ndarray:
        """h = sigma_t l'(z)^2 at the prediction z, for competitors within `clip`."""
        return _each(_curvatures, self.law, y, z, clip)


LOSSES = {
    "squared": Loss("squared", _SQUARED),
    "logistic": Loss("logistic", _LOGISTIC),
    "squared_hinge": Loss("squared_hinge", _SQUARED_HINGE),
    "hinge": Loss("hinge", _HINGE),
    "epsilon_insensitive": Loss("epsilon_insensitive", _INSENSITIVE, _WIDTH),
    "huber": Loss("huber", _HUBER, _WIDTH),
}


def loss_of(name: str, tolerance: float | None = None) -> Loss:
    """The loss of that name.

    Parameters
    ----------
    name : {"squared", "logistic", "squared_hinge", "hinge", "epsilon_insensitive", "huber"}
    tolerance : float, optional
        e: errors up to it cost nothing ("epsilon_insensitive", default .1), are squared ("huber",
        default .1), or make no step ("squared", default 0).

    Returns
    -------
    Loss
        With `value(y, z)`, `derivative(y, z)`, `lipschitz(clip)`, `sigma(clip)` and
        `curvature(y, z, clip)`.

    Examples
    --------
    >>> loss_of("absolute")
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
            "tolerance is for numbers, not for the labels of ", Parameter("loss", name)
        )
    return loss._replace(width=check_real("tolerance", tolerance, least=0.0))


def _each(compiled, law, *arguments):
    arrays = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    out = np.empty(arrays[0].size)
    compiled(law, *(a.flatten() for a in arrays), out)
    return out.reshape(arrays[0].shape)


@inline_njit
def loss_value(law, y, z):
    """l(z)."""
    if law.code == _SQUARED:
        return (y - z) ** 2
    if law.code == _LOGISTIC:
        return max(-y * z, 0.0) + math.log1p(math.exp(-abs(z)))
    if law.code == _INSENSITIVE:
        return max(abs(y - z) - law.width, 0.0)
    if law.code == _HUBER:
        far = abs(y - z)
        return far**2 if far <= law.width else law.width * (2.0 * far - law.width)
    margin = max(1.0 - y * z, 0.0)
    return margin if law.code == _HINGE else margin**2


@njit_cached
def loss_slope(law, y, z):
    """l'(z)."""
    if law.code == _SQUARED:
        return 2.0 * (z - y) if abs(z - y) > law.width or law.width == 0 else 0.0
    if law.code == _LOGISTIC:
        return -y / (1.0 + math.exp(min(y * z, 700.0)))
    if law.code == _INSENSITIVE:
        return np.sign(z - y) if abs(z - y) > law.width else 0.0
    if law.code == _HUBER:
        return 2.0 * min(max(z - y, -law.width), law.width)
    margin = max(1.0 - y * z, 0.0)
    if law.code == _HINGE:
        return -y if margin > 0 else 0.0
    return -2.0 * y * margin


@inline_njit
def loss_curvature(law, y, u, clip):
    """The largest h with l(z) >= l(u) + l'(u) (z - u) + h / 2 (z - u)^2 for all |z| <= clip."""
    if law.code == _SQUARED:
        return 2.0
    if law.code == _LOGISTIC or law.code == _HUBER:
        return min(_gap(law, y, u, -clip), _gap(law, y, u, clip))
    margin = 1.0 - y * u
    if law.code != _SQUARED_HINGE or margin < 0:
        return 0.0
    beyond = clip - y * u  # the quadratic ends at the margin; competitors may lie past it
    if beyond <= margin:  # they cannot: even a prediction at the margin has all the curvature
        return 2.0
    return 2.0 * margin * (2.0 * beyond - margin) / beyond**2


@inline_njit
def _gap(law, y, u, z):
    """2 (l(z) - l(u) - l'(u) (z - u)) / (z - u)^2, smallest at the ends; l'' where they meet."""
    far = z - u
    if abs(far) < 1e-3:
        if law.code == _HUBER:
            return 2.0 if abs(u - y) < law.width else 0.0
        p = abs(loss_slope(law, y, u))
        return p * (1.0 - p)
    bend = loss_value(law, y, z) - loss_value(law, y, u) - loss_slope(law, y, u) * far
    return max(2.0 * bend / far**2, 0.0)


@njit_cached
def _values(law, y, z, out):
    for i in range(out.size):
        out[i] = loss_value(law, y[i], z[i])


@njit_cached
def _slopes(law, y, z, out):
    for i in range(out.size):
        out[i] = loss_slope(law, y[i], z[i])


@njit_cached
def _curvatures(law, y, z, clip, out):
    for i in range(out.size):
        out[i] = loss_curvature(law, y[i], z[i], clip[i])
