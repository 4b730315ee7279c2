"""Randomly pivoted Cholesky: a few columns of K, drawn by what the others leave unexplained.

Let d be the diagonal of the residual R = K - F F'. A pivot i is drawn with probability
d_i / sum(d), and F gains the column that explains it [CETW25]. The trace of R then falls nearly as
fast as with the best columns. There are three variants:

`draw_pivots` draws a given number of pivots. It is the accelerated algorithm [ETW24]: a block of
proposals is drawn by d, and each one is accepted with the probability that its residual, given the
accepted ones before it, has of its d. Pivots have the same distribution as one at a time, and
kernel values are evaluated in blocks.

`draw_best_pivots` is for a matrix in memory. It draws N_PROPOSALS proposals by d and takes the one
that explains most, with the largest sum_j R_ij^2 / R_ii. If D_i is the fraction of d of the points
that explain at most as much as i, and D_i- the same without i, this is point i with probability

    D_i^N - D_i-^N.

The best of all points would be a worse choice: in a sample, a point that explains many others is
often one of many copies. A SINGLE_FRACTION of the pivots is a single proposal.

`kernel_factor` draws blocks until the trace of R is negligible. It computes K itself.

Every probability has a small part `floor` of the diagonal of K, so that each point can be drawn,
also the copy of a pivot. The probabilities p_k of the draws are returned: with the weights

    (1 / p_k + m - k) / m

for pivot k of m, a sum over pivots is an unbiased estimate of the sum over all points [DR56].

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
from scipy.linalg import lapack

from graphsqueak.kernel.kernels import POINTS_PER_BLOCK, Kernel, bind
from graphsqueak.randomness import PIVOT_SEED
from graphsqueak.system.kernels import njit_cached

# Part of each probability that is by the diagonal of K. Without it, a copy of a pivot would have
# probability 0 and no weight. Halved or doubled: the trace that is left changes by less than 0.3 %.
FLOOR = 1e-3
# Residuals below this fraction of the diagonal of K are rounding errors of double precision, of
# which it is 45. Halved or doubled, only points that are equal up to rounding are pivots or not.
ROUNDING = 1e-14
# Proposals for each of the best pivots. Trace that is left by `SQUEAK` and `KORS` on four data
# sets: 3 % more with 4 proposals, 1 % less with 16; the accuracy of the weights is within 3 %.
N_PROPOSALS = 8
# Fraction of the best pivots that are a single proposal. It keeps probabilities from being far
# below d: without it, weights of equally good points vary three times as much. The trace that is
# left is 2 % larger if doubled, 1 % smaller if halved.
SINGLE_FRACTION = 0.1


class Pivots(NamedTuple):
    """Drawn pivots and the partial factor of K.

    Attributes
    ----------
    rows : ndarray of int
        Row numbers in the order of the draws.
    prob : ndarray
        Probability of each draw, given the ones before it.
    factor : ndarray of shape (n, rank)
        F, with F F' close to K.
    """

    rows: np.ndarray
    prob: np.ndarray
    factor: np.ndarray


def draw_pivots(
    kernel: Kernel,
    points: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    block: int | None = None,
    floor: float = FLOOR,
) -> Pivots:
    """Draw `size` pivots, or all points if there are fewer.

    Parameters
    ----------
    kernel : Kernel
        As returned by `as_kernel`.
    points : ndarray
        Rows that the kernel takes.
    size : int
        Number of pivots.
    rng : numpy Generator
    block : int, optional
        Proposals at a time; with 1, pivots are drawn one by one. The distribution of the pivots
        does not depend on it. Default: a tenth of `size`.
    floor : float
        Part of each probability that is by the diagonal of K.

    Returns
    -------
    Pivots

    Examples
    --------
    Two equal points and one at right angles: one of the equal points is drawn, and the other.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> p = draw_pivots(as_kernel("linear"), X, 2, rng=np.random.default_rng(7), floor=0.0)
    >>> 2 in p.rows, bool(np.allclose(p.factor @ p.factor.T, X @ X.T))
    (True, True)
    """
    n_points = len(points)
    size = min(size, n_points)
    # One call of the kernel per pivot would dominate the time of the first blocks.
    block = max(size // 10, 8) if block is None else block
    state = _PartialFactor(kernel, points, capacity=size)
    rows = np.empty(size, np.int64)
    prob = np.empty(size)
    n_drawn = 0
    while n_drawn < size:
        floor_mass = state.floor_mass(floor)
        mass = np.where(state.is_pivot, 0.0, state.residual + floor_mass)
        total = mass.sum()
        proposals = rng.choice(n_points, size=block, p=mass / total)
        accepted, lower, mass_left = _accept(
            state.residual_among(proposals),
            proposals,
            floor_mass[proposals],
            mass[proposals],
            rng.random(block),
            size - n_drawn,
        )
        new = proposals[accepted]
        drawn = slice(n_drawn, n_drawn + new.size)
        rows[drawn] = new
        # The total that was left before each of the draws.
        falls = state.add_pivots(new, lower) + floor_mass[new]
        total_left = total - np.cumsum(falls) + falls
        prob[drawn] = np.minimum(mass_left / np.maximum(total_left, mass_left), 1.0)
        n_drawn += new.size
    return Pivots(rows, prob, state.factor)


def draw_best_pivots(
    matrix: np.ndarray,
    size: int,
    *,
    rng: np.random.Generator,
    first: np.ndarray,
    floor: float = FLOOR,
) -> Pivots:
    """Draw `size` pivots of a kernel matrix, or all other rows, each the best of N_PROPOSALS.

    It takes O(n^2) per pivot.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The kernel matrix K.
    size : int
        Number of pivots.
    rng : numpy Generator
    first : ndarray of int
        Rows that are pivots at the start.
    floor : float
        Part of each probability that is by the diagonal of K.

    Returns
    -------
    Pivots

    Examples
    --------
    The last row is a pivot. Each of the two equal points explains both of them:

    >>> X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.9], [0.0, 1.0]])
    >>> p = draw_best_pivots(X @ X.T, 1, rng=np.random.default_rng(7), first=np.array([3]))
    >>> p.rows[0] < 2, bool(np.allclose(p.factor @ p.factor.T, X @ X.T))
    (np.True_, True)
    """
    kernel, row_numbers = bind("precomputed", None, matrix)
    size = min(size, len(matrix) - first.size)
    state = _PartialFactor(kernel, row_numbers, capacity=first.size + size)
    state.add_block(first)
    residual = matrix - state.factor @ state.factor.T
    # What each point explains, times its own residual.
    gain = np.einsum("ij,ij->i", residual, residual)
    rows = np.empty(size, np.int64)
    prob = np.empty(size)
    for k in range(size):
        p = state.diagonal_prob()
        if state.residual.any():
            p = floor * p + (1 - floor) * _best_proposal_prob(state.residual, gain)
            p /= p.sum()
        i = rng.choice(p.size, p=p)
        rows[k] = i
        prob[k] = p[i]
        # A point in the span of the pivots adds no column.
        column = np.zeros(p.size)
        if state.residual[i] > 0:
            column = residual[:, i] / np.sqrt(state.residual[i])
        state.add_column(i, column)
        _subtract_outer(residual, column, gain)
    return Pivots(rows, prob, state.factor)


def kernel_factor(kernel: Kernel, points: np.ndarray, *, rest: float) -> np.ndarray:
    """Return Z with Z Z' = K up to a trace of `rest`, from as few columns of K as that takes.

    The pivots are random, but the same in every run.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> kernel_factor(as_kernel("linear"), np.ones((5, 3)), rest=1e-9).shape
    (5, 1)
    """
    rng = np.random.default_rng(PIVOT_SEED)
    state = _PartialFactor(kernel, points, capacity=POINTS_PER_BLOCK)
    # The points that are left out have half of the rest at most.
    tolerance = rest / (2 * len(points))
    while state.residual.sum() > rest:
        prob = state.residual / state.residual.sum()
        size = min(POINTS_PER_BLOCK, int(np.count_nonzero(prob)))
        block = rng.choice(len(points), size=size, replace=False, p=prob)
        state.add_block(block, tolerance=tolerance)
    return state.factor


def pivot_weights(prob: np.ndarray) -> np.ndarray:
    """Return weights that make sums over pivots unbiased [DR56].

    The two weights are (2 + 1) / 2 and (1 + 0) / 2:

    >>> pivot_weights(np.array([0.5, 1.0]))
    array([1.5, 0.5])
    """
    m = prob.size
    return (1 / prob + np.arange(m - 1, -1, -1)) / m


class _PartialFactor:
    """F with F F' close to K, the diagonal of the residual K - F F', and the pivots so far.

    `capacity` is the number of columns for which memory is reserved.
    """

    def __init__(self, kernel, points, *, capacity):
        self._kernel = kernel
        self._points = points
        self._columns = np.zeros((len(points), capacity), order="F")
        self._rank = 0
        self.diagonal = np.array(kernel.diag(points), dtype=np.float64)
        self.residual = self.diagonal.copy()
        self.is_pivot = np.zeros(len(points), dtype=bool)

    @property
    def factor(self):
        """F, as a view."""
        return self._columns[:, : self._rank]

    def floor_mass(self, floor):
        """Return what is added to the residuals, so that `floor` of the total is by K itself."""
        trace = self.diagonal.sum()
        rest = self.residual.sum()
        if rest > ROUNDING * trace:
            return floor / (1 - floor) * rest / trace * self.diagonal
        return self.diagonal_prob()

    def diagonal_prob(self):
        """Return probabilities of the other points by the diagonal of K, or equal if it is zero."""
        mass = np.where(self.is_pivot, 0.0, self.diagonal)
        mass = mass if mass.any() else (~self.is_pivot).astype(np.float64)
        return mass / mass.sum()

    def residual_among(self, rows):
        """Return the block of K - F F' for some rows."""
        part = self.factor[rows]
        return self._kernel(self._points[rows], self._points[rows]) - part @ part.T

    def add_block(self, rows, *, tolerance=0.0):
        """Make rows pivots; the ones whose residual is below the tolerance add no column."""
        tolerance = max(tolerance, ROUNDING * self.diagonal.max())
        lower, order, rank, _ = lapack.dpstrf(self.residual_among(rows), lower=1, tol=tolerance)
        independent = rows[order[:rank] - 1]
        self._add(independent, np.tril(lower[:rank, :rank]))
        self._mark(rows)

    def add_pivots(self, rows, lower):
        """Make rows pivots, with the factor of their residual; dependent ones have a diagonal of 0.

        Returns
        -------
        ndarray
            By how much each of them lowers the sum of the residual.
        """
        is_independent = np.diagonal(lower) > 0
        new = self._add(rows[is_independent], lower[np.ix_(is_independent, is_independent)])
        self._mark(rows)
        falls = np.zeros(rows.size)
        falls[is_independent] = np.einsum("ij,ij->j", new, new)
        return falls

    def add_column(self, row, column):
        """Make a row a pivot whose column of F is known; a column of zeros is not added."""
        if column.any():
            self._append(column[:, None])
        self._mark(row)

    def _add(self, rows, lower):
        columns = self._kernel(self._points, self._points[rows]) - self.factor @ self.factor[rows].T
        new = scipy.linalg.solve_triangular(lower, columns.T, lower=True).T
        self._append(new)
        return new

    def _append(self, new):
        rank = self._rank + new.shape[1]
        if rank > self._columns.shape[1]:
            larger = np.zeros((len(self._columns), 2 * rank), order="F")
            larger[:, : self._rank] = self.factor
            self._columns = larger
        self._columns[:, self._rank : rank] = new
        self._rank = rank
        self.residual -= np.einsum("ij,ij->i", new, new)
        self.residual[self.residual < ROUNDING * self.diagonal] = 0.0

    def _mark(self, rows):
        self.is_pivot[rows] = True
        self.residual[rows] = 0.0


