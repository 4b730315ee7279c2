"""Ridge leverage scores, the importance of each point to a kernel matrix: exact and estimated.

For a kernel matrix K with eigenvalues lam_j and eigenvectors U, and a ridge g > 0,

    tau_i(g) = [K (K + g I)^-1]_ii = sum_j lam_j / (lam_j + g) U_ij^2,     d_eff(g) = sum_i tau_i,

are the ridge leverage scores and the effective dimension [AM15], [C17, Definition 2.7]. [C17, Eq.
2.12] prints U_ij instead of its square. In a stream only the earlier points are known. With
s_t = (k_tt - k_t' (K_{t-1} + g I)^-1 k_t) / g, the online scores and dimension are

    tau_{t,t} = s_t / (1 + s_t),     d_onl(g) = sum_t tau_{t,t},

    d_eff <= d_onl <= logdet(I + K / g) <= d_eff (1 + log(1 + |K| / g)).

All of these take O(n^3) time and an n x n matrix.

Samplers estimate the scores from a dictionary, a few points (landmarks) x_i with weights s_i,
W = diag(s). With a ridge g' >= g,

    raw(x) = (k(x, x) - k_I(x)' (K_II + g' W^-1)^-1 k_I(x)) / g',

which is the variance of a Gaussian process with noise g' / s_i at landmark i, divided by g' [C17,
Eq. 3.2 to 3.5]. It takes O(m^2) per point after one Cholesky factorization. For a landmark itself,
with K_hat = W^1/2 K_II W^1/2, the form without cancellation is

    raw_i = (1 - g' [(K_hat + g' I)^-1]_ii) / s_i.

Let the dictionary be a union of dictionaries, k of them inexact, and each of these (e, g)-accurate
for its part of the data. (Raw points with weight 1 are exact and do not count.) Then, with

    g' = (1 + (k - 1) e) g,

(1 - e) raw is a lower and (1 + (2 k - 1) e) raw an upper bound of tau. If k = 0, g' = g and raw is
exact. Each bound is within a factor rho = (1 + (2 k - 1) e) / (1 - e) of tau. [CLV17, Eq. 5] has
1 / g instead of 1 / g', and the thesis (1 + (k n - 1) e) for a k-way merge; see
docs/research/errata.md.

References
----------
[AM15]  Alaoui, Mahoney. Fast randomized kernel ridge regression with statistical guarantees.
        NeurIPS 2015.
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017.
[CLV17] Calandriello, Lazaric, Valko. Distributed adaptive sampling for kernel matrix
        approximation. AISTATS 2017.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas
from scipy.optimize import brentq

from graphsqueak.errors import InputError
from graphsqueak.kernel.cholesky import cholesky, inverse_diagonal
from graphsqueak.kernel.kernels import Kernel, KernelLike, KernelParams, bind, row_chunks
from graphsqueak.validation import check_real

# Landmarks per effective dimension, by which ridge="auto" is determined. More mean a larger ridge,
# which ignores more of the outlying points. Trace that is left by `SQUEAK` and `KORS` on four data
# sets: 1 % less if halved, 4 % more if doubled.
LANDMARKS_PER_DIMENSION = 4


def leverage_scores(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float | Sequence[float] = 1.0,
) -> np.ndarray:
    """Return the exact ridge leverage score tau_i of every row of X, in O(n^3).

    A score is between 0 and 1: near 1 for a point that no others are similar to. Several ridges
    share one eigendecomposition.

    Parameters
    ----------
    X : array of shape (n, d)
        Points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `as_kernel`.
    ridge : float or sequence of float
        g > 0, in the units of the eigenvalues of K.

    Returns
    -------
    ndarray of shape (n,), or (n_ridges, n) for a sequence

    Examples
    --------
    >>> leverage_scores(np.eye(3), kernel="precomputed", ridge=1.0)
    array([0.5, 0.5, 0.5])
    >>> leverage_scores(np.ones((2, 1)), kernel="linear", ridge=[2.0, 1.0]).round(3)
    array([[0.25 , 0.25 ],
           [0.333, 0.333]])
    """
    K = kernel_matrix(X, kernel, kernel_params)
    if np.ndim(ridge) == 0:
        return matrix_leverage(K, check_real("ridge", ridge, above=0.0))
    ridges = np.array([check_real("ridge", g, above=0.0) for g in np.atleast_1d(ridge)])
    # Rounding may make a zero eigenvalue negative.
    eigenvalues, U = np.linalg.eigh(K)
    lam = np.maximum(eigenvalues, 0.0)
    return (lam / (lam + ridges[:, None])) @ (U**2).T


def effective_dimension(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float = 1.0,
) -> float:
    """Return d_eff(ridge), the sum of the exact leverage scores.

    It is at most the rank of K, and at most trace(K) / ridge. A dictionary needs about
    d_eff log(n) landmarks.

    Parameters
    ----------
    X : array of shape (n, d)
        Points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `as_kernel`.
    ridge : float
        g > 0.

    Returns
    -------
    float

    Examples
    --------
    >>> effective_dimension(np.eye(4), kernel="precomputed", ridge=1.0)
    2.0
    """
    return float(leverage_scores(X, kernel=kernel, kernel_params=kernel_params, ridge=ridge).sum())


def online_leverage_scores(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float = 1.0,
) -> np.ndarray:
    """Return tau_{t,t}(ridge), the leverage score of each row among the rows up to it.

    KORS samples by estimates of these scores. The t-th squared pivot of the Cholesky factor of
    K + g I is g (1 + s_t), so that one factorization gives all scores.

    Parameters
    ----------
    X : array of shape (n, d)
        Points in their order; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `as_kernel`.
    ridge : float
        g > 0.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    The first point has s = 1, the second, equal one s = 1/2:

    >>> online_leverage_scores(np.ones((2, 1)), kernel="linear", ridge=1.0).round(3)
    array([0.5  , 0.333])
    """
    g = check_real("ridge", ridge, above=0.0)
    # s_t = pivot^2 / g - 1, and tau_{t,t} = s_t / (1 + s_t).
    pivot = np.diagonal(cholesky(kernel_matrix(X, kernel, kernel_params), g)) ** 2
    return np.clip(1 - g / pivot, 0.0, 1.0)


def online_effective_dimension(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float = 1.0,
) -> float:
    """Return d_onl(ridge), the sum of the online leverage scores.

    The dictionary of KORS has at most 3 q d_onl landmarks. For a unit diagonal and n / g >= 1.24,
    d_onl is at most 2 d_eff log(2 n / g). [C17, Lemma 3.9] prints 2 d_eff log(n / g), which fails
    for n / g < 3.5 (see docs/research/errata.md).

    Parameters
    ----------
    X : array of shape (n, d)
        Points in the order in which they come; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `as_kernel`.
    ridge : float
        g > 0, in the units of the eigenvalues of K.

    Returns
    -------
    float

    Examples
    --------
    >>> online_effective_dimension(np.eye(4), kernel="precomputed", ridge=1.0)
    2.0
    """
    scores = online_leverage_scores(X, kernel=kernel, kernel_params=kernel_params, ridge=ridge)
    return float(scores.sum())


def estimate_leverage(
    kernel: Kernel,
    points: np.ndarray,
    landmarks: np.ndarray,
    weights: np.ndarray,
    *,
    ridge: float,
    epsilon: float = 0.0,
    n_inexact: int = 1,
    side: Literal["under", "over"] = "under",
) -> np.ndarray:
    """Estimate the ridge leverage scores of points from a dictionary, as lower or upper bounds.

    They are bounds if the dictionary is as accurate as `epsilon` says.

    Parameters
    ----------
    kernel : Kernel
        As returned by `as_kernel`.
    points, landmarks : ndarray
        Rows that the kernel takes.
    weights : ndarray
        s_i > 0 of the landmarks.
    ridge : float
        g > 0.
    epsilon : float
        Accuracy of each of the dictionaries whose union the landmarks are.
    n_inexact : int
        Number of these dictionaries that are not exact.
    side : {"under", "over"}
        Lower or upper bounds.

    Returns
    -------
    ndarray
        One score per point.

    Examples
    --------
    The dictionary of all points with weight 1 is exact:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> two = np.ones((2, 1))
    >>> estimate_leverage(as_kernel("linear"), two, two, np.ones(2), ridge=1.0).round(3)
    array([0.333, 0.333])
    """
    g = merged_ridge(ridge, epsilon, n_inexact=n_inexact)
    e = epsilon if n_inexact else 0.0
    factor_of_side = {"under": 1 - e, "over": 1 + (2 * n_inexact - 1) * e}[side]
    diagonal = kernel.diag(points)
    # Without landmarks, a point is compared with the ridge alone.
    if not len(landmarks):
        return factor_of_side * diagonal / g
    raw = (diagonal - _explained(kernel, points, landmarks, weights, g)) / g
    # Below this, the difference is rounding error; a score of 0 would never be sampled.
    lowest = np.finfo(np.float64).eps * diagonal / g
    return factor_of_side * np.maximum(raw, lowest)


def matrix_leverage(K: np.ndarray, ridge: float) -> np.ndarray:
    """Return the exact scores of a kernel matrix: with L L' = K + g I, 1 - g |L^-1 e_i|^2.

    >>> matrix_leverage(np.array([[2.0]]), 1.0).round(3)
    array([0.667])
    """
    scores = 1 - ridge * inverse_diagonal(cholesky(K, ridge))
    # A score that is 0 by rounding would be a probability of 0, whose weight is infinite.
    return np.clip(scores, np.finfo(np.float64).eps, 1.0)


def landmark_leverage(gram: np.ndarray, weights: np.ndarray, *, ridge: float) -> np.ndarray:
    """Return s_i raw_i of the landmarks from their kernel matrix: the scores of K_hat, in [0, 1].

    >>> landmark_leverage(np.ones((1, 1)), np.array([2.0]), ridge=1.0).round(3)
    array([0.667])
    """
    return matrix_leverage(weighted_gram(gram, weights), ridge)


def weighted_gram(gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return K_hat = W^1/2 K_II W^1/2.

    >>> weighted_gram(np.ones((2, 2)), np.array([4.0, 1.0]))
    array([[4., 2.],
           [2., 1.]])
    """
    root = np.sqrt(weights)
    return root[:, None] * gram * root


