"""Search for the fewest edges that meet an error, from a few measurements.

Every run of the search makes a sparsifier with n edges and measures its error e. The predicted
error f(n) (`ErrorCurve`) has the right shape and may be wrong by a factor. The factor is estimated
by the median of 1, the prediction itself, and of e / f(n) over the runs so far. It suggests

    n* = f^-1(epsilon / factor)

edges for the next run. Errors vary between runs, by up to 17 % on facebook_combined, so that a
single measurement does not outweigh the prediction. The search ends when the fewest edges that met
epsilon are close to n*, or to the most edges that missed it. It also ends after `MAX_RUNS` runs,
but never before a run has met epsilon.
"""

import math
import statistics

from graphsqueak.sparsifiers.error_prediction import ErrorCurve

# A measurement takes tens of products with the whole graph. One or two runs end the search on most
# graphs of benchmarks/cases/certify.py.
MAX_RUNS = 4
# Runs have this many times the suggested edges: without a margin, half of all runs would just miss
# epsilon. Numbers of edges within its square count as equal.
_EDGE_MARGIN = 1.03


class EdgeSearch:
    """Search for the fewest edges that meet an error.

    Parameters
    ----------
    epsilon : float
        The error to meet.
    curve : ErrorCurve
        Predicted error by number of edges.

    Examples
    --------
    By the curve, an error of 0.1 takes 100 edges; in fact it takes 400:

    >>> import numpy as np
    >>> curve = ErrorCurve(n_edges=np.array([1.0, np.inf]), error=np.array([1.0, 0.0]))
    >>> search = EdgeSearch(0.1, curve)
    >>> search.record(100, error=0.2)
    False
    >>> search.is_finished, search.next_n_edges
    (False, 232)
    >>> search.record(232, error=0.1313)
    False
    >>> search.next_n_edges
    412
    >>> search.record(412, error=0.0985)
    True
    >>> search.is_finished
    True
    """

    def __init__(self, epsilon: float, curve: ErrorCurve) -> None:
        self.epsilon = epsilon
        self.curve = curve
        self.n_runs = 0
        self.fewest_met = math.inf
        self.most_missed = 0
        self._suggested = math.inf
        self._factors = [1.0]

    def record(self, n_edges: int, error: float) -> bool:
        """Add a measurement; return whether it meets epsilon with fewer edges than all before."""
        self.n_runs += 1
        is_met = error <= self.epsilon
        is_best = is_met and n_edges < self.fewest_met
        predicted = self.curve.error_at(n_edges)
        if predicted > 0 and 0 < error < 1:
            self._factors.append(error / predicted)
            factor = statistics.median(self._factors)
            self._suggested = self.curve.edges_for(self.epsilon / factor)
        elif not is_met:
            # The error cannot be compared with the curve: some cut is lost.
            self._suggested = 2 * n_edges
        if is_best:
            self.fewest_met = n_edges
        elif not is_met:
            self.most_missed = max(self.most_missed, n_edges)
        return is_best

    @property
    def is_finished(self) -> bool:
        """Whether the fewest edges that met epsilon are few enough."""
        if not math.isfinite(self.fewest_met):
            return False
        needed = max(self.most_missed, self._suggested)
        return self.n_runs >= MAX_RUNS or self.fewest_met <= _EDGE_MARGIN**2 * needed

    @property
    def next_n_edges(self) -> int:
        """Edges of the next run: as suggested, between those that missed and those that met."""
        lowest = _EDGE_MARGIN * self.most_missed
        highest = self.fewest_met / _EDGE_MARGIN
        return math.ceil(max(min(_EDGE_MARGIN * self._suggested, highest), lowest))
