"""Exact ridge leverage scores: how much each point matters to a kernel matrix.

For a kernel matrix K with eigenvalues lam_j, eigenvectors U and a ridge g > 0,

    tau_i(g) = [K (K + g I)^-1]_ii = sum_j lam_j / (lam_j + g) U_ij^2,     d_eff(g) = sum_i tau_i,

[AM15], [C17, Definition 2.7]; [C17, Eq. 2.12] prints U_ij for its square. In a stream only earlier
points are known: with s_t = (k_tt - k_t' (K_{t-1} + g I)^-1 k_t) / g,

    tau_{t,t} = s_t / (1 + s_t),     d_onl(g) = sum_t tau_{t,t},

    d_eff <= d_onl <= logdet(I + K / g) <= d_eff (1 + log(1 + |K| / g)).

All of it costs O(n^3) time and an n x n matrix.

References
----------
[AM15] Alaoui, Mahoney. Fast randomized kernel ridge regression with statistical guarantees.
       NeurIPS 2015.
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
"""

import numpy as np
from scipy.linalg import lapack

from graphsqueak.errors import InputError
from graphsqueak.kernel.kernels import bind
from graphsqueak.validation import check_real

__all__ = [
    "cholesky",
    "effective_dimension",
    "inverse_diagonal",
    "leverage_scores",
    "online_effective_dimension",
    "online_leverage_scores",
]


def leverage_scores(X, *, kernel="rbf", kernel_params=None, ridge=1.0):
    """tau_i(ridge) of every row of X; for a sequence of ridges, one row of scores each.

    With L L' = K + g I, tau_i = 1 - g |L^-1 e_i|^2. Several ridges share one eigendecomposition.

    >>> leverage_scores(np.eye(3), kernel="precomputed", ridge=1.0)
    array([0.5, 0.5, 0.5])
    >>> leverage_scores(np.ones((2, 1)), kernel="linear", ridge=[2.0, 1.0]).round(3)
    array([[0.25 , 0.25 ],
           [0.333, 0.333]])
    """
    K = _matrix(X, kernel, kernel_params)
    if np.ndim(ridge) == 0:
        g = check_real("ridge", ridge, above=0.0)
        return np.clip(1 - g * inverse_diagonal(cholesky(K, g)), 0.0, 1.0)
    g = np.array([check_real("ridge", value, above=0.0) for value in ridge])
    eigenvalues, U = np.linalg.eigh(K)
    lam = np.maximum(eigenvalues, 0.0)
    return (lam / (lam + g[:, None])) @ (U**2).T


def effective_dimension(X, *, kernel="rbf", kernel_params=None, ridge=1.0):
    """d_eff(ridge), the sum of the leverage scores: at most the rank of K and trace(K) / ridge.

    >>> effective_dimension(np.eye(4), kernel="precomputed", ridge=1.0)
    2.0
    """
    return float(leverage_scores(X, kernel=kernel, kernel_params=kernel_params, ridge=ridge).sum())


def online_leverage_scores(X, *, kernel="rbf", kernel_params=None, ridge=1.0):
    """tau_{t,t}(ridge): the score of each row among the rows up to it.

    The t-th pivot of the Cholesky factor of K + g I is g (1 + s_t), so one factorization has all.

    >>> twice = np.ones((2, 1))     # the second copy is half as surprising
    >>> online_leverage_scores(twice, kernel="linear", ridge=1.0).round(3)
    array([0.5  , 0.333])
    """
    g = check_real("ridge", ridge, above=0.0)
    pivot = np.diagonal(cholesky(_matrix(X, kernel, kernel_params), g)) ** 2
    return np.clip(1 - g / pivot, 0.0, 1.0)


def online_effective_dimension(X, *, kernel="rbf", kernel_params=None, ridge=1.0):
    """d_onl(ridge), the sum of the online leverage scores.

    It is at most 2 d_eff log(2 n / g) for a unit diagonal and n / g >= 1.24; [C17, Lemma 3.9] has
    2 d_eff log(n / g), which fails for n / g < 3.5 (see docs/errata.md).

    >>> online_effective_dimension(np.eye(4), kernel="precomputed", ridge=1.0)
    2.0
    """
    scores = online_leverage_scores(X, kernel=kernel, kernel_params=kernel_params, ridge=ridge)
    return float(scores.sum())


def cholesky(K, ridge):
    """The lower factor of K + ridge I, in Fortran order.

    >>> cholesky(np.array([[3.0]]), 1.0)
    array([[2.]])
    """
    shifted = np.array(K, dtype=np.float64, order="F")
    shifted[np.diag_indices_from(shifted)] += ridge
    factor, info = lapack.dpotrf(shifted, lower=1, clean=1, overwrite_a=1)
    if info:
        raise InputError(
            "the kernel matrix is not positive semi-definite: its Cholesky factorization failed at "
            f"row {info - 1}; use a positive semi-definite kernel without infinite or NaN values"
        )
    return factor


def inverse_diagonal(factor):
    """Diagonal of (L L')^-1 from the lower factor L.

    >>> inverse_diagonal(np.array([[2.0]]))
    array([0.25])
    """
    inverse, _ = lapack.dtrtri(factor, lower=1)
    return np.einsum("ji,ji->i", inverse, inverse)


def _matrix(X, kernel, kernel_params):
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise InputError(f"X has shape {X.shape}; give a matrix with a row for every point")
    k, points = bind(kernel, kernel_params, X)
    return k(points, points)
