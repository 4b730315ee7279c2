"""Leverage scores estimated from a dictionary: one family for all samplers.

A dictionary is a few points (atoms) x_i with weights s_i, W = diag(s). With g' >= g,

    raw(x) = (k(x, x) - k_I(x)' (K_II + g' W^-1)^-1 k_I(x)) / g',

the variance of a Gaussian process with noise g' / s_i at atom i, over g' [C17, Eq. 3.2 to 3.5]. It
costs O(m^2) a point after one Cholesky factorization. For an atom of the dictionary itself, with
K_hat = W^1/2 K_II W^1/2, the form without cancellation is

    raw_i = (1 - g' [(K_hat + g' I)^-1]_ii) / s_i.

Let e be the accuracy of the dictionary. When it is a union of dictionaries of which k are inexact,
each (e, g)-accurate for its part (raw points are exact and do not count), take

    g' = (1 + (k - 1) e) g,    under-estimate (1 - e) raw,    over-estimate (1 + (2k - 1) e) raw,

and g' = g and raw itself for k = 0.
Both are within a factor rho = (1 + (2k - 1) e) / (1 - e) of tau, on their side. [CLV17, Eq. 5] has
1 / g for 1 / g', and the thesis (1 + (k n - 1) e) for a k-way merge; see docs/errata.md.

References
----------
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017, Section 3.1.
[CLV17] Calandriello, Lazaric, Valko. Distributed adaptive sampling for kernel matrix
        approximation. AISTATS 2017.
"""

import numpy as np
from scipy.linalg import blas

from graphsqueak.kernel.kernels import row_chunks
from graphsqueak.kernel.leverage import cholesky, inverse_diagonal

__all__ = ["atom_leverage", "estimate_leverage", "merged_ridge", "rho"]


def rho(epsilon, *, n_inexact=1):
    """The factor within which the estimates of this family lie of the true scores.

    >>> rho(0.5), rho(0.5, n_inexact=2), rho(0.5, n_inexact=0)
    (3.0, 5.0, 1.0)
    """
    if n_inexact == 0:
        return 1.0
    return (1 + (2 * n_inexact - 1) * epsilon) / (1 - epsilon)


def merged_ridge(ridge, epsilon, *, n_inexact=1):
    """g', the ridge at which a union of `n_inexact` inexact dictionaries is looked at.

    >>> merged_ridge(2.0, 0.5, n_inexact=1), merged_ridge(2.0, 0.5, n_inexact=2)
    (2.0, 3.0)
    """
    return ridge if n_inexact == 0 else (1 + (n_inexact - 1) * epsilon) * ridge


def estimate_leverage(
    kernel, points, atoms, weights, *, ridge, epsilon=0.0, n_inexact=1, side="under"
):
    """Estimated tau(ridge) of `points`, on one side of the truth if `epsilon` is the accuracy.

    Parameters
    ----------
    kernel : object with k(X, Y) and k.diag(X)
    points, atoms : arrays that the kernel takes
    weights : ndarray
        s_i > 0 of the atoms.
    epsilon : float
        Accuracy of each of the dictionaries that the atoms are the union of.
    n_inexact : int
        How many of those are not exact.
    side : {"under", "over"}

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
    root = np.sqrt(weights)
    raw = np.empty(len(points))
    if not len(atoms):
        return factor_of_side * diagonal / g
    factor = cholesky(root[:, None] * kernel(atoms, atoms) * root, g)
    for part in row_chunks(len(points), len(atoms)):
        v = np.asfortranarray((kernel(points[part], atoms) * root).T)
        v = blas.dtrsm(1.0, factor, v, lower=1, overwrite_b=1)
        raw[part] = (diagonal[part] - np.einsum("ij,ij->j", v, v)) / g
    lowest = np.finfo(np.float64).eps * diagonal / g  # what cancellation may have eaten
    return factor_of_side * np.maximum(raw, lowest)


def atom_leverage(gram, weights, *, ridge):
    """s_i raw_i of a dictionary's own atoms, from their kernel matrix: scores of K_hat, in [0, 1].

    >>> atom_leverage(np.ones((1, 1)), np.array([2.0]), ridge=1.0).round(3)
    array([0.667])
    """
    root = np.sqrt(weights)
    factor = cholesky(root[:, None] * gram * root, ridge)
    scores = 1 - ridge * inverse_diagonal(factor)
    floor = np.finfo(np.float64).eps
    return np.clip(scores, floor, 1.0)
