"""Eigenvectors below a gap of the spectrum, by a polynomial that is small above it.

Let A be L or D^-1/2 L D^-1/2, with few eigenvalues below some number s and all others in [s, t].
The Chebyshev polynomial T_m, with [s, t] mapped to [-1, 1], is at most 1 there and grows like g^m
below, g = z + sqrt(z^2 - 1) at z = ((s + t)/2 - lambda) / ((t - s)/2). So T_m(A) X of a random
block X, of some more columns than there are eigenvalues below s, soon lies in their space: after a
dozen products on a graph of clusters of degree 20. Lanczos, which starts from one vector, needs
many more to part eigenvalues that are close to each other [ZS07].

*Where is the gap?* Some steps of Lanczos from a random vector tell. Its Ritz values t_j have
weights s_j^2, the squares of the first entries of the eigenvectors of the small matrix, and n s_j^2
is about the number of eigenvalues near t_j. What is found is checked: there must be enough Ritz
values of the block below s, one column must be left over, and residuals must be small. Where there
is no gap (grids, rings), or the block does not do, there is no answer.

Rows of four numbers are filtered at a time: more are no quicker, as they leave the caches. The next
rows are fetched ahead. Single precision is enough where residuals may be 1e-5 of the spectrum.

References
----------
[ZS07] Zhou, Saad. A Chebyshev-Davidson algorithm for large symmetric eigenproblems. SIAM J. Matrix
       Analysis and Applications 29(3), 2007.
"""

from typing import NamedTuple

import numba
import numpy as np
import scipy.linalg

from graphsqueak.solvers.matrix import AHEAD, multiply
from graphsqueak.system.kernels import parallel_njit, prefetch, run_kernel

__all__ = ["Gap", "eigenpairs_below_gap", "find_gap"]

_STEPS = 14  # of Lanczos
_COLUMNS = 4  # filtered at a time
_MORE = 3  # columns beyond the eigenvalues that are expected below the gap
_MOST_COLUMNS = 64
_MOST_PRODUCTS = 1_500  # of a vector; one of four costs as much as two
_SINGLE = 1e-5  # of the spectrum: the smallest residual that single precision is used for
_SPARE = 3.0  # by which the filter goes further than it must
_SPREAD = {np.dtype(np.float32): 30.0, np.dtype(np.float64): 1e6}  # of the columns of a block
_MOST_ROUNDS = 6
_FEWEST = 3.0  # times the eigenvalues that Lanczos seems to see below the gap may be there
_NOISE = 30.0  # roundings by which a direction of the block must stand out


class Gap(NamedTuple):
    """Where the wanted eigenvalues are: at most `wanted`, and all but `n_columns` in [low, high].

    `degree` is that of the polynomial that parts them.
    """

    wanted: float
    low: float
    high: float
    n_columns: int
    degree: int

    def growth(self, value):
        """By which factor each degree raises the polynomial at `value`."""
        z = ((self.low + self.high) / 2 - value) / ((self.high - self.low) / 2)
        return z + np.sqrt(max(z * z - 1, 0.0))


def find_gap(rows, n_pairs, centered, *, tol, rng, n_steps=_STEPS):
    """The gap above the `n_pairs` smallest eigenvalues, or None where none is seen.

    Parameters
    ----------
    rows : Rows
        Of the matrix.
    n_pairs : int
    centered : callable
        Takes the vectors of eigenvalue zero out of a block.
    tol : float
        Relative residual that the filter is to reach.
    rng : numpy.random.Generator
    n_steps : int
    """
    n_nodes = rows.n_nodes
    start = centered(rng.standard_normal((n_nodes, 1)))
    x, old = start / np.linalg.norm(start), np.zeros_like(start)
    diagonal, off, beta = [], [], 0.0
    for _ in range(n_steps):
        image = np.empty_like(x)
        multiply(rows, x, image)
        alpha = float(np.vdot(x, image))
        image -= alpha * x + beta * old
        image = centered(image)
        diagonal.append(alpha)
        beta = float(np.linalg.norm(image))
        off.append(beta)
        if beta <= _SINGLE * max(diagonal):
            return None  # few different eigenvalues: any method is quick
        x, old = image / beta, x
    ritz, small = scipy.linalg.eigh_tridiagonal(diagonal, off[:-1])
    about = n_nodes * np.cumsum(small[0] ** 2)
    error = beta * np.abs(small[-1])
    best = None
    for j in range(n_steps - 1):
        n_columns = max(n_pairs, int(np.ceil(about[j]))) + _MORE
        n_columns += -n_columns % _COLUMNS
        if n_columns > _MOST_COLUMNS:
            break
        if _FEWEST * about[j] < n_pairs or ritz[j] <= 0:
            continue
        low = ritz[j + 1] - min(error[j + 1], 0.25 * (ritz[j + 1] - ritz[j]))
        gap = Gap(ritz[j], low, ritz[-1] + error[-1], n_columns, 0)
        noise = np.sqrt(n_nodes / n_columns)  # what a random column has of others
        off = ((gap.low + gap.high) / 2 - gap.wanted) / (tol * gap.wanted)
        gap = gap._replace(degree=_degree(gap, noise * off))
        if gap.degree * n_columns <= _MOST_PRODUCTS and (best is None or gap.degree < best.degree):
            best = gap
    return best


