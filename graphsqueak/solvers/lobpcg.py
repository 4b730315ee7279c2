"""Smallest eigenpairs by LOBPCG: block iteration with a preconditioner, for expensive products.

For eigenvalues of A that are much smaller than its norm, and a preconditioner M close to A [K01].
Each iteration multiplies one block by A, which is one pass over a graph that is streamed:

    1: R = A X - X Lambda
    2: W = M^+ R, made orthonormal to X and P
    3: A W                               the product
    4: S = [X P W],  S'A S C = C Lambda  (Rayleigh-Ritz)
    5: X = S C,  A X = A S C

P is the part of the new X in the span of the old P and W, made orthonormal to X [HL06]. The basis S
is orthonormal, so that step 4 is an ordinary eigenvalue problem. The block has more columns than
eigenpairs are wanted, because the last columns converge slowly.

Every Ritz value is an upper bound of an eigenvalue, and an eigenvalue lies within
||A x - lambda x|| of it. A block finds multiple eigenvalues, which Lanczos with one vector misses.

References
----------
[K01] Knyazev. Toward the optimal preconditioned eigensolver: locally optimal block preconditioned
      conjugate gradient method. SIAM J. Scientific Computing 23(2), 2001.
[HL06] Hetmaniuk, Lehoucq. Basis selection in LOBPCG. J. Computational Physics 218(1), 2006.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# Relative eigenvalue of a Gram matrix of unit directions below which a direction is dependent on
# the others up to rounding. Halved or doubled: no change of the number of passes
# (`outofcore.convergence`).
MIN_EIGENVALUE = 1e-12
# Relative eigenvalue of a Gram matrix below which one orthonormalization is inaccurate, so that
# it is repeated. Halved or doubled: no change of the number of passes (`outofcore.convergence`).
MIN_EIGENVALUE_ONCE = 1e-3
# Residual norm, relative to the norm of A, that is due to rounding. Residuals do not fall below 1.4
# to 6 unit roundoffs on paths, rings and grids of 20,000 to 200,000 nodes.
ROUNDING = 8 * np.finfo(np.float64).eps


class Eigenpairs(NamedTuple):
    """Result of `lobpcg`.

    `residual` is the largest ||A x - lambda x|| / lambda of the pairs, after `n_iter` products.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    n_iter: int


def lobpcg(
    operator: Any,
    X: np.ndarray,
    n_pairs: int,
    *,
    tol: float,
    largest: float,
    max_iter: int = 500,
    report: Callable | None = None,
) -> Eigenpairs:
    """Find the smallest positive eigenvalues and their eigenvectors from a starting block.

    scipy's `lobpcg` has an absolute tolerance for all columns of the block, which takes 1.3 to 4
    times as many products (ten pairs on grids, block models, small-world and heavy-tailed graphs).

    Parameters
    ----------
    operator : object
        The matrix A and its preconditioner: `multiply(X, report)` returns A X, `precondition(R)`
        about M^+ R, and `centered(X)` is X minus its part along the eigenvectors of eigenvalue
        zero.
    X : ndarray of shape (n, at least n_pairs)
        Starting block.
    n_pairs : int
        Number of eigenpairs.
    tol : float
        Relative tolerance: ||A x - lambda x|| <= tol * lambda for each pair.
    largest : float
        Approximate norm of A. Residuals of `ROUNDING` times this are due to rounding, and also
        accepted.
    max_iter : int, default=500
        Maximum number of products. Most graphs need 10 to 40, weights over many decades more.
    report : callable, optional
        Second argument of `operator.multiply`.
    """
    X = orthonormal(operator.centered(X))
    n_columns = X.shape[1]
    S = X
    AS = operator.multiply(X, report)
    n_iter = 1
    while True:
        # 4: Rayleigh-Ritz
        gram = S.T @ AS
        values, coefficients = np.linalg.eigh((gram + gram.T) / 2)
        values = values[:n_columns]
        coefficients = coefficients[:, :n_columns]
        # P: the part of the new X in the old P and W, orthogonal to the new X
        rest = coefficients.copy()
        rest[:n_columns] = 0.0
        rest -= coefficients @ (coefficients.T @ rest)
        # 5: S = [X P]; the old basis is freed, because it is most of the memory
        basis = np.hstack([coefficients, orthonormal(rest)])
        S = S @ basis
        AS = AS @ basis
        X = S[:, :n_columns]
        # 1: residuals
        R = AS[:, :n_columns] - X * values
        error = np.linalg.norm(R, axis=0) / np.maximum(tol * values, ROUNDING * largest)
        worst = error[:n_pairs].max(initial=0.0)
        if worst <= 1 or n_iter >= max_iter:
            break
        # 2: twice, because rounding leaves some of X and P in W after the first projection
        R = R[:, error > 1]
        W = operator.precondition(R)
        # Blocks are most of the memory, and these are computed again.
        del R
        for _ in range(2):
            W = orthonormal(W - S @ (S.T @ W))
        if W.shape[1] == 0:
            break
        # X is a view, which would keep the old basis.
        del X
        # 3: the product
        AS = np.hstack([AS, operator.multiply(W, report)])
        S = np.hstack([S, W])
        del W
        n_iter += 1
    return Eigenpairs(
        values=values[:n_pairs],
        vectors=np.ascontiguousarray(X[:, :n_pairs]),
        # A residual that is due to rounding counts as `tol`.
        residual=float(tol * worst),
        n_iter=n_iter,
    )


def orthonormal(
    block: np.ndarray, multiply: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return columns P with P' M P = I and the span of `block`, without dependent columns.

    Parameters
    ----------
    block : ndarray of shape (n, k)
    multiply : callable, optional
        Returns M Y for a block Y. Default: M is the identity.

    Returns
    -------
    ndarray of shape (n, at most k)

    Examples
    --------
    >>> twice = np.array([[3.0, 6.0, 0.0], [0.0, 0.0, 2.0]])
    >>> orthonormal(twice).shape
    (2, 2)
    """
    smallest = 0.0
    while smallest < MIN_EIGENVALUE_ONCE and block.shape[1]:
        gram = block.T @ (multiply(block) if multiply else block)
        # Unit columns, so that the test of dependence does not depend on their lengths.
        length = np.sqrt(np.diag(gram).clip(0))
        scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        values, vectors = np.linalg.eigh(scale[:, None] * ((gram + gram.T) / 2) * scale)
        kept = values > MIN_EIGENVALUE * max(values[-1], 1.0)
        smallest = values[kept].min(initial=1.0)
        block = block @ (scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))
    return np.ascontiguousarray(block)