def _best_proposal_prob(residual, gain):
    """Return the probability of each point to be the best proposal, or a single one."""
    proposal_prob = residual / residual.sum()
    explained = np.divide(gain, residual, out=np.zeros_like(gain), where=residual > 0)
    order = np.argsort(explained, kind="stable")
    best_prob = np.empty(residual.size)
    best_prob[order] = np.diff(np.cumsum(proposal_prob[order]) ** N_PROPOSALS, prepend=0.0)
    return SINGLE_FRACTION * proposal_prob + (1 - SINGLE_FRACTION) * best_prob


@njit_cached
def _accept(residual, proposals, floor_mass, mass, uniforms, most):
    """Accept or reject proposals in their order, and factorize the residual of the accepted.

    Returns
    -------
    accepted : ndarray of int
        Positions of the accepted proposals, at most `most`.
    lower : ndarray
        Their Cholesky factor. The row of a proposal in the span of others has a 0 on the diagonal.
    mass_left : ndarray
        What each accepted proposal had of its mass, given the ones before it.
    """
    n_proposals = proposals.size
    accepted = np.empty(n_proposals, np.int64)
    mass_left = np.empty(n_proposals)
    lower = np.zeros((n_proposals, n_proposals))
    # Row j: the coordinates of proposal j in the span of the accepted ones.
    coordinates = np.zeros((n_proposals, n_proposals))
    m = 0
    for j in range(n_proposals):
        if m == most:
            break
        is_repeated = False
        left = residual[j, j]
        for k in range(m):
            is_repeated = is_repeated or proposals[accepted[k]] == proposals[j]
            left -= coordinates[j, k] ** 2
        if left < ROUNDING * mass[j]:
            left = 0.0
        if is_repeated or uniforms[j] * mass[j] >= left + floor_mass[j]:
            continue
        accepted[m] = j
        mass_left[m] = left + floor_mass[j]
        lower[m, :m] = coordinates[j, :m]
        if left > 0.0:
            root = np.sqrt(left)
            lower[m, m] = root
            for i in range(j, n_proposals):
                total = residual[i, j]
                for k in range(m):
                    total -= coordinates[i, k] * coordinates[j, k]
                coordinates[i, m] = total / root
        m += 1
    return accepted[:m], lower[:m, :m], mass_left[:m]


@njit_cached(fastmath={"reassoc", "contract"})
def _subtract_outer(residual, column, gain):
    """Subtract c c' from the residual, and write the squared lengths of its rows to `gain`."""
    for i in range(column.size):
        total = 0.0
        for j in range(column.size):
            residual[i, j] -= column[i] * column[j]
            total += residual[i, j] ** 2
        gain[i] = total
