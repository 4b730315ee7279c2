"""Randomly pivoted Cholesky: a few columns of K, each drawn by what the others leave unexplained.

With d the diagonal of the residual K - F F', a pivot i is drawn with the chance d_i / sum(d), and F
gains the column that explains it [CETW25]. One column at a time is slow, and a block of pivots that
are drawn at once repeats itself. Accelerated [ETW24], a block of proposals is drawn by d, and one
after the other stays with the probability that its residual has left of d, given those before it:
the pivots have exactly the law of single steps, and kernel values come in blocks.

A small part of the original diagonal, `floor`, stays in every chance, so that no point is out of
reach, twins of pivots neither. The chances of the draws are returned: pivot k, of m, with weight

    (1 / p_k + m - k) / m

makes sums over pivots unbiased for sums over all points [DR56].

References
----------
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
[DR56]   Des Raj. Some estimators in sampling with varying probabilities without replacement.
         J. Amer. Statist. Assoc. 51, 1956.
[ETW24]  Epperly, Tropp, Webber. Embrace rejection: kernel matrix approximation by accelerated
         randomly pivoted Cholesky. arXiv 2410.03969, 2024.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg

from graphsqueak.kernel.kernels import Kernel

__all__ = ["Pivots", "draw_pivots", "pivot_weights"]

_FLOOR = 1e-3
_REST = 1e-14  # of the diagonal: a smaller residual is rounding
_LEAST_BLOCK = 8


class Pivots(NamedTuple):
    """Rows in the order of the draws, the chance that each had, and F, n rows, F F' about K."""

    rows: np.ndarray
    chance: np.ndarray
    factor: np.ndarray


