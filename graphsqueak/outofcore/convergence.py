"""State of an iteration over a streamed graph: the current solution and its rate of convergence."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from graphsqueak.errors import ConvergenceWarning

# Sensitivities below are passes of solves to 1e-8 on a block model, a heavy-tailed graph, a grid
# and a small-world graph with a coarse sparsifier that may grow (16, 16, 33 and 23 passes).

# Passes without progress before an iteration stops: the residual of CG is not monotone. It only
# prevents endless loops. Halved or doubled: no change.
PATIENCE = 20
# Passes over which the rate is estimated, before a coarse sparsifier is replaced. Halved: 20
# instead of 23 passes on the small-world graph, but from the rate of two passes only. Doubled: 28.
RATE_PASSES = 5


@dataclass(frozen=True)
class Iterate:
    """Solution after a pass, with its residual. The arrays belong to the solver and change later.

    Attributes
    ----------
    x, residual : ndarray of shape (n_nodes, K)
        The current solution, and b - A x.
    relative : ndarray of shape (K,)
        ||b - A x|| / ||b||, 0 where b is 0.
    n_passes : int
        Passes of this solve.
    is_measured : bool
        Whether this pass computed b - A x. Otherwise the residual is that of the recursion.
    lowest : float
        Smallest ratio x'A x / x'M x along the directions of this pass, with M of the sparsifier;
        infinite if there are none. It may be smaller along other directions.
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
        """M^+ residual, an estimate of x* - x, without a pass. The next step uses it."""
        return self._precondition(self.residual)

    def release(self) -> np.ndarray:
        """Return the correction and drop the reference to it, so that its memory can be freed."""
        correction = self.correction
        del self.__dict__["correction"]
        return correction

    @property
    def energy(self) -> np.ndarray:
        """residual . correction per column: ||x - x*||_A^2, up to the error of the sparsifier.

        With a certificate, the true value lies between lambda_min and lambda_max times this.
        """
        return np.einsum("ik,ik->k", self.residual, self.correction)


class Convergence:
    """Residuals of an iteration, its rate, and whether it still makes progress.

    Attributes
    ----------
    is_measured : bool
        Whether the last residual was measured instead of computed by the recursion.
    worst, checked : list of float
        Largest relative residual after each pass, and the measured ones among them.

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
        self.has_warned = False
        # Number of passes before the preconditioner was replaced.
        self._first = 0

    def note(self, worst: float, *, is_measured: bool) -> None:
        """Record the largest relative residual after a pass."""
        self.is_measured = is_measured
        self.worst.append(worst)
        if is_measured:
            self.checked.append(worst)

    def forget_rate(self) -> None:
        """Estimate the rate from later passes only, because the preconditioner was replaced."""
        self._first = len(self.worst)

    def is_stuck(self) -> bool:
        """Return whether the residual, computed or measured, no longer decreases."""
        recent = self.worst[self._first :]
        before = recent[:-PATIENCE]
        is_flat = bool(before) and min(recent[-PATIENCE:]) > 0.99 * min(before)
        # A restart from the measured residual that does not halve it is limited by rounding.
        last = self.checked[-2:]
        return is_flat or (len(last) == 2 and last[1] > last[0] / 2)

    def passes_left(self, tol: float) -> float:
        """Forecast the number of passes until `tol` from the recent rate; 0 if it is unknown."""
        recent = np.minimum.accumulate(self.worst[self._first :])
        if len(recent) <= RATE_PASSES or recent[-1] <= tol:
            return 0.0
        rate = np.log(recent[-1 - RATE_PASSES] / recent[-1]) / RATE_PASSES
        return np.log(recent[-1] / tol) / rate if rate > 0 else np.inf

    def warn_once(self, n_more: float) -> None:
        """Warn, the first time only, that about `n_more` further passes are needed."""
        if not self.has_warned:
            many = f"about {n_more:,.0f}" if n_more < 10_000 else "thousands of"
            warnings.warn(
                ConvergenceWarning(
                    f"the sparsifier is too coarse: at this rate {many} more passes are needed; "
                    "give it more edges, or max_edges, so that it may grow",
                    residual=self.worst[-1],
                ),
                stacklevel=7,
            )
        self.has_warned = True

    def numbers(self) -> dict[str, Any]:
        """Return the state for a checkpoint."""
        return dict(vars(self))

    def restore(self, numbers: dict[str, Any]) -> None:
        """Restore the state that `numbers` returned."""
        vars(self).update({name: numbers[name] for name in vars(self)})