def auto_ridge(gram: np.ndarray, n_landmarks: int) -> float:
    """Return the ridge that suits a number of landmarks, from a (weighted) kernel matrix.

    It is the ridge at which the effective dimension is a quarter of the number of landmarks.

    >>> round(auto_ridge(np.eye(4), 4), 6)
    3.0
    """
    return ridge_for_dimension(np.linalg.eigvalsh(gram), n_landmarks / LANDMARKS_PER_DIMENSION)


def ridge_for_dimension(eigenvalues: np.ndarray, dimension: float) -> float:
    """Return the ridge g at which sum_j lam_j / (lam_j + g) is `dimension`.

    >>> round(ridge_for_dimension(np.ones(4), 1.0), 6)
    3.0
    """
    # Smaller eigenvalues are rounding errors.
    lam = eigenvalues[eigenvalues > 1e-13 * eigenvalues.max(initial=0.0)]
    if lam.size <= dimension:
        return float(max(lam.min(initial=1.0), np.finfo(np.float64).tiny))
    # At the lower end every term is almost 1; at the upper end the sum is below sum(lam) / g.
    low = np.log(1e-6 * lam.min())
    high = np.log(lam.sum() / dimension)
    root = brentq(lambda log_g: np.sum(lam / (lam + np.exp(log_g))) - dimension, low, high)
    return float(np.exp(root))


