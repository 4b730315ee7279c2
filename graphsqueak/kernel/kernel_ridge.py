"""Kernel ridge regression on all points, by preconditioned conjugate gradients.

The system (K + lam I) c = y is solved without the n x n matrix: a product with K evaluates kernel
values in blocks of rows, half of n^2 by symmetry, and stores only vectors. The preconditioner is
from randomly pivoted Cholesky (`pivots`), K about F F' of rank m:

    (F F' + lam I)^-1 = (I - F (F'F + lam I)^-1 F') / lam.

It takes O(n m) per iteration after O(n m^2). If the rest, trace(K - F F'), is about lam, the number
of iterations is a constant [DEFTW23].

References
----------
[DEFTW23] Diaz, Epperly, Frangella, Tropp, Webber. Robust, randomized preconditioning for kernel
          ridge regression. arXiv 2304.12465, 2023.
"""

import warnings
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.kernel.kernels import CHUNK_ENTRIES, KernelEstimator, bind, row_chunks
from graphsqueak.kernel.pivots import draw_pivots
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count, check_real

# Up to this many entries (512 MiB), K is computed once and kept; otherwise at every iteration. The
# solution is the same up to rounding. Halved or doubled, so is this memory, and the number of
# points from which kernel values are computed again is 5,800 or 11,600 instead of 8,200.
MAX_STORED_ENTRIES = 2**26


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    """Kernel ridge regression on all points.

    Use it for up to some ten thousand points, if the error matters more than the time. In
    contrast to `sklearn.kernel_ridge.KernelRidge`, it does not factorize the kernel matrix, and
    does not store a large one. For more points or for streams, use `NystromRidge`.

    Parameters
    ----------
    alpha : float
        lam > 0, in the units of the eigenvalues of K.
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `predict` rows of
        kernel values to all training points.
    preconditioner : {"rp-cholesky"} or None
        None: conjugate gradients without preconditioner, for comparison.
    preconditioner_rank : int, optional
        Rank m of the preconditioner. Default: 10 n^1/2, at most 2000.
    tol : float
        Largest |y - (K + lam I) c| / |y| of the solution.
    max_iter : int
        Largest number of iterations; there is a warning if `tol` is not reached.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    dual_coef_ : ndarray
        c.
    n_iter_ : int
        Number of iterations, the largest of all targets.

    Examples
    --------
    For the linear kernel it is ridge regression, here x.y / (x.x + alpha) = 10 / 15:

    >>> X, y = np.array([[1.0], [3.0]]), np.array([1.0, 3.0])
    >>> KernelRidge(alpha=5.0, kernel="linear", random_state=7).fit(X, y).predict([[3.0]])
    array([2.])
    """

    alpha: float = 1.0
    preconditioner: Literal["rp-cholesky"] | None = "rp-cholesky"
    preconditioner_rank: int | None = None
    tol: float = 1e-6
    max_iter: int = 500
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Solve for the coefficients of all rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : array of shape (n,) or (n, n_targets)
        """
        alpha = check_real("alpha", self.alpha, above=0.0)
        tol = check_real("tol", self.tol, above=0.0, below=1.0)
        max_iter = check_count("max_iter", self.max_iter)
        rows, targets = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
        )
        kernel, points = bind(self.kernel, self.kernel_params, rows)
        # Predictions with a kernel matrix need nothing of it.
        self._fitted = None if self._is_precomputed() else (kernel, points)
        multiply = kernel_product(kernel, points)
        n_points = len(points)
        shifted = LinearOperator((n_points, n_points), matvec=lambda v: multiply(v) + alpha * v)
        # All targets share K and the preconditioner.
        preconditioner = self._preconditioner(kernel, points, alpha)
        columns = targets.reshape(n_points, -1).astype(np.float64)
        coefficients = np.empty(columns.shape)
        self.n_iter_ = 0
        for j, column in enumerate(columns.T):
            iterates: list[None] = []
            coefficients[:, j], info = cg(
                shifted,
                column,
                rtol=tol,
                maxiter=max_iter,
                M=preconditioner,
                callback=lambda _, iterates=iterates: iterates.append(None),
            )
            self.n_iter_ = max(self.n_iter_, len(iterates))
            if info:
                warnings.warn(
                    f"{max_iter} steps did not reach tol={tol:g}; raise preconditioner_rank or "
                    "max_iter",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        self.dual_coef_ = coefficients[:, 0] if targets.ndim == 1 else coefficients
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return predictions for the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n,) or (n, n_targets)
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        if self._fitted is None:
            return rows @ self.dual_coef_
        kernel, points = self._fitted
        # In blocks of rows: the matrix of all rows and points may be too large.
        predicted = np.empty((len(rows), *self.dual_coef_.shape[1:]))
        for part in row_chunks(len(rows), len(points)):
            predicted[part] = kernel(rows[part], points) @ self.dual_coef_
        return predicted

    def _preconditioner(self, kernel, points, alpha):
        """Return the operator v -> (F F' + lam I)^-1 v."""
        if self.preconditioner is None:
            return None
        check_choice("preconditioner", self.preconditioner, ("rp-cholesky",))
        n_points = len(points)
        rank = min(int(10 * np.sqrt(n_points)), 2000)
        if self.preconditioner_rank is not None:
            rank = check_count("preconditioner_rank", self.preconditioner_rank)
        rng = np.random.default_rng(self.random_state)
        F = draw_pivots(kernel, points, rank, rng=rng).factor
        gram = F.T @ F
        gram[np.diag_indices_from(gram)] += alpha
        factor = scipy.linalg.cho_factor(gram, lower=True)
        return LinearOperator(
            (n_points, n_points),
            matvec=lambda v: (v - F @ scipy.linalg.cho_solve(factor, F.T @ v)) / alpha,
        )

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_coef_")


def kernel_product(kernel, points, *, max_stored=MAX_STORED_ENTRIES, chunk_entries=CHUNK_ENTRIES):
    """Return the function v -> K v, which computes K once or, if it is too large, in every call.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> times = kernel_product(as_kernel("linear"), np.array([[1.0], [2.0]]))
    >>> times(np.array([1.0, 1.0]))
    array([3., 6.])
    """
    n_points = len(points)
    if n_points**2 <= max_stored:
        K = kernel(points, points)
        return lambda v: K @ v

    def multiply(v):
        product = np.zeros(n_points)
        for part in row_chunks(n_points, n_points, most_entries=chunk_entries):
            # Values right of the block on the diagonal stand for those below it, by symmetry.
            values = kernel(points[part], points[part.start :])
            product[part] += values @ v[part.start :]
            product[part.stop :] += v[part] @ values[:, part.stop - part.start :]
        return product

    return multiply
