"""Preconditioned conjugate gradients for many right-hand sides at once.

Every column of an n x K block runs its own recursion [S03, Algorithm 9.1]. One product with the
matrix serves all of them, and memory traffic dominates the time. Converged columns no longer
change, and leave the block when half of its columns have converged. The block is padded with
columns of zeros to a multiple of four, for vector operations.

References
----------
[S03] Saad. Iterative methods for sparse linear systems. SIAM, 2nd edition, 2003.
"""

import numba
import numpy as np

from graphsqueak.solvers.matrix import (
    N_PARTS,
    aligned_like,
    inverse_or_zero,
    multiply,
)
from graphsqueak.solvers.vectors import (
    add_products,
    common_width,
    load,
    padded_width,
    scale,
    store,
    zeros,
)
from graphsqueak.system.kernels import inline_njit, parallel_njit, parts, run_kernel

# Iterations in which a preconditioned solve must halve its best residual; otherwise it has reached
# the rounding error. A good preconditioner gains a digit in 2 to 5 iterations, so the limit only
# ends solves that cannot converge, such as weights over 14 decades. Halved or doubled: no change in
# benchmarks/cases/solve.py, where no solve takes 50 iterations.
MAX_STALLED_ITERATIONS = 100


class _Block:
    """The columns that still change, with their recursion: iterate, residual, direction, A p.

    `target` has one entry per column of the padded block; padding has an infinite target.
    """

    def __init__(self, x, r, target):
        self._result = x
        self._columns = np.arange(x.shape[1])
        self.x = _pad_columns(x)
        self.r = _pad_columns(r)
        self.p = aligned_like(self.x)
        self.p.fill(0)
        self.q = aligned_like(self.x)
        self.target = _pad_numbers(target, np.inf)
        # <r, z> of the last and of the next iteration.
        self.rz = np.ones(self.x.shape[1])
        self.rz_next = self.rz

    def keep(self, is_active):
        """Write the iterate back and drop the columns that have converged."""
        self.write_back()
        self.x = _pad_columns(self.x[:, is_active])
        self.r = _pad_columns(self.r[:, is_active])
        self.p = _pad_columns(self.p[:, is_active])
        self.q = aligned_like(self.x)
        self._columns = self._columns[is_active[: self._columns.size]]
        self.target = _pad_numbers(self.target[is_active], np.inf)
        self.rz = _pad_numbers(self.rz[is_active], 1.0)
        self.rz_next = _pad_numbers(self.rz_next[is_active], 0.0)

    def write_back(self):
        """Copy the iterate into the array of the caller."""
        if self.x is not self._result:
            self._result[:, self._columns] = self.x[:, : self._columns.size]


def conjugate_gradient(
    matrix,
    r,
    x,
    *,
    target,
    max_iter,
    precondition=None,
    watch=None,
    by_degree=False,
):
    """Add to x an approximate solution d of A d = r, until |r_k - A d_k| <= target_k.

    Parameters
    ----------
    matrix : CSRLaplacian
        The matrix A, in the dtype of r.
    r, x : ndarray of shape (n, K), C order
        Residual at the start, and the iterate. The result is added to x; r may be overwritten.
    target : ndarray of shape (K,)
        Absolute residual norm at which a column has converged. A column with target -1 is iterated
        until all others have converged.
    max_iter : int
        Largest number of iterations.
    precondition : callable, optional
        Maps a residual block to an approximate solution block. Default: Jacobi, 1 / diag(A).
    watch : callable, optional
        Called before every iteration with (iteration, norms, target). The iteration stops if it
        returns True.
    by_degree : bool
        Measure residuals by sqrt(r . D^-1 r), D the diagonal of A, instead of by |r|.

    Returns
    -------
    int
        Number of iterations.

    Examples
    --------
    A path of three nodes, one unit of current from end to end:

    >>> from graphsqueak.graph import EdgeList
    >>> from graphsqueak.solvers.matrix import build_laplacian
    >>> matrix = build_laplacian(EdgeList(tail=[0, 1], head=[1, 2]), np.zeros(3))
    >>> r = np.array([[1.0], [0.0], [-1.0]])
    >>> x = np.zeros((3, 1))
    >>> conjugate_gradient(matrix, r, x, target=np.array([1e-12]), max_iter=10)
    1
    >>> (x - x.mean()).ravel()
    array([ 1.,  0., -1.])
    """
    block = _Block(x, r, target)
    row_bounds = parts(matrix.n_nodes, N_PARTS)
    inverse_diagonal = inverse_or_zero(matrix.diagonal()).astype(x.dtype)
    # The Jacobi preconditioner is applied where p is updated, without a block z of its own.
    z_scale = np.ones_like(inverse_diagonal) if precondition else inverse_diagonal
    alpha = np.zeros(block.x.shape[1], x.dtype)
    # A step of length zero computes the norms at the start.
    norms = _advance(row_bounds, block, block.p, inverse_diagonal, alpha)
    iteration = 0
    best_iteration = 0
    best = np.inf
    while True:
        if by_degree:
            norms = np.sqrt(block.rz_next)
        if watch and watch(iteration, norms, block.target):
            break
        has_target = block.target > 0
        is_active = norms > block.target
        if iteration >= max_iter or not (has_target & is_active).any():
            break
        worst = (norms / block.target)[has_target].max()
        if worst < best / 2:
            best = worst
            best_iteration = iteration
        elif precondition and iteration > best_iteration + MAX_STALLED_ITERATIONS:
            break
        n_active = np.count_nonzero(is_active)
        if 2 * n_active <= is_active.size and padded_width(n_active) < is_active.size:
            block.keep(is_active)
            is_active = np.arange(block.x.shape[1]) < n_active

        # [S03, Algorithm 9.1] with steps 7 and 8 moved to the start of the loop.
        # 6: z = M^-1 r
        z = block.r
        if precondition:
            z = precondition(block.r)
            block.rz_next = _dots(row_bounds, block.r, z)
        # 7: beta = <r', z'> / <r, z>
        beta = (block.rz_next / block.rz).astype(x.dtype)
        block.rz = block.rz_next
        # 8: p = z + beta p
        zero = zeros(common_width(beta.size), x.dtype)
        run_kernel(_turn, z.size, row_bounds, block.p, z, z_scale, beta[None], zero)
        # 3: alpha = <r, z> / <A p, p>
        curvature = multiply(matrix, block.p, block.q)
        can_move = is_active & (curvature > 0)
        alpha = np.divide(block.rz, curvature, out=np.zeros_like(block.rz), where=can_move)
        alpha = alpha.astype(x.dtype)
        # 4, 5: x = x + alpha p, r = r - alpha A p
        norms = _advance(row_bounds, block, block.q, inverse_diagonal, alpha)
        # A column of zeros has <r, z> = 0; the next beta must not divide by it.
        block.rz = np.where(block.rz > 0, block.rz, 1.0)
        iteration += 1
    block.write_back()
    return iteration