def eigenpairs_below_gap(rows, n_pairs, gap, centered, *, tol, rng):
    """The `n_pairs` smallest eigenvalues and orthonormal eigenvectors, or None if that fails.

    Parameters
    ----------
    rows, n_pairs, centered, tol, rng
        Arguments of `find_gap`.
    gap : Gap
    """
    is_single = tol * gap.wanted >= _SINGLE * gap.high
    rows = rows.astype(np.float32 if is_single else np.float64)
    dtype = rows.weight.dtype
    apart = max(np.log(gap.growth(0.0) / gap.growth(gap.wanted)), 1e-6)
    at_once = max(int(np.log(_SPREAD[dtype]) / apart), 2)
    X, n_columns, degree = np.empty((rows.n_nodes, 0), dtype), gap.n_columns, gap.degree
    for _ in range(_MOST_ROUNDS):
        fresh = rng.standard_normal((rows.n_nodes, n_columns - X.shape[1]), dtype=dtype)
        step = min(degree, at_once)
        X = _filtered(rows, np.hstack([X, centered(fresh)]), gap, step)
        basis = _orthonormal(centered(X.astype(np.float64)), _NOISE * np.finfo(dtype).eps)
        X = basis.astype(dtype)
        image = _product(rows, X)
        values, turn = np.linalg.eigh(basis.T @ image)
        n_below = int((values < gap.low).sum())
        if n_below == n_columns:  # there are more than that
            n_columns, degree = 2 * n_columns, gap.degree
            if n_columns > _MOST_COLUMNS:
                return None
            continue
        wanted, turn = values[:n_pairs], turn[:, :n_pairs]
        vectors = basis @ turn
        residual = np.linalg.norm(image @ turn - vectors * wanted, axis=0)
        worst = (residual / (tol * wanted)).max()
        if worst <= 1 and n_below >= n_pairs:
            return wanted, vectors
        if step == degree and n_below < n_pairs:
            return None
        degree = max(degree - step, _degree(gap, worst))
    return None


def _degree(gap, ratio):
    """Of the polynomial that is `ratio` times as large at the wanted values as beyond the gap."""
    return int(np.ceil(np.log(2 * _SPARE * max(ratio, 1.0)) / np.log(gap.growth(gap.wanted))))


def _filtered(rows, X, gap, degree):
    """T_m(A) X, a few columns at a time."""
    center, half = (gap.low + gap.high) / 2, (gap.high - gap.low) / 2
    own = (rows.diagonal() - center) / half
    out = np.empty_like(X)
    for columns in _groups(X.shape[1]):
        x = np.ascontiguousarray(X[:, columns])
        old = _recur(rows, own, 1 / half, x, np.zeros_like(x))
        for _ in range(degree - 1):
            x, old = old, _recur(rows, 2 * own, 2 / half, old, x)
        out[:, columns] = old
    return out


def _product(rows, X):
    """A X, in single precision as in double."""
    padded = np.zeros((X.shape[0], X.shape[1] + -X.shape[1] % _COLUMNS), X.dtype)
    padded[:, : X.shape[1]] = X
    own, out = rows.diagonal(), np.empty_like(X)
    for columns in _groups(X.shape[1]):
        x = np.ascontiguousarray(padded[:, columns])
        image = _recur(rows, own, 1.0, x, np.zeros_like(x))
        out[:, columns] = image[:, : out[:, columns].shape[1]]
    return out


def _groups(n_columns):
    return [slice(first, first + _COLUMNS) for first in range(0, n_columns, _COLUMNS)]


def _recur(rows, own, factor, x, old):
    """own x - factor W x - old, written to `old`."""
    work = rows.weight.size * _COLUMNS
    dtype = x.dtype.type
    ends = (rows.start, rows.neighbor, rows.weight, rows.parts)
    run_kernel(_recurrence, work, *ends, own.astype(dtype), dtype(factor), x, old)
    return old


def _orthonormal(X, noise):
    """A basis of the columns of X, without directions that are rounding."""
    size, turn = np.linalg.eigh(X.T @ X)
    kept = size > noise**2 * size[-1]
    basis = X @ (turn[:, kept] / np.sqrt(size[kept]))
    factor = np.linalg.cholesky(basis.T @ basis)
    return scipy.linalg.solve_triangular(factor, basis.T, lower=True).T


@parallel_njit
def _recurrence(start, neighbor, weight, parts, own, factor, x, old):
    last = neighbor.size - 1
    for part in numba.prange(parts.size - 1):
        for i in range(parts[part], parts[part + 1]):
            for k in range(_COLUMNS):
                old[i, k] = own[i] * x[i, k] - old[i, k]
            for e in range(start[i], start[i + 1]):
                prefetch(x, neighbor[min(e + AHEAD, last)], 0)
                scaled, j = factor * weight[e], neighbor[e]
                for k in range(_COLUMNS):
                    old[i, k] -= scaled * x[j, k]
