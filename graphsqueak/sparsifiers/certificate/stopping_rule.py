"""When a certificate is accurate enough, and which bounds are not."""

from typing import NamedTuple

import numpy as np

from graphsqueak.sparsifiers.certificate.forest_norm import SQRT_EPS

ROUNDING_DOMINATES = (
    "the weights differ by too many orders of magnitude for method='lanczos'; use method='dense'"
)

# Relative distance of the bounds on kappa. The number of iterations of a preconditioned solver
# grows with its square root, and is then known within 5 %. Halved: kappa is up to 5 % smaller,
# after 0 % to 16 % more steps. Doubled: kappa is up to 11 % larger, after 0 % to 21 % fewer steps
# (grid, nearest neighbors and trees; random graphs do not change).
KAPPA_RTOL = 0.1


class ExtremeRatios(NamedTuple):
    """Lower and upper bounds on the lowest and on the highest ratio of H to G."""

    lowest: tuple[float, float]
    highest: tuple[float, float]

    @property
    def epsilon(self):
        """Lower and upper bound on epsilon."""
        lower = max(1 - self.lowest[1], self.highest[0] - 1, 0.0)
        upper = max(1 - self.lowest[0], self.highest[1] - 1, 0.0)
        return float(lower), float(upper)

    @property
    def kappa(self):
        """Lower and upper bound on the quotient of the highest and the lowest ratio."""
        # In this order, because infinite bounds give NaN.
        lower = max(1.0, self.highest[0] / self.lowest[1])
        upper = self.highest[1] / self.lowest[0] if self.lowest[0] > 0 else np.inf
        return lower, upper

    def fields(self):
        """Return fields of a `Certificate`."""
        return {
            "epsilon_lower": self.epsilon[0],
            "epsilon_upper": self.epsilon[1],
            "lambda_min": self.lowest[0],
            "lambda_max": self.highest[1],
            "kappa_lower": self.kappa[0],
        }


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

    def is_met(self, history, extremes):
        """Return whether to stop, given the bounds on epsilon so far and on the ratios."""
        lower, upper = history[-1]
        if len(history) >= self.max_steps:
            return True
        if self.goal is not None and (upper <= self.goal or lower > 1.1 * self.goal):
            return True
        kappa_lower, kappa_upper = extremes.kappa
        return self.is_close(lower, upper) and kappa_upper <= (1 + KAPPA_RTOL) * kappa_lower

    def is_stagnant(self, history):
        """Return whether the last step raised the lower bound by at most `rtol`."""
        return len(history) > 1 and history[-1][0] <= (1 + self.rtol) * history[-2][0]

    def is_close(self, lower, upper):
        """Return whether two bounds on an error are close enough.

        An error below that of the solves is the one of a sparsifier that equals the graph.
        """
        return upper <= max((1 + self.rtol) * lower, lower + SQRT_EPS)

    def describe_unresolved(self, history, extremes, *, is_limited=False):
        """Return which bounds are not close, or an empty string if both are.

        Parameters
        ----------
        history : list of (float, float)
        extremes : ExtremeRatios
        is_limited : bool
            Whether rounding limits the bounds, so that more steps would not help.
        """
        lower, upper = history[-1]
        if self.is_close(lower, upper) or self.goal is not None:
            return ""
        too_heavy = np.subtract(extremes.highest, 1)
        too_light = np.subtract(1, extremes.lowest[::-1])
        parts = [
            f"too {name} by at least {max(bounds[0], 0.0):.4g} and at most {bounds[1]:.4g}"
            for name, bounds in (("heavy", too_heavy), ("light", too_light))
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
        if len(history) < 2:
            return np.nan
        lower, upper = np.transpose(history[-4:])
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.log(upper / lower)
            rate = np.log(gaps[0] / gaps[-1]) / (len(gaps) - 1)
            n_more = np.log(gaps[-1] / np.log1p(self.rtol)) / rate
        # An infinite upper bound, or bounds that do not improve.
        if not (np.isfinite(n_more) and rate > 0):
            return np.nan
        n_expected = min(len(history) + max(n_more, 1.0), self.max_steps)
        return min((len(history) + fraction_of_step) / n_expected, 1.0)
