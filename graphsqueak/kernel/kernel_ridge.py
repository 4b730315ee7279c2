"""Full kernel ridge regression, (K + lam I) c = y, by conjugate gradients with a preconditioner.

No point is left out and no matrix of all pairs need exist: a step asks for the kernel values in
blocks of rows, half of n^2 by symmetry, and keeps vectors only. How many steps it takes is a matter
of the preconditioner. With F F' from randomly pivoted Cholesky (`pivots`), of rank m,

    (F F' + lam I)^-1 = (I - F (F'F + lam I)^-1 F') / lam,

which costs O(n m) a step after O(n m^2); once the rest, trace(K - F F'), is about lam, the number
of steps is a constant [DEFTW23].

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
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.kernel.kernels import (
    CHUNK_ENTRIES,
    KernelLike,
    KernelParams,
    bind,
    row_chunks,
)
from graphsqueak.kernel.pivots import draw_pivots
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["KernelRidge"]

_HELD = 2**26  # entries of K that are kept in memory: 512 MiB; more are evaluated at every step


@dataclass(kw_only=True, eq=False, repr=False)
class KernelRidge(RegressorMixin, BaseEstimator):
    """Kernel ridge regression on all points.

    Parameters
    ----------
    alpha : float
        lam > 0, in the units of the eigenvalues of K.
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `predict` rows of
        kernel values to all training points.
    preconditioner : {"rp-cholesky"} or None
        None: plain conjugate gradients, for comparison.
    n_components : int, optional
        m, the rank of the preconditioner; default: 10 n^1/2, at most 2000.
    tol : float
        |y - (K + lam I) c| / |y| at which to stop.
    max_iter : int
        Steps after which to stop all the same, with a warning.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    dual_coef_ : ndarray
        c.
    n_iter_ : int
        Steps taken, the most over the targets.

    Examples
    --------
    For the linear kernel it is ridge regression, here x.y / (x.x + alpha) = 10 / 15:

    >>> X, y = np.array([[1.0], [3.0]]), np.array([1.0, 3.0])
    >>> KernelRidge(alpha=5.0, kernel="linear", random_state=7).fit(X, y).predict([[3.0]])
    array([2.])
    """

    alpha: float = 1.0
    kernel: KernelLike = "rbf"
    kernel_params: KernelParams = None
    preconditioner: Literal["rp-cholesky"] | None = "rp-cholesky"
    n_components: int | None = None
    tol: float = 1e-6
    max_iter: int = 500
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Solve for the weights of all rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : array of shape (n,) or (n, targets)
        """
        alpha = check_real("alpha", self.alpha, above=0.0)
        tol = check_real("tol", self.tol, above=0.0, below=1.0)
        steps = check_count("max_iter", self.max_iter)
        rows, targets = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True
        )
        kernel, points = bind(self.kernel, self.kernel_params, rows)
        self._keep(kernel, points)
        times = _product(kernel, points)
        n = len(points)
        whole = LinearOperator((n, n), matvec=lambda v: times(v) + alpha * v)
        inverse = self._inverse(kernel, points, alpha)
        columns, taken = targets.reshape(n, -1).astype(np.float64), []
        weights = np.empty(columns.shape)
        for j, column in enumerate(columns.T):
            count = [0]

            def tick(_, count=count):
                count[0] += 1

            weights[:, j], stopped = cg(
                whole, column, rtol=tol, maxiter=steps, M=inverse, callback=tick
            )
            taken.append(count[0])
            if stopped:
                warnings.warn(
                    f"{steps} steps did not reach tol={tol:g}; raise n_components or max_iter",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        self.dual_coef_ = weights[:, 0] if targets.ndim == 1 else weights
        self.n_iter_ = max(taken)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predictions for the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n,) or (n, targets)
        """
        check_is_fitted(self)
        return self._values(validate_data(self, X, dtype=np.float64, reset=False))

    def _keep(self, kernel, points):
        """What predictions need; of a kernel matrix, nothing."""
        self._kernel, self._points = (None, None) if self._precomputed() else (kernel, points)

    def _values(self, rows):
        if self._precomputed():
            return rows @ self.dual_coef_
        out = np.empty((len(rows), *self.dual_coef_.shape[1:]))
        for part in row_chunks(len(rows), len(self._points)):
            out[part] = self._kernel(rows[part], self._points) @ self.dual_coef_
        return out

    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _inverse(self, kernel, points, alpha):
        """v -> (F F' + lam I)^-1 v."""
        if self.preconditioner is None:
            return None
        check_choice("preconditioner", self.preconditioner, ("rp-cholesky",))
        n, m = len(points), self.n_components
        m = min(int(10 * np.sqrt(n)), 2000) if m is None else check_count("n_components", m)
        rng = np.random.default_rng(self.random_state)
        F = draw_pivots(kernel, points, min(m, n), rng=rng).factor
        gram = F.T @ F
        gram[np.diag_indices_from(gram)] += alpha
        factor = scipy.linalg.cho_factor(gram, lower=True)
        return LinearOperator(
            (n, n), matvec=lambda v: (v - F @ scipy.linalg.cho_solve(factor, F.T @ v)) / alpha
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.pairwise = self._precomputed()
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_coef_")


def _product(kernel, points, *, held=_HELD, entries=CHUNK_ENTRIES):
    """v -> K v; K is made once if there is room for it, else at every call, in blocks of rows.

    A block holds the values from its diagonal on, and stands for those below by symmetry.
    """
    n = len(points)
    if n * n <= held:
        K = kernel(points, points)
        return lambda v: K @ v

    def times(v):
        out = np.zeros(n)
        for part in row_chunks(n, n, most_entries=entries):
            values = kernel(points[part], points[part.start :])
            out[part] += values @ v[part.start :]
            out[part.stop :] += v[part] @ values[:, part.stop - part.start :]
        return out

    return times