def rho(epsilon: float, *, n_inexact: int = 1) -> float:
    """Return the factor within which the bounds of the scores are.

    >>> rho(0.5), rho(0.5, n_inexact=2), rho(0.5, n_inexact=0)
    (3.0, 5.0, 1.0)
    """
    if n_inexact == 0:
        return 1.0
    return (1 + (2 * n_inexact - 1) * epsilon) / (1 - epsilon)


def merged_ridge(ridge: float, epsilon: float, *, n_inexact: int = 1) -> float:
    """Return g', the ridge in the estimates from a union of `n_inexact` inexact dictionaries.

    >>> merged_ridge(2.0, 0.5, n_inexact=1), merged_ridge(2.0, 0.5, n_inexact=2)
    (2.0, 3.0)
    """
    return ridge if n_inexact == 0 else (1 + (n_inexact - 1) * epsilon) * ridge


def kernel_matrix(X: ArrayLike, kernel: KernelLike, kernel_params: KernelParams) -> np.ndarray:
    """Return K of the rows of X; with kernel="precomputed", X itself.

    >>> kernel_matrix([[1.0], [2.0]], "linear", None)
    array([[1., 2.],
           [2., 4.]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise InputError(f"X has shape {X.shape}; give a matrix with a row for every point")
    k, points = bind(kernel, kernel_params, X)
    return k(points, points)


def _explained(kernel, points, landmarks, weights, ridge):
    """Return k_I(x)' (K_II + g' W^-1)^-1 k_I(x) of every point."""
    root = np.sqrt(weights)
    factor = cholesky(weighted_gram(kernel(landmarks, landmarks), weights), ridge)
    explained = np.empty(len(points))
    for part in row_chunks(len(points), len(landmarks)):
        v = np.asfortranarray((kernel(points[part], landmarks) * root).T)
        v = blas.dtrsm(1.0, factor, v, lower=1, overwrite_b=1)
        explained[part] = np.einsum("ij,ij->j", v, v)
    return explained
