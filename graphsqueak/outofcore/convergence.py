"""How an iteration goes, told by the largest relative residual after each pass."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphsqueak.errors import ConvergenceWarning

__all__ = ["Convergence", "Iterate"]

_PATIENCE = 20  # passes without progress that are borne
_TREND = 5  # passes over which the rate is told


@dataclass(frozen=True)
class Iterate:
    """Where a solve stands after a pass; the arrays are the solver's own and change later.

    Attributes
    ----------
    x, residual : ndarray of shape (n_nodes, K)
        The solution so far, and b - A x.
    relative : ndarray of shape (K,)
        |b - A x| / |b|, 0 where b is 0.
    n_passes : int
        Passes of this solve so far.
    is_measured : bool
        Whether this pass measured the residual; else it was carried on from the last one.
    lowest : float
        Smallest ratio x'A x / x'M x along the directions of this pass, M of the sparsifier;
        infinite if it had none. Along other directions it may be smaller.
    """

    x: np.ndarray
    residual: np.ndarray
    relative: np.ndarray
    n_passes: int
    is_measured: bool
    lowest: float
    _precondition: Callable[[np.ndarray], np.ndarray] = field(repr=False)

    @cached_property
    def correction(self) -> np.ndarray:
        """M^+ residual, about what x still lacks; takes no pass, and the next step needs it."""
        return self._precondition(self.residual)

    def release(self) -> np.ndarray:
        """The correction, which is then held no longer: it is computed anew if it is asked for."""
        correction = self.correction
        del self.__dict__["correction"]
        return correction

    @property
    def energy(self) -> np.ndarray:
        """residual . correction, per column: |x - x*|_A^2, within the accuracy of the sparsifier.

        With lambda_min and lambda_max of a certificate it is rigorous: the true one lies between
        lambda_min * energy and lambda_max * energy.
        """
        return np.einsum("ik,ik->k", self.residual, self.correction)


class Convergence:
    """The residuals of an iteration, and what follows from them.

    Attributes
    ----------
    is_measured : bool
        Whether the last residual was measured, not carried on from the one before.
    worst, checked : list of float
        Largest relative residual after each pass, and those of them that were measured.

    Examples
    --------
    >>> halving = Convergence()
    >>> for t in range(6):
    ...     halving.note(2.0**-t, is_measured=False)
    >>> float(halving.passes_left(2.0**-20))
    15.0
    """

    def __init__(self, *, is_measured: bool = True) -> None:
        self.is_measured = is_measured
        self.worst: list[float] = []
        self.checked: list[float] = []
        self.was_told = False  # that it is slow
        self._since = 0  # passes before the preconditioner was changed

    def note(self, worst: float, *, is_measured: bool) -> None:
        """Take down how a pass ended."""
        self.is_measured = is_measured
        self.worst.append(worst)
        if is_measured:
            self.checked.append(worst)

    def begin_anew(self) -> None:
        """Tell the rate from the passes to come: the preconditioner has changed."""
        self._since = len(self.worst)

    def is_stuck(self) -> bool:
        """Whether the residual does not fall any more, as told or as measured."""
        recent, last = self.worst[self._since :], self.checked[-2:]
        before, now = recent[:-_PATIENCE], recent[-_PATIENCE:]
        is_flat = bool(before) and min(now) > 0.99 * min(before)
        return is_flat or (len(last) == 2 and last[1] > last[0] / 2)

    def passes_left(self, tol: float) -> float:
        """How many more passes it takes at the rate of the last ones; 0 before that is known."""
        recent = np.minimum.accumulate(self.worst[self._since :])
        if len(recent) <= _TREND or recent[-1] <= tol:
            return 0.0
        rate = np.log(recent[-1 - _TREND] / recent[-1]) / _TREND
        return np.log(recent[-1] / tol) / rate if rate > 0 else np.inf

    def warn_once(self, n_more: float) -> None:
        """Say that so many more passes are needed, the first time."""
        if not self.was_told:
            many = f"about {n_more:,.0f}" if n_more < 10_000 else "thousands of"
            warnings.warn(
                ConvergenceWarning(
                    f"the sparsifier is too coarse: at this rate {many} more passes are needed; "
                    "give it more edges, or max_edges, so that it may grow",
                    residual=self.worst[-1],
                ),
                stacklevel=7,
            )
        self.was_told = True

    def numbers(self) -> dict[str, Any]:
        """What `restore` takes."""
        return dict(vars(self))

    def restore(self, numbers: dict[str, Any]) -> None:
        """Go back to where `numbers` were taken."""
        vars(self).update({name: numbers[name] for name in vars(self)})