def draw_pivots(
    kernel: Kernel,
    points: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    block: int | None = None,
    first: np.ndarray | None = None,
    floor: float = _FLOOR,
) -> Pivots:
    """Draw `size` pivots, or all points that are left.

    Parameters
    ----------
    kernel : object with k(X, Y) and k.diag(X)
        As `as_kernel` makes it.
    points : ndarray
        Rows that the kernel takes.
    size : int
        Pivots to draw.
    rng : numpy Generator
    block : int, optional
        Proposals at a time, of which some are rejected; 1 is the plain method. Default: a tenth of
        `size`. The law of the pivots does not depend on it.
    first : ndarray of int, optional
        Rows that are pivots already.
    floor : float
        How much of the chances is by the diagonal of K itself.

    Returns
    -------
    Pivots

    Examples
    --------
    Of two twins and a point at right angles, one twin and the other point:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> p = draw_pivots(as_kernel("linear"), X, 2, rng=np.random.default_rng(7), floor=0.0)
    >>> 2 in p.rows, bool(np.allclose(p.factor @ p.factor.T, X @ X.T))
    (True, True)
    """
    n, started = len(points), 0 if first is None else first.size
    size = min(size, n - started)
    state = _State(kernel, points, started + size)
    if started:
        state.open_all(first)
    block = max(size // 10, _LEAST_BLOCK) if block is None else block
    rows, chance = np.empty(size, np.int64), np.empty(size)
    done = 0
    while done < size:
        slack = state.slack(floor)
        bound = np.where(state.taken, 0.0, state.residual + slack)
        some = rng.choice(n, size=block, p=bound / bound.sum())
        values = state.residual_between(some)
        coins = rng.random(block)
        room = size - done
        kept, lower, before = _accept(values, some, slack[some], bound[some], coins, room)
        picks = slice(done, done + kept.size)
        rows[picks] = some[kept]
        falls = state.open_pivots(some[kept], lower)
        left = bound.sum() - np.cumsum(np.append(0.0, falls + slack[some[kept]]))[:-1]
        chance[picks] = np.minimum(before / np.maximum(left, before), 1.0)
        done += kept.size
    return Pivots(rows, chance, state.factor[:, : state.rank])


def pivot_weights(chance: np.ndarray) -> np.ndarray:
    """Weights with which sums over pivots are unbiased.

    >>> pivot_weights(np.array([0.5, 1.0]))     # (2 + 1) / 2 and (1 + 0) / 2
    array([1.5, 0.5])
    """
    m = chance.size
    return (1 / chance + np.arange(m - 1, -1, -1)) / m


class _State:
    """F so far, the diagonal of what is left, and who is taken."""

    def __init__(self, kernel, points, most):
        self.kernel, self.points = kernel, points
        self.diagonal = np.array(kernel.diag(points), dtype=np.float64)
        self.residual = self.diagonal.copy()
        self.factor, self.rank = np.zeros((len(points), most), order="F"), 0
        self.taken = np.zeros(len(points), dtype=bool)

    def slack(self, floor):
        """What every point has beside its residual; everything, once nothing is left."""
        whole, left = self.diagonal.sum(), self.residual.sum()
        if left > _REST * whole:
            return floor / (1 - floor) * left / whole * self.diagonal
        free = np.where(self.taken, 0.0, self.diagonal)
        return self.diagonal if free.sum() > 0 else np.ones(free.size)

    def residual_between(self, some):
        """The residual of K among some rows."""
        part = self.factor[some, : self.rank]
        return self.kernel(self.points[some], self.points[some]) - part @ part.T

    def open_all(self, rows):
        """Make all these rows pivots, as far as they are independent."""
        values = self.residual_between(rows)
        factor, order, rank, _ = scipy.linalg.lapack.dpstrf(
            values, lower=1, tol=_REST * max(np.diagonal(values).max(), 0.0)
        )
        kept = order[:rank] - 1
        self._add(rows[kept], np.tril(factor[:rank, :rank]))
        self.taken[rows] = True
        self.residual[rows] = 0.0

    def open_pivots(self, rows, lower):
        """Make these rows pivots; by how much the sum of the residual falls with each."""
        solid = np.diagonal(lower) > 0
        falls = np.zeros(rows.size)
        falls[solid] = self._add(rows[solid], lower[np.ix_(solid, solid)])
        self.taken[rows] = True
        self.residual[rows] = 0.0
        return falls

    def _add(self, rows, lower):
        if not rows.size:
            return np.zeros(0)
        part = self.factor[:, : self.rank]
        columns = self.kernel(self.points, self.points[rows]) - part @ part[rows].T
        new = scipy.linalg.solve_triangular(lower, columns.T, lower=True).T
        self.factor[:, self.rank : self.rank + rows.size] = new
        self.rank += rows.size
        self.residual -= np.einsum("ij,ij->i", new, new)
        self.residual[self.residual < _REST * self.diagonal] = 0.0
        return np.einsum("ij,ij->j", new, new)


@numba.njit(cache=True, nogil=True)
def _accept(values, some, slack, bound, coins, room):
    """Which proposals stay, the factor of their residual (0: in the span), what each had."""
    n = some.size
    kept, before = np.empty(n, np.int64), np.empty(n)
    lower, rows = np.zeros((n, n)), np.zeros((n, n))  # rows[j]: what is explained of proposal j
    m = 0
    for j in range(n):
        if m == room:
            break
        left, again = values[j, j], False
        for k in range(m):
            again = again or some[kept[k]] == some[j]
            left -= rows[j, k] ** 2
        left = max(left, 0.0)
        if left < 1e-14 * bound[j]:
            left = 0.0
        if again or coins[j] * bound[j] >= left + slack[j]:
            continue
        kept[m], before[m] = j, left + slack[j]
        lower[m, :m] = rows[j, :m]
        if left > 0.0:
            root = np.sqrt(left)
            lower[m, m] = root
            for i in range(j, n):
                total = values[i, j]
                for k in range(m):
                    total -= rows[i, k] * rows[j, k]
                rows[i, m] = total / root
        m += 1
    return kept[:m], lower[:m, :m], before[:m]
