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

Where the whole residual R = K - F F' is at hand, `draw_best_pivots` can do better: of eight
proposals by d it takes the one that explains the most, sum_j R_ij^2 / R_ii. With D_i the share of d
of the points that explain no more than i, that one has the chance D_i^8 less what the points before
it have. Taking the best of all points instead would favor those that only stand for many of the
others at hand. One pivot in ten is a plain one, so that no chance is far below d.

References
----------
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
[DR56]   Des Raj. Some estimators in sampling with varying probabilities without replacement.
         J. Amer. Statist. Assoc. 51, 1956.
[ETW24]  Epperly, Tropp, Webber. Embrace rejection: kernel matrix approximation by accelerated
         randomly pivoted Cholesky. arXiv 2410.03969, 2024.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from graphsqueak.kernel.kernels import Kernel, bind
from graphsqueak.system.kernels import njit_cached

__all__ = ["Pivots", "draw_best_pivots", "draw_pivots", "pivot_weights"]

_FLOOR = 1e-3
_REST = 1e-14  # of the diagonal: a smaller residual is rounding
_LEAST_BLOCK = 8
_TRIES, _PLAIN = 8, 0.1


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


def draw_best_pivots(
    matrix: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    first: np.ndarray,
    floor: float = _FLOOR,
) -> Pivots:
    """Draw `size` pivots of a kernel matrix, or all rows that are left, each the best of several.

    It takes O(n^2) a pivot.

    Parameters
    ----------
    matrix : ndarray
        K.
    size : int
        Pivots to draw.
    rng : numpy Generator
    first : ndarray of int
        Rows that are pivots already.
    floor : float
        How much of the chances is by the diagonal of K itself.

    Returns
    -------
    Pivots

    Examples
    --------
    Once the last row is a pivot, any of the twins explains both of them:

    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.9], [0.0, 1.0]])
    >>> p = draw_best_pivots(X @ X.T, 1, rng=np.random.default_rng(7), first=np.array([3]))
    >>> p.rows[0] < 2, bool(np.allclose(p.factor @ p.factor.T, X @ X.T))
    (np.True_, True)
    """
    kernel, numbers = bind("precomputed", None, matrix)
    size = min(size, len(matrix) - first.size)
    state = _State(kernel, numbers, first.size + size)
    state.open_all(first)
    part = state.factor[:, : state.rank]
    rest = matrix - part @ part.T
    gain = np.einsum("ij,ij->i", rest, rest)
    rows, chance = np.empty(size, np.int64), np.empty(size)
    for k in range(size):
        share = state.by_diagonal()
        if state.residual.any():
            plain = state.residual / state.residual.sum()
            own = np.where(plain > 0, state.residual, np.inf)
            order = np.argsort(gain / own, kind="stable")
            best = np.empty(plain.size)
            best[order] = np.diff(np.cumsum(plain[order]) ** _TRIES, prepend=0.0)
            share = floor * share + (1 - floor) * (_PLAIN * plain + (1 - _PLAIN) * best)
            share /= share.sum()
        i = rows[k] = rng.choice(share.size, p=share)
        chance[k] = share[i]
        left = state.residual[i]
        column = rest[:, i] / np.sqrt(left) if left > 0 else np.zeros(share.size)
        state.open_column(i, column)
        _explain(rest, column, gain)
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
        return self.by_diagonal()

    def by_diagonal(self):
        """Chances of who is not taken, by the diagonal of K, or alike where that is zero."""
        free = np.where(self.taken, 0.0, self.diagonal)
        free = free if free.any() else (~self.taken).astype(np.float64)
        return free / free.sum()

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

    def open_column(self, row, column):
        """Make a row a pivot, whose column of F is known; none if it lies in the span."""
        self.taken[row] = True
        if column.any():
            self.factor[:, self.rank] = column
            self.rank += 1
            self._explained(column[:, None])
        self.residual[row] = 0.0

    def _add(self, rows, lower):
        if not rows.size:
            return np.zeros(0)
        part = self.factor[:, : self.rank]
        columns = self.kernel(self.points, self.points[rows]) - part @ part[rows].T
        new = scipy.linalg.solve_triangular(lower, columns.T, lower=True).T
        self.factor[:, self.rank : self.rank + rows.size] = new
        self.rank += rows.size
        self._explained(new)
        return np.einsum("ij,ij->j", new, new)

    def _explained(self, new):
        self.residual -= np.einsum("ij,ij->i", new, new)
        self.residual[self.residual < _REST * self.diagonal] = 0.0


@njit_cached
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


@njit_cached(fastmath={"reassoc", "contract"})
def _explain(rest, column, gain):
    """R <- R - c c', and the squared lengths of its rows."""
    for i in range(column.size):
        total = 0.0
        for j in range(column.size):
            rest[i, j] -= column[i] * column[j]
            total += rest[i, j] ** 2
        gain[i] = total
