"""Points that a kernel expansion f = sum_i a_i k(x_i, .) keeps, with kernel values in blocks.

Learners process points in blocks: the kernel values of a block to the support points, and within
the block, take one call each. A point that becomes a support point during the block fills in one
column of values for the points after it. The rounds are those of one point at a time.
"""

from collections.abc import Callable

import numpy as np

from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import POINTS_PER_BLOCK, Kernel
from graphsqueak.online.model import OnlineModel

# Arguments: slice of the rows in the block, kernel values to the slots, kernel values within the
# block, and the array to fill with the row of the block that each slot holds (-1: unchanged).
# Returns the number of rounds that were run and the number of slots in use.
RunRounds = Callable[[slice, np.ndarray, np.ndarray, np.ndarray], tuple[int, int]]


class SupportSet:
    """Support points in numbered slots, at most `capacity` of them.

    Examples
    --------
    Rounds that keep every point:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> support = SupportSet(as_kernel("linear"), 1)
    >>> def keep_all(rows, values, gram, source):
    ...     source[:2] = [0, 1]
    ...     return 2, 2
    >>> support.run_blocks(np.array([[1.0], [2.0]]), keep_all)
    2
    >>> support.values(np.array([[3.0]]))
    array([[3., 6.]])
    """

    def __init__(self, kernel: Kernel, n_features: int, *, capacity: int | None = None) -> None:
        self.kernel = kernel
        self.capacity = capacity
        self.size = 0
        self._points = np.empty((0, n_features))

    @property
    def points(self) -> np.ndarray:
        """The support points, in the order of their slots."""
        return self._points[: self.size]

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the kernel values to the support points, one row per point."""
        if self.size == 0:
            return np.zeros((len(points), 0))
        return self.kernel(points, self.points)

    def features(self, points: np.ndarray) -> np.ndarray:
        """Return the coordinates of the points in the span of the support points."""
        return NystromEmbedding(self.kernel, self.points)(points)

    def run_blocks(self, points: np.ndarray, run_rounds: RunRounds) -> int:
        """Call `run_rounds` for each block, until it stops early; return the number of rounds."""
        n_done = 0
        while n_done < len(points):
            rows = slice(n_done, min(n_done + POINTS_PER_BLOCK, len(points)))
            block = points[rows]
            # At most one new support point per row.
            n_slots = self.size + len(block)
            if self.capacity is not None:
                n_slots = min(n_slots, self.capacity)
            values = np.zeros((len(block), n_slots))
            values[:, : self.size] = self.values(block)
            # One memory layout, so that kernels are compiled once.
            gram = np.ascontiguousarray(self.kernel(block, block))
            source = np.full(n_slots, -1)
            n_run, self.size = run_rounds(rows, values, gram, source)
            self._replace(block, source)
            n_done += n_run
            # The rounds stopped early.
            if n_run < len(block):
                break
        return n_done

    def _replace(self, block, source):
        """Store the points of the block that were put into slots."""
        if len(source) > len(self._points):
            # Twice the size, so that growing by one point at a time takes linear time.
            more = np.empty((2 * len(source), self._points.shape[1]))
            more[: len(self._points)] = self._points
            self._points = more
        is_new = source >= 0
        self._points[: len(source)][is_new] = block[source[is_new]]


class SupportModel(OnlineModel):
    """Base of the models whose hypothesis lies in the span of `support`, a `SupportSet`."""

    support: SupportSet

    @property
    def n_support(self):
        """Number of support points."""
        return self.support.size

    def features(self, points):
        """Return the coordinates in the span of the support points."""
        return self.support.features(points)