def column_norms(block):
    """Return the Euclidean norm of every column; the result does not depend on threads."""
    return np.sqrt(_dots(parts(block.shape[0], N_PARTS), block, block))


def _pad_columns(block):
    """Return the block with columns of zeros up to a width that is fast to multiply."""
    n_columns = block.shape[1]
    if padded_width(n_columns) == n_columns:
        return np.ascontiguousarray(block)
    padded = aligned_like(block, padded_width(n_columns))
    padded[:, :n_columns] = block
    padded[:, n_columns:] = 0.0
    return padded


def _pad_numbers(numbers, value):
    """Return one number per column of the padded block; columns of zeros have this value."""
    n_more = padded_width(numbers.size) - numbers.size
    return np.append(numbers, np.full(n_more, value))


def _dots(row_bounds, left, right):
    n_columns = left.shape[1]
    partial = np.empty((N_PARTS, n_columns))
    width = common_width(n_columns)
    run_kernel(
        _dots_kernel,
        left.size,
        row_bounds,
        left,
        right,
        partial,
        zeros(width, left.dtype),
        zeros(width, partial.dtype),
    )
    return partial.sum(axis=0)


def _advance(row_bounds, block, q, inverse_diagonal, alpha):
    """Move by alpha p, set <r, D^-1 r> as the next <r, z>, and return the norms of r."""
    n_columns = block.x.shape[1]
    partial = np.empty((2, N_PARTS, n_columns))
    width = common_width(n_columns)
    run_kernel(
        _advance_kernel,
        2 * block.x.size,
        row_bounds,
        block.x,
        block.r,
        block.p,
        q,
        inverse_diagonal,
        alpha[None],
        partial,
        zeros(width, block.x.dtype),
        zeros(width, partial.dtype),
    )
    rr, block.rz_next = partial.sum(axis=1)
    return np.sqrt(rr)


@parallel_njit
def _dots_kernel(parts, left, right, partial, zero, zero_sums):
    """Sum left * right over each range of rows."""
    for part in numba.prange(parts.size - 1):
        for group in range(left.shape[1] // len(zero)):
            k = np.uint64(group * len(zero))
            rows = parts[part : part + 2]
            store(partial, part, k, _dots_of_rows(rows, left, right, k, zero, zero_sums))


@inline_njit
def _dots_of_rows(rows, left, right, k, zero, total):
    # This is a function of its own because numba treats sums in a loop over `prange` as shared.
    for i in range(rows[0], rows[1]):
        total = add_products(total, load(left, i, k, zero), load(right, i, k, zero))
    return total


@parallel_njit
def _turn(parts, p, z, z_scale, beta, zero):
    """Set p = z_scale * z + beta * p."""
    for part in numba.prange(parts.size - 1):
        for group in range(p.shape[1] // len(zero)):
            k = np.uint64(group * len(zero))
            factor = load(beta, 0, k, zero)
            for i in range(parts[part], parts[part + 1]):
                scaled = scale(z_scale[i], load(z, i, k, zero))
                store(p, i, k, add_products(scaled, factor, load(p, i, k, zero)))


@parallel_njit
def _advance_kernel(parts, x, r, p, q, inverse_diagonal, alpha, partial, zero, zero_sums):
    """Set x += alpha * p and r -= alpha * q; sum r . r and r . (inverse_diagonal * r)."""
    for part in numba.prange(parts.size - 1):
        for group in range(x.shape[1] // len(zero)):
            k = np.uint64(group * len(zero))
            rows = parts[part : part + 2]
            rr, rz = _advance_rows(
                rows, x, r, p, q, inverse_diagonal, alpha, k, zero, zero_sums, zero_sums
            )
            store(partial[0], part, k, rr)
            store(partial[1], part, k, rz)


@inline_njit
def _advance_rows(rows, x, r, p, q, inverse_diagonal, alpha, k, zero, rr, rz):
    step = load(alpha, 0, k, zero)
    opposite_step = scale(-1, step)
    for i in range(rows[0], rows[1]):
        store(x, i, k, add_products(load(x, i, k, zero), step, load(p, i, k, zero)))
        new = add_products(load(r, i, k, zero), opposite_step, load(q, i, k, zero))
        store(r, i, k, new)
        rr = add_products(rr, new, new)
        rz = add_products(rz, scale(inverse_diagonal[i], new), new)
    return rr, rz
