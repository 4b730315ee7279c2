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

(|y| <= C for the first, y = -1 or 1 for the others; L for predictions within C). These sigma are
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

import numba
import numpy as np
from numpy.typing import ArrayLike

from graphsqueak.errors import InputError
from graphsqueak.validation import check_choice

__all__ = ["LOSSES", "Loss", "loss_curvature", "loss_of", "loss_slope", "loss_value"]

_SQUARED, _LOGISTIC, _SQUARED_HINGE, _HINGE = range(4)


class Loss(NamedTuple):
    """A loss by name; `code` is what compiled functions know it by.

    >>> hinge = loss_of("hinge")
    >>> float(hinge.value(1.0, 0.25)), float(hinge.derivative(1.0, 0.25)), hinge.sigma(1.0)
    (0.75, -1.0, 0.0)
    >>> loss_of("squared").sigma(1.0), loss_of("squared").lipschitz(1.0)
    (0.125, 4.0)
    """

    name: str
    code: int

    @property
    def is_classification(self) -> bool:
        """Whether targets are -1 and 1."""
        return self.code != _SQUARED

    def value(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """l(z), element by element."""
        return _each(_values, self.code, y, z)

    def derivative(self, y: ArrayLike, z: ArrayLike) -> np.ndarray:
        """l'(z), element by element."""
        return _each(_slopes, self.code, y, z)

    def lipschitz(self, clip: float) -> float:
        """L for predictions within `clip`."""
        table = {_SQUARED: 4 * clip, _SQUARED_HINGE: 2 * (1 + clip)}
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
        return _each(_curvatures, self.code, y, z, clip)


LOSSES = {
    "squared": Loss("squared", _SQUARED),
    "logistic": Loss("logistic", _LOGISTIC),
    "squared_hinge": Loss("squared_hinge", _SQUARED_HINGE),
    "hinge": Loss("hinge", _HINGE),
}


def loss_of(name: str) -> Loss:
    """The loss of that name.

    Parameters
    ----------
    name : {"squared", "logistic", "squared_hinge", "hinge"}

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
        raise InputError(f"loss={name!r} must be a name: {', '.join(LOSSES)}")
    return LOSSES[check_choice("loss", name, tuple(LOSSES))]


def _each(compiled, code, *arguments):
    arrays = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in arguments))
    out = np.empty(arrays[0].size)
    compiled(code, *(a.flatten() for a in arrays), out)
    return out.reshape(arrays[0].shape)


@numba.njit(cache=True, nogil=True)
def loss_value(code, y, z):
    """l(z)."""
    if code == _SQUARED:
        return (y - z) ** 2
    if code == _LOGISTIC:
        return max(-y * z, 0.0) + math.log1p(math.exp(-abs(z)))
    margin = max(1.0 - y * z, 0.0)
    return margin if code == _HINGE else margin**2


@numba.njit(cache=True, nogil=True)
def loss_slope(code, y, z):
    """l'(z)."""
    if code == _SQUARED:
        return 2.0 * (z - y)
    if code == _LOGISTIC:
        return -y / (1.0 + math.exp(min(y * z, 700.0)))
    margin = max(1.0 - y * z, 0.0)
    if code == _HINGE:
        return -y if margin > 0 else 0.0
    return -2.0 * y * margin


@numba.njit(cache=True, nogil=True)
def loss_curvature(code, y, u, clip):
    """The largest h with l(z) >= l(u) + l'(u) (z - u) + h / 2 (z - u)^2 for all |z| <= clip."""
    if code == _SQUARED:
        return 2.0
    if code == _LOGISTIC:
        return min(_gap(code, y, u, -clip), _gap(code, y, u, clip))
    margin = 1.0 - y * u
    if code == _HINGE or margin < 0:
        return 0.0
    beyond = clip - y * u  # the quadratic ends at the margin; competitors may lie past it
    if beyond <= margin:  # they cannot: even a prediction at the margin has all the curvature
        return 2.0
    return 2.0 * margin * (2.0 * beyond - margin) / beyond**2


@numba.njit(cache=True, nogil=True)
def _gap(code, y, u, z):
    """2 (l(z) - l(u) - l'(u) (z - u)) / (z - u)^2 of the logistic loss; l'' where they meet."""
    far = z - u
    if abs(far) < 1e-3:
        p = abs(loss_slope(code, y, u))
        return p * (1.0 - p)
    bend = loss_value(code, y, z) - loss_value(code, y, u) - loss_slope(code, y, u) * far
    return max(2.0 * bend / far**2, 0.0)


@numba.njit(cache=True, nogil=True)
def _values(code, y, z, out):
    for i in range(out.size):
        out[i] = loss_value(code, y[i], z[i])


@numba.njit(cache=True, nogil=True)
def _slopes(code, y, z, out):
    for i in range(out.size):
        out[i] = loss_slope(code, y[i], z[i])


@numba.njit(cache=True, nogil=True)
def _curvatures(code, y, z, clip, out):
    for i in range(out.size):
        out[i] = loss_curvature(code, y[i], z[i], clip[i])
