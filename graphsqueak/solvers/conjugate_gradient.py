"""Preconditioned conjugate gradients for many right-hand sides at once.

Every column of an n x K block runs its own recursion [S03, Algorithm 9.1], but one pass over
the matrix serves all of them, and memory traffic is what the iteration costs. Converged columns
stand still, and leave the block once they are half of it. Columns of zeros make its width a
multiple of four, for vector operations.

References
----------
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

import numba
import numpy as np

from graphsqueak.solvers.matrix import (
    FOUR,
    N_PARTS,
    aligned_like,
    even_parts,
    multiply,
    quick_width,
)
from graphsqueak.system.kernels import WORTH_SHARING, inline_njit, parallel_njit, run_kernel

__all__ = ["conjugate_gradient", "norms_of"]

PATIENCE = 100  # steps without progress after which a good preconditioner has met rounding


def conjugate_gradient(
    rows,
    r,
    x,
    *,
    target,
    max_iter,
    precondition=None,
    watch=None,
    by_degree=False,
    worth_sharing=WORTH_SHARING,
):
    """Add to x an approximate solution d of A d = r, until |r_k - A d_k| <= target_k.

    Parameters
    ----------
    rows : Rows
        The matrix A, in the dtype of r.
    r, x : ndarray of shape (n, K), C order
        Residual at the start, and the iterate; both are overwritten.
    target : ndarray of shape (K,)
        Absolute residual norm at which a column is done; -1 for one that goes on as long as others.
    max_iter : int
        Largest number of steps.
    precondition : callable, optional
        Maps a residual block to an approximate solution block. Default: Jacobi, 1 / diag(A).
    watch : callable, optional
        Called after each step with (step, norms, target, alpha, beta), all but the first by column:
        how far the step went, and how much of the last direction it kept. True stops the iteration.
    by_degree : bool
        Measure residuals by sqrt(r . D^-1 r), D the diagonal of A, instead of by |r|.
    worth_sharing : int
        Elementary steps from which a loop is shared among threads.

    Returns
    -------
    int
        Number of steps taken.

    Examples
    --------
    A path of three nodes, one unit of current from end to end:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_rows
    >>> rows = build_rows(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> r, x = np.array([[1.0], [0.0], [-1.0]]), np.zeros((3, 1))
    >>> conjugate_gradient(rows, r, x, target=np.array([1e-12]), max_iter=10)
    1
    >>> (x - x.mean()).ravel()
    array([ 1.,  0., -1.])
    """
    whole, columns = x, np.arange(x.shape[1])
    x, r = _widened(x), _widened(r)
    target = _lengthened(target, np.inf)
    parts = even_parts(rows.n_nodes)
    inverse = _inverse(rows.diagonal(), x.dtype)
    scale = np.ones_like(inverse) if precondition else inverse
    p, q = aligned_like(x), aligned_like(x)
    p.fill(0)
    still = np.zeros(x.shape[1], x.dtype)
    norms, rz_next = _advance(parts, x, r, p, p, inverse, still, worth_sharing)
    rz = np.ones(x.shape[1])
    alpha = beta = still
    step = best_step = 0
    best = np.inf
    while True:
        if by_degree:
            norms = np.sqrt(rz_next)
        if watch and step and watch(step, norms, target, alpha, beta):
            break
        leads, active = target > 0, norms > target
        if step >= max_iter or not (leads & active).any():
            break
        worst = (norms / target)[leads].max()
        if worst < 0.9 * best:
            best, best_step = worst, step
        elif precondition and step > best_step + PATIENCE:
            break
        n_active = np.count_nonzero(active)
        if 2 * n_active <= active.size and quick_width(n_active) < active.size:
            if x is not whole:
                whole[:, columns] = x[:, : columns.size]
            x, r, p = (_widened(block[:, active]) for block in (x, r, p))
            q = aligned_like(x)
            columns, target = columns[active[: columns.size]], _lengthened(target[active], np.inf)
            rz, rz_next = _lengthened(rz[active], 1.0), _lengthened(rz_next[active], 0.0)
            active = np.arange(x.shape[1]) < n_active
        z = r
        if precondition:
            z = precondition(r)
            rz_next = _dots(parts, r, z, worth_sharing)
        beta, rz = rz_next / rz, rz_next  # [S03, steps 7-8 of 9.1, moved to the loop's start]
        beta = beta.astype(x.dtype)
        run_kernel(_turn, p.size, parts, p, z, scale, beta, worth_sharing=worth_sharing)
        curvature = multiply(rows, p, q, worth_sharing=worth_sharing)  # p . A p
        alpha = np.divide(rz, curvature, out=np.zeros_like(rz), where=active & (curvature > 0))
        alpha = alpha.astype(x.dtype)
        norms, rz_next = _advance(parts, x, r, p, q, inverse, alpha, worth_sharing)  # 4-6
        rz = np.where(rz > 0, rz, 1.0)
        step += 1
    if x is not whole:
        whole[:, columns] = x[:, : columns.size]
    return step


def norms_of(block):
    """Euclidean norm of every column, summed in an order that does not depend on threads."""
    return np.sqrt(_dots(even_parts(block.shape[0]), block, block))


def _widened(block):
    """The block, with columns of zeros up to a width that is quick to multiply."""
    n_columns = block.shape[1]
    if quick_width(n_columns) == n_columns:
        return np.ascontiguousarray(block)
    wide = aligned_like(block, quick_width(n_columns))
    wide[:, :n_columns], wide[:, n_columns:] = block, 0.0
    return wide


def _lengthened(numbers, value):
    """One number per column of the widened block; those of zeros have this value."""
    n_more = quick_width(numbers.size) - numbers.size
    return np.append(numbers, np.full(n_more, value))


def _inverse(diagonal, dtype):
    return np.divide(1.0, diagonal, out=np.zeros(diagonal.size), where=diagonal > 0).astype(dtype)


def _dots(parts, left, right, worth_sharing=WORTH_SHARING):
    partial = np.zeros((N_PARTS, left.shape[1]))
    run_kernel(_dots_kernel, left.size, parts, left, right, partial, worth_sharing=worth_sharing)
    return partial.sum(axis=0)


def _advance(parts, x, r, p, q, scale, alpha, worth_sharing):
    partial = np.zeros((2, N_PARTS, x.shape[1]))
    blocks = (parts, x, r, p, q, scale, alpha, partial)
    kernel = {1: _advance_one, FOUR: _advance_four}.get(x.shape[1], _advance_all)
    run_kernel(kernel, 2 * x.size, *blocks, worth_sharing=worth_sharing)
    rr, scaled = partial.sum(axis=1)
    return np.sqrt(rr), scaled


@parallel_njit
def _dots_kernel(parts, left, right, partial):
    for part in numba.prange(parts.size - 1):
        low, high = parts[part], parts[part + 1]
        if left.shape[1] == 1:
            total = 0.0
            for i in range(low, high):
                total += left[i, 0] * right[i, 0]
            partial[part, 0] = total
        else:
            for i in range(low, high):
                for k in range(left.shape[1]):
                    partial[part, k] += left[i, k] * right[i, k]


@parallel_njit
def _turn(parts, p, z, scale, beta):
    """p = scale * z + beta * p"""
    for part in numba.prange(parts.size - 1):
        low, high = parts[part], parts[part + 1]
        if p.shape[1] == 1:
            for i in range(low, high):
                p[i, 0] = scale[i] * z[i, 0] + beta[0] * p[i, 0]
        else:
            for i in range(low, high):
                for k in range(p.shape[1]):
                    p[i, k] = scale[i] * z[i, k] + beta[k] * p[i, k]


@parallel_njit
def _advance_one(parts, x, r, p, q, scale, alpha, partial):
    """`_advance_all` of a single column."""
    for part in numba.prange(parts.size - 1):
        square = scaled = 0.0
        for i in range(parts[part], parts[part + 1]):
            x[i, 0] += alpha[0] * p[i, 0]
            new = r[i, 0] - alpha[0] * q[i, 0]
            r[i, 0] = new
            square += new * new
            scaled += scale[i] * new * new
        partial[0, part, 0] = square
        partial[1, part, 0] = scaled


@parallel_njit
def _advance_four(parts, x, r, p, q, scale, alpha, partial):
    """`_advance_all` of four columns, with their sums in registers: half of the time."""
    for part in numba.prange(parts.size - 1):
        _advance_rows(parts[part : part + 2], x, r, p, q, scale, alpha, partial[:, part])


@inline_njit
def _advance_rows(rows, x, r, p, q, scale, alpha, sums):
    """Four columns of some rows; inlined, since the sums of a loop over prange are shared."""
    rr_a = rr_b = rr_c = rr_d = scaled_a = scaled_b = scaled_c = scaled_d = 0.0
    for i in range(rows[0], rows[1]):
        for k in range(FOUR):
            x[i, k] += alpha[k] * p[i, k]
            r[i, k] -= alpha[k] * q[i, k]
        a, b, c, d = r[i, 0], r[i, 1], r[i, 2], r[i, 3]
        rr_a += a * a
        rr_b += b * b
        rr_c += c * c
        rr_d += d * d
        scaled_a += scale[i] * a * a
        scaled_b += scale[i] * b * b
        scaled_c += scale[i] * c * c
        scaled_d += scale[i] * d * d
    sums[0, 0], sums[0, 1], sums[0, 2], sums[0, 3] = rr_a, rr_b, rr_c, rr_d
    sums[1, 0], sums[1, 1], sums[1, 2], sums[1, 3] = scaled_a, scaled_b, scaled_c, scaled_d


@parallel_njit
def _advance_all(parts, x, r, p, q, scale, alpha, partial):
    """x += alpha * p, r -= alpha * q; partial sums of r . r and r . (scale * r)."""
    for part in numba.prange(parts.size - 1):
        for i in range(parts[part], parts[part + 1]):
            for k in range(x.shape[1]):
                x[i, k] += alpha[k] * p[i, k]
                new = r[i, k] - alpha[k] * q[i, k]
                r[i, k] = new
                partial[0, part, k] += new * new
                partial[1, part, k] += scale[i] * new * new
