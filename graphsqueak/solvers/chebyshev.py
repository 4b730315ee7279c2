"""Eigenvectors below a gap of the spectrum, by a polynomial filter.

Let A be L or D^-1/2 L D^-1/2, with few eigenvalues below some number s and all others in [s, t].
The Chebyshev polynomial T_m, with [s, t] mapped to [-1, 1], is at most 1 there and grows like g^m
below, with g = z + sqrt(z^2 - 1) at z = ((s + t)/2 - lambda) / ((t - s)/2). Let X be a random block
with a few more columns than there are eigenvalues below s. Then T_m(A) X soon lies in their space:
after a dozen products on a graph of clusters of degree 20. Lanczos, which starts from one vector,
needs many more products to separate eigenvalues that are close to each other [ZS07].

The gap is found by a few Lanczos steps from a random vector. Its Ritz values t_j have weights
s_j^2, the squares of the first entries of the eigenvectors of the small matrix, and n s_j^2 is
about the number of eigenvalues near t_j.

The result is verified: the block must have enough Ritz values below s, one column more than there
are eigenvalues, and small residuals. On graphs without a gap (grids, rings) both functions return
None.

The filter works on four columns at a time: more columns leave the caches and are not faster. It
uses single precision if the residuals may be 1e-5 of the spectrum.

References
----------
[ZS07] Zhou, Saad. A Chebyshev-Davidson algorithm for large symmetric eigenproblems. SIAM J. Matrix
       Analysis and Applications 29(3), 2007.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg

from graphsqueak.solvers.matrix import PREFETCH_DISTANCE, multiply
from graphsqueak.solvers.vectors import COLUMNS_PER_VECTOR
from graphsqueak.system.kernels import parallel_njit, prefetch, run_kernel

__all__ = ["Gap", "eigenpairs_below_gap", "find_gap"]

# The comments give the time of `smallest_eigenpairs` if a number is halved and doubled: geometric
# mean over 24 cases (block models, heavy-tailed, random and nearest-neighbor graphs; L and
# normalized; tol 1e-2 and 1e-5), and the extreme cases. Repeated runs differ by 3 % and 10 %.

# Lanczos steps that locate the gap. 0.99 (0.48 to 2.7); 0.95 (0.41 to 1.4).
N_LANCZOS_STEPS = 14
# Columns beyond the expected number of eigenvalues: one must be left over to prove that none is
# missing. 0.96 (0.84 to 1.08); 0.98 (0.51 to 1.21).
N_SPARE_COLUMNS = 3
# Widest block. Orthogonalization is quadratic in it. 1.07 (0.48 to 2.9); 0.96 (0.90 to 1.0).
MAX_COLUMNS = 64
# Largest product of degree and columns. A filter that takes longer is slower than Lanczos. 0.97
# (0.49 to 2.7); 1.02 (0.50 to 2.2).
MAX_PRODUCTS = 1_500
# Relative residual down to which single precision suffices: about 100 roundoffs. Halved or doubled:
# less than 2 %.
MIN_FLOAT32_RESIDUAL = 1e-5
# Factor by which the filter exceeds the degree that the bounds require, so that one round usually
# suffices. Halved or doubled: less than 2 % (0.80 to 1.15).
FILTER_SAFETY = 6.0
# Largest ratio of growth within a block before it is made orthonormal. Single precision loses the
# smaller columns beyond it. 0.96 (0.86 to 1.0); 0.94 (0.43 to 1.1).
MAX_COLUMN_RATIO = {np.dtype(np.float32): 30.0, np.dtype(np.float64): 1e6}
# Rounds of filtering before the method gives up. 1.00 (0.80 to 1.5); 1.02 (0.55 to 1.6).
MAX_ROUNDS = 6
# There may be this many times more eigenvalues below the gap than the Lanczos weights suggest. The
# weights of one random vector vary. Halved or doubled: within the noise of 5 to 10 %.
MAX_UNSEEN_FACTOR = 3.0
# Roundoffs by which a direction of the block must exceed zero to be kept. Halved or doubled: no
# case changes by more than 10 %.
NOISE_ROUNDOFFS = 30.0


class Gap(NamedTuple):
    """A gap of the spectrum.

    The wanted eigenvalues are at most `wanted`, and all but `n_columns` are in [low, high].
    `degree` is the degree of the polynomial that separates them.
    """

    wanted: float
    low: float
    high: float
    n_columns: int
    degree: int = 0

    @property
    def center(self):
        """Midpoint of [low, high]."""
        return (self.low + self.high) / 2

    @property
    def half_width(self):
        """Half of the length of [low, high]."""
        return (self.high - self.low) / 2

    def growth(self, value):
        """Return the factor by which each degree raises the polynomial at `value`."""
        z = (self.center - value) / self.half_width
        return z + np.sqrt(max(z * z - 1, 0.0))

    def degree_for(self, ratio):
        """Return the degree that raises wanted eigenvectors by `ratio` over all others."""
        target = FILTER_SAFETY * max(ratio, 1.0)
        return int(np.ceil(np.log(target) / np.log(self.growth(self.wanted))))


def find_gap(matrix, n_pairs, centered, *, tol, rng, n_steps=N_LANCZOS_STEPS):
    """Return the gap above the `n_pairs` smallest eigenvalues, or None if there is none.

    Parameters
    ----------
    matrix : CSRLaplacian
    n_pairs : int
    centered : callable
        Removes the vectors of eigenvalue zero from a block.
    tol : float
        Relative residual that the filter has to reach.
    rng : numpy.random.Generator
    n_steps : int
        Number of Lanczos steps.
    """
    n_nodes = matrix.n_nodes
    start = centered(rng.standard_normal((n_nodes, 1)))
    lanczos = _run_lanczos(matrix, start, centered, n_steps)
    # With few different eigenvalues any method is fast, and no gap is needed.
    if lanczos is None:
        return None
    ritz, n_eigenvalues, error = lanczos
    best = None
    for j in range(n_steps - 1):
        n_columns = max(n_pairs, int(np.ceil(n_eigenvalues[j]))) + N_SPARE_COLUMNS
        n_columns += -n_columns % COLUMNS_PER_VECTOR
        if n_columns > MAX_COLUMNS:
            break
        if MAX_UNSEEN_FACTOR * n_eigenvalues[j] < n_pairs or ritz[j] <= 0:
            continue
        # A Ritz value may be above its eigenvalue by `error`, but the gap keeps 3/4 of its width.
        low = ritz[j + 1] - min(error[j + 1], 0.25 * (ritz[j + 1] - ritz[j]))
        gap = Gap(wanted=ritz[j], low=low, high=ritz[-1] + error[-1], n_columns=n_columns)
        # Ratio of unwanted to wanted parts of a random column, and of their residuals.
        noise = np.sqrt(n_nodes / n_columns)
        amplification = (gap.center - gap.wanted) / (tol * gap.wanted)
        gap = gap._replace(degree=gap.degree_for(noise * amplification))
        is_affordable = gap.degree * n_columns <= MAX_PRODUCTS
        if is_affordable and (best is None or gap.degree < best.degree):
            best = gap
    return best


def _run_lanczos(matrix, start, centered, n_steps):
    """Return Ritz values, numbers of eigenvalues up to each, and errors; None on breakdown."""
    x = start / np.linalg.norm(start)
    previous = np.zeros_like(x)
    diagonal = []
    off_diagonal = []
    beta = 0.0
    for _ in range(n_steps):
        image = np.empty_like(x)
        multiply(matrix, x, image)
        alpha = float(np.vdot(x, image))
        image -= alpha * x + beta * previous
        image = centered(image)
        beta = float(np.linalg.norm(image))
        diagonal.append(alpha)
        off_diagonal.append(beta)
        if beta <= MIN_FLOAT32_RESIDUAL * max(diagonal):
            return None
        previous = x
        x = image / beta
    ritz, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off_diagonal[:-1])
    n_eigenvalues = start.size * np.cumsum(vectors[0] ** 2)
    return ritz, n_eigenvalues, beta * np.abs(vectors[-1])


def eigenpairs_below_gap(matrix, n_pairs, gap, centered, *, tol, rng):
    """Return the `n_pairs` smallest eigenvalues and orthonormal eigenvectors, or None.

    Parameters
    ----------
    matrix, n_pairs, centered, tol, rng
        Arguments of `find_gap`.
    gap : Gap
    """
    in_float32 = tol * gap.wanted >= MIN_FLOAT32_RESIDUAL * gap.high
    matrix = matrix.astype(np.float32 if in_float32 else np.float64)
    dtype = matrix.weight.dtype
    # The filter raises the lowest eigenvectors most. Columns become parallel if that goes too far,
    # so a round stops at `max_step` degrees, and the block is made orthonormal.
    separation = max(np.log(gap.growth(0.0) / gap.growth(gap.wanted)), 1e-6)
    max_step = max(int(np.log(MAX_COLUMN_RATIO[dtype]) / separation), 2)
    X = np.empty((matrix.n_nodes, 0), dtype)
    n_columns = gap.n_columns
    degree = gap.degree
    for _ in range(MAX_ROUNDS):
        fresh = rng.standard_normal((matrix.n_nodes, n_columns - X.shape[1]), dtype=dtype)
        step = min(degree, max_step)
        X = _apply_filter(matrix, np.hstack([X, centered(fresh)]), gap, step)
        basis = _orthonormalize(
            centered(X.astype(np.float64)), noise=NOISE_ROUNDOFFS * np.finfo(dtype).eps
        )
        X = basis.astype(dtype)
        image = _multiply_columns(matrix, X)
        values, rotation = np.linalg.eigh(basis.T @ image)
        n_below = int((values < gap.low).sum())
        if n_below == n_columns:
            # There may be more eigenvalues below the gap than columns.
            n_columns = 2 * n_columns
            degree = gap.degree
            if n_columns > MAX_COLUMNS:
                return None
            continue
        wanted = values[:n_pairs]
        rotation = rotation[:, :n_pairs]
        vectors = basis @ rotation
        residual = np.linalg.norm(image @ rotation - vectors * wanted, axis=0)
        worst = (residual / (tol * wanted)).max()
        if worst <= 1 and n_below >= n_pairs:
            return wanted, vectors
        if step == degree and n_below < n_pairs:
            return None
        degree = max(degree - step, gap.degree_for(worst))
    return None


def _apply_filter(matrix, X, gap, degree):
    """Return T_m(A) X by the three-term recurrence, a few columns at a time."""
    diagonal = (matrix.diagonal() - gap.center) / gap.half_width
    factor = 1 / gap.half_width
    out = np.empty_like(X)
    for columns in _group_columns(X.shape[1]):
        # T_0 = 1, T_1 = z, T_{m+1} = 2 z T_m - T_{m-1}
        previous = np.ascontiguousarray(X[:, columns])
        current = _recur(matrix, diagonal, factor, previous, np.zeros_like(previous))
        for _ in range(degree - 1):
            following = _recur(matrix, 2 * diagonal, 2 * factor, current, previous)
            previous = current
            current = following
        out[:, columns] = current
    return out


def _multiply_columns(matrix, X):
    """Return A X, with the kernel of the filter, in the dtype of X."""
    n_columns = X.shape[1]
    padded = np.zeros((X.shape[0], n_columns + -n_columns % COLUMNS_PER_VECTOR), X.dtype)
    padded[:, :n_columns] = X
    diagonal = matrix.diagonal()
    for columns in _group_columns(n_columns):
        x = np.ascontiguousarray(padded[:, columns])
        padded[:, columns] = _recur(matrix, diagonal, 1.0, x, np.zeros_like(x))
    return np.ascontiguousarray(padded[:, :n_columns])


def _group_columns(n_columns):
    firsts = range(0, n_columns, COLUMNS_PER_VECTOR)
    return [slice(first, first + COLUMNS_PER_VECTOR) for first in firsts]


def _recur(matrix, diagonal, factor, x, previous):
    """Return diagonal * x - factor * W x - previous, written to `previous`."""
    dtype = x.dtype.type
    run_kernel(
        _recurrence,
        matrix.weight.size * COLUMNS_PER_VECTOR,
        matrix.start,
        matrix.neighbor,
        matrix.weight,
        matrix.parts,
        diagonal.astype(dtype),
        dtype(factor),
        x,
        previous,
    )
    return previous


def _orthonormalize(X, *, noise):
    """Return a basis of the columns of X, without directions that are rounding errors."""
    size, rotation = np.linalg.eigh(X.T @ X)
    is_kept = size > noise**2 * size[-1]
    basis = X @ (rotation[:, is_kept] / np.sqrt(size[is_kept]))
    # A second pass removes the rounding errors of the first.
    factor = np.linalg.cholesky(basis.T @ basis)
    return scipy.linalg.solve_triangular(factor, basis.T, lower=True).T


@parallel_njit
def _recurrence(start, neighbor, weight, parts, diagonal, factor, x, previous):
    last = neighbor.size - 1
    for part in numba.prange(parts.size - 1):
        for i in range(parts[part], parts[part + 1]):
            for k in range(COLUMNS_PER_VECTOR):
                previous[i, k] = diagonal[i] * x[i, k] - previous[i, k]
            for e in range(start[i], start[i + 1]):
                prefetch(x, neighbor[min(e + PREFETCH_DISTANCE, last)], 0)
                scaled = factor * weight[e]
                j = neighbor[e]
                for k in range(COLUMNS_PER_VECTOR):
                    previous[i, k] -= scaled * x[j, k]
