"""Ridge leverage scores, how much each point matters to a kernel matrix: exact, and estimated.

For a kernel matrix K with eigenvalues lam_j, eigenvectors U and a ridge g > 0,

    tau_i(g) = [K (K + g I)^-1]_ii = sum_j lam_j / (lam_j + g) U_ij^2,     d_eff(g) = sum_i tau_i,

[AM15], [C17, Definition 2.7]; [C17, Eq. 2.12] prints U_ij for its square. In a stream only earlier
points are known: with s_t = (k_tt - k_t' (K_{t-1} + g I)^-1 k_t) / g,

    tau_{t,t} = s_t / (1 + s_t),     d_onl(g) = sum_t tau_{t,t},

    d_eff <= d_onl <= logdet(I + K / g) <= d_eff (1 + log(1 + |K| / g)).

All of it costs O(n^3) time and an n x n matrix. Samplers estimate the scores from a dictionary, a
few points (atoms) x_i with weights s_i, W = diag(s). With g' >= g,

    raw(x) = (k(x, x) - k_I(x)' (K_II + g' W^-1)^-1 k_I(x)) / g',

the variance of a Gaussian process with noise g' / s_i at atom i, over g' [C17, Eq. 3.2 to 3.5]. It
costs O(m^2) a point after one Cholesky factorization. For an atom of the dictionary itself, with
K_hat = W^1/2 K_II W^1/2, the form without cancellation is

    raw_i = (1 - g' [(K_hat + g' I)^-1]_ii) / s_i.

Let e be the accuracy of the dictionary. When it is a union of dictionaries of which k are inexact,
each (e, g)-accurate for its part (raw points are exact and do not count), take

    g' = (1 + (k - 1) e) g,    under-estimate (1 - e) raw,    over-estimate (1 + (2k - 1) e) raw,

and g' = g and raw itself for k = 0. Both are within a factor rho = (1 + (2k - 1) e) / (1 - e) of
tau, on their side. [CLV17, Eq. 5] has 1 / g for 1 / g', and the thesis (1 + (k n - 1) e) for a
k-way merge; see docs/errata.md.

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

from graphsqueak.errors import InputError
from graphsqueak.kernel.cholesky import cholesky, inverse_diagonal
from graphsqueak.kernel.kernels import (
    CHUNK_ENTRIES,
    Kernel,
    KernelLike,
    KernelParams,
    bind,
    row_chunks,
)
from graphsqueak.validation import check_real

__all__ = [
    "atom_leverage",
    "effective_dimension",
    "estimate_leverage",
    "kernel_matrix",
    "leverage_scores",
    "merged_ridge",
    "online_effective_dimension",
    "online_leverage_scores",
    "rho",
]


def leverage_scores(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float | Sequence[float] = 1.0,
) -> np.ndarray:
    """tau_i(ridge) of every row of X; for a sequence of ridges, one row of scores each.

    With L L' = K + g I, tau_i = 1 - g |L^-1 e_i|^2. Several ridges share one eigendecomposition.

    Parameters
    ----------
    X : array of shape (n, d)
        Points; with kernel="precomputed", their kernel matrix.
    kernel, kernel_params
        See `as_kernel`.
    ridge : float or sequence of float
        g > 0.

    Returns
    -------
    ndarray of shape (n,), or (ridges, n)

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
        g = check_real("ridge", ridge, above=0.0)
        return np.clip(1 - g * inverse_diagonal(cholesky(K, g)), 0.0, 1.0)
    ridges = np.array([check_real("ridge", g, above=0.0) for g in np.atleast_1d(ridge)])
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
    """d_eff(ridge), the sum of the leverage scores: at most the rank of K and trace(K) / ridge.

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
    """tau_{t,t}(ridge): the score of each row among the rows up to it.

    The t-th pivot of the Cholesky factor of K + g I is g (1 + s_t), so one factorization has all.

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
    >>> twice = np.ones((2, 1))     # the second copy is half as surprising
    >>> online_leverage_scores(twice, kernel="linear", ridge=1.0).round(3)
    array([0.5  , 0.333])
    """
    g = check_real("ridge", ridge, above=0.0)
    pivot = np.diagonal(cholesky(kernel_matrix(X, kernel, kernel_params), g)) ** 2
    return np.clip(1 - g / pivot, 0.0, 1.0)


def online_effective_dimension(
    X: ArrayLike,
    *,
    kernel: KernelLike = "rbf",
    kernel_params: KernelParams = None,
    ridge: float = 1.0,
) -> float:
    """d_onl(ridge), the sum of the online leverage scores.

    It is at most 2 d_eff log(2 n / g) for a unit diagonal and n / g >= 1.24; [C17, Lemma 3.9] has
    2 d_eff log(n / g), which fails for n / g < 3.5 (see docs/errata.md).

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
    atoms: np.ndarray,
    weights: np.ndarray,
    *,
    ridge: float,
    epsilon: float = 0.0,
    n_inexact: int = 1,
    side: Literal["under", "over"] = "under",
) -> np.ndarray:
    """Estimated tau(ridge) of `points`, on one side of the truth if `epsilon` is the accuracy.

    Parameters
    ----------
    kernel : object with k(X, Y) and k.diag(X)
        As `as_kernel` makes it.
    points, atoms : ndarray
        Rows that the kernel takes.
    weights : ndarray
        s_i > 0 of the atoms.
    ridge : float
        g > 0.
    epsilon : float
        Accuracy of each of the dictionaries that the atoms are the union of.
    n_inexact : int
        How many of those are not exact.
    side : {"under", "over"}
        Which bound of the scores to give.

    Returns
    -------
    ndarray
        A score for every point.

    Examples
    --------
    A dictionary of all points with weight 1 is exact:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> two = np.ones((2, 1))
    >>> estimate_leverage(as_kernel("linear"), two, two, np.ones(2), ridge=1.0).round(3)
    array([0.333, 0.333])
    """
    g = merged_ridge(ridge, epsilon, n_inexact=n_inexact)
    e = epsilon if n_inexact else 0.0
    factor_of_side = {"under": 1 - e, "over": 1 + (2 * n_inexact - 1) * e}[side]
    diagonal = kernel.diag(points)
    if not len(atoms):
        return factor_of_side * diagonal / g
    raw = (diagonal - _explained(kernel, points, atoms, np.sqrt(weights), g)) / g
    lowest = np.finfo(np.float64).eps * diagonal / g  # what cancellation may have eaten
    return factor_of_side * np.maximum(raw, lowest)


