"""When a certificate is accurate enough, and how far it is from that."""

from typing import NamedTuple

import numpy as np

__all__ = ["KAPPA_LOOSE", "KAPPA_RTOL", "ROUNDING_DOMINATES", "StoppingRule"]

ROUNDING_DOMINATES = (
    "the weights differ by too many orders of magnitude for method='lanczos'; use method='dense'"
)

# From this kappa, which is an epsilon of 0.8 after rescaling, a sparsifier serves as a
# preconditioner, and both ends are bounded. Below it, the end that does not determine epsilon is
# ignored. Halved or doubled: no change on graphs of kappa 1.4 to 72.
KAPPA_LOOSE = 9.0

# Relative distance of the bounds on kappa, if it exceeds `KAPPA_LOOSE`. The number of iterations of
# a preconditioned solver grows with its square root, and is then known within 5 %. Halved:
# kappa is up to 3 % smaller, after 0 % to 14 % more steps. Doubled: kappa is up to 7 % larger,
# after 0 % to 8 % fewer steps (grid, bridge and tree).
KAPPA_RTOL = 0.1

# Absolute accuracy of epsilon at which the measurement stops. It decides for sparsifiers that equal
# the graph only, whose epsilon is rounding. Halved or doubled: no change for all others.
EPSILON_ATOL = 1e-6


class StoppingRule(NamedTuple):
    """Conditions under which a certificate stops.

    A history is a list of (lower, upper) bounds on epsilon, one pair per step.

    Attributes
    ----------
    max_steps : int
        Largest number of Lanczos steps.
    rtol : float
        Relative distance of the two bounds at which the certificate stops.
    goal : float or None
        Stop as soon as epsilon is known to be below `goal`, or more than 10 % above it.
    """

    max_steps: int
    rtol: float
    goal: float | None

    def is_met(self, history, kappa_lower=1.0, kappa_upper=1.0):
        """Return whether to stop, given the bounds on epsilon so far and those on kappa."""
        lower, upper = history[-1]
        if len(history) >= self.max_steps:
            return True
        if self.goal is not None and (upper <= self.goal or lower > 1.1 * self.goal):
            return True
        is_kappa_known = kappa_lower < KAPPA_LOOSE or kappa_upper <= (1 + KAPPA_RTOL) * kappa_lower
        return self.is_close(lower, upper) and is_kappa_known

    def is_stagnant(self, history):
        """Return whether the last step raised the lower bound by at most `rtol`."""
        return len(history) > 1 and history[-1][0] <= (1 + self.rtol) * history[-2][0]

    def is_close(self, lower, upper):
        """Return whether two bounds on an error are close enough."""
        return upper <= max((1 + self.rtol) * lower, lower + EPSILON_ATOL)

    def describe_unresolved(self, history, heavy, light, *, is_limited=False):
        """Return which bounds are not close, or an empty string if both are.

        Parameters
        ----------
        history : list of (float, float)
        heavy, light : (float, float)
            Bounds on how much too heavy and too light the sparsifier is.
        is_limited : bool
            Whether rounding limits the bounds, so that more steps would not help.
        """
        lower, upper = history[-1]
        if self.is_close(lower, upper) or self.goal is not None:
            return ""
        parts = [
            f"too {name} by at least {max(bounds[0], 0.0):.4g} and at most {bounds[1]:.4g}"
            for name, bounds in (("heavy", heavy), ("light", light))
            if not self.is_close(lower, bounds[1])
        ]
        n_steps = len(history)
        steps = "1 step" if n_steps == 1 else f"{n_steps} steps"
        reason = f"; {ROUNDING_DOMINATES}" if is_limited else ""
        return f"after {steps} the sparsifier is {' and '.join(parts)}{reason}"

    def fraction_done(self, history, fraction_of_step):
        """Return the expected fraction of all steps that is done, or NaN without a trend.

        The logarithms of the last four gaps between the bounds are extrapolated linearly.
        """
        gaps = [
            np.log(upper / lower) for lower, upper in history[-4:] if 0 < lower < upper < np.inf
        ]
        if len(gaps) < 2 or gaps[-1] >= gaps[0]:
            return np.nan
        rate = np.log(gaps[0] / gaps[-1]) / (len(gaps) - 1)
        n_more = np.log(max(gaps[-1] / np.log1p(self.rtol), 1.0)) / rate
        n_expected = min(len(history) + max(n_more, 1.0), self.max_steps)
        return min((len(history) + fraction_of_step) / n_expected, 1.0)
