"""How accurate a dictionary is: the epsilon of its (epsilon, gamma)-accuracy, measured.

A dictionary with weights s (zero for points that are not in it) is (e, g)-accurate when

    (1 - e) Phi Phi' - e g I  <=  Phi diag(s) Phi'  <=  (1 + e) Phi Phi' + e g I,

that is, when the eigenvalues of C (I - diag(s)) C, C^2 = K (K + g I)^-1, lie in [-e, e] [C17,
Definition 2.6 and Lemma 2.10]. With any K = Z Z' they are those of the pencil

    Z' (I - diag(s)) Z,     Z' Z + g I,

of the size of the rank of K, not of the number of points. Z comes from a Cholesky factorization
with random pivots [CETW25], stopped when what is left of the trace is `_REST` of the ridge.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CETW25] Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky. Comm. Pure Appl. Math. 78, 2025.
"""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

__all__ = ["accuracy_range", "cholesky_features"]

_REST = 1e-6  # share of the ridge; moves the eigenvalues by about its root
_BLOCK = 200
_SEED = 804_611_237  # pivots are random, the result is not: any pivots give the same pencil


def accuracy_range(kernel, points, indices, weights, *, ridge):
    """Smallest and largest eigenvalue of C (I - diag(s)) C; the accuracy is the larger modulus.

    The largest is what is missing, at most 1; minus the smallest is what weighs too much.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> one = np.ones((1, 1))     # weight 3 for 1, where C^2 is 1/2
    >>> accuracy_range(as_kernel("linear"), one, np.array([0]), np.array([3.0]), ridge=1.0)
    (-1.0, -1.0)
    """
    missing = np.ones(len(points))
    missing[indices] -= weights
    Z = cholesky_features(kernel, points, rest=_REST * ridge)
    lost = (Z * missing[:, None]).T @ Z
    whole = Z.T @ Z
    whole[np.diag_indices_from(whole)] += ridge
    if not Z.shape[1]:
        return 0.0, 0.0
    values = scipy.linalg.eigh(lost, whole, eigvals_only=True)
    return float(values[0]), float(values[-1])


def cholesky_features(kernel, points, *, rest):
    """Z with Z Z' = K up to a trace of `rest`, from as few columns of K as that takes.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> cholesky_features(as_kernel("linear"), np.ones((5, 3)), rest=1e-9).shape
    (5, 1)
    """
    rng = np.random.default_rng(_SEED)
    residual = np.array(kernel.diag(points), dtype=np.float64)
    tolerance = max(1e-14 * residual.max(initial=0.0), 0.5 * rest / len(points))
    parts, used = [np.zeros((len(points), 0))], np.zeros(len(points), dtype=bool)
    while residual.sum() > rest:
        share = residual / residual.sum()
        size = min(_BLOCK, np.count_nonzero(share))
        block = rng.choice(len(points), size=size, replace=False, p=share)
        column = kernel(points, points[block])
        for part in parts:
            column -= part @ part[block].T
        factor, order, rank, _ = lapack.dpstrf(column[block], lower=1, tol=tolerance)
        if rank == 0:
            break
        kept = order[:rank] - 1
        factor = factor[:rank, :rank]
        parts.append(scipy.linalg.solve_triangular(factor, column[:, kept].T, lower=True).T)
        used[block] = True  # the rest of the block depends on what was kept
        residual -= np.einsum("ij,ij->i", parts[-1], parts[-1])
        residual[used | (residual < tolerance)] = 0.0
    return np.hstack(parts)