def atom_leverage(gram: np.ndarray, weights: np.ndarray, *, ridge: float) -> np.ndarray:
    """s_i raw_i of a dictionary's own atoms, from their kernel matrix: scores of K_hat, in [0, 1].

    >>> atom_leverage(np.ones((1, 1)), np.array([2.0]), ridge=1.0).round(3)
    array([0.667])
    """
    root = np.sqrt(weights)
    factor = cholesky(root[:, None] * gram * root, ridge)
    scores = 1 - ridge * inverse_diagonal(factor)
    floor = np.finfo(np.float64).eps
    return np.clip(scores, floor, 1.0)


def rho(epsilon: float, *, n_inexact: int = 1) -> float:
    """The factor within which the estimates of this family lie of the true scores.

    >>> rho(0.5), rho(0.5, n_inexact=2), rho(0.5, n_inexact=0)
    (3.0, 5.0, 1.0)
    """
    if n_inexact == 0:
        return 1.0
    return (1 + (2 * n_inexact - 1) * epsilon) / (1 - epsilon)


def merged_ridge(ridge: float, epsilon: float, *, n_inexact: int = 1) -> float:
    """g', the ridge at which a union of `n_inexact` inexact dictionaries is looked at.

    >>> merged_ridge(2.0, 0.5, n_inexact=1), merged_ridge(2.0, 0.5, n_inexact=2)
    (2.0, 3.0)
    """
    return ridge if n_inexact == 0 else (1 + (n_inexact - 1) * epsilon) * ridge


def kernel_matrix(X: ArrayLike, kernel: KernelLike, kernel_params: KernelParams) -> np.ndarray:
    """K of the rows of X; with kernel="precomputed", X itself.

    >>> kernel_matrix([[1.0], [2.0]], "linear", None)
    array([[1., 2.],
           [2., 4.]])
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise InputError(f"X has shape {X.shape}; give a matrix with a row for every point")
    k, points = bind(kernel, kernel_params, X)
    return k(points, points)


def _explained(kernel, points, atoms, root, ridge, *, most_entries=CHUNK_ENTRIES):
    """k_I(x)' (K_II + g' W^-1)^-1 k_I(x) of every point; `root` is W^1/2."""
    out = np.empty(len(points))
    factor = cholesky(root[:, None] * kernel(atoms, atoms) * root, ridge)
    for part in row_chunks(len(points), len(atoms), most_entries=most_entries):
        v = np.asfortranarray((kernel(points[part], atoms) * root).T)
        v = blas.dtrsm(1.0, factor, v, lower=1, overwrite_b=1)
        out[part] = np.einsum("ij,ij->j", v, v)
    return out
