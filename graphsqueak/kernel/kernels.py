"""Kernels: scikit-learn's names, any positive semi-definite function, or a matrix.

`as_kernel` turns each of them into an object with two methods, k(X, Y) for a block of the kernel
matrix and k.diag(X) for its diagonal. The kernels of `sklearn.gaussian_process.kernels` already
have both. Callers evaluate blocks of rows (`row_chunks`), so that the n x n matrix is only built
where an algorithm needs all of it.

`KernelEstimator` is the base of all estimators that take `kernel` and `kernel_params`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from graphsqueak.errors import InputError, Parameter
from graphsqueak.validation import check_real

# Kernel values per block: 32 MiB. It bounds memory only, results do not depend on it. Halved or
# doubled, so is this memory.
CHUNK_ENTRIES = 2**22
# Points of a stream, or pivots, whose kernel values are computed in one call; for m landmarks or
# support points they take 8 (m + 256) bytes each. Halved, `BPAS` and `ProjectronPP` take 10 to 20 %
# longer; doubled, `KORS` takes 5 to 10 % and `BOGD` 30 to 50 % longer. Results are the same.
POINTS_PER_BLOCK = 256
# In scikit-learn, but without leverage scores: their matrices have negative eigenvalues.
_INDEFINITE = {"sigmoid", "additive_chi2"}


class Kernel(Protocol):
    """A positive semi-definite kernel, evaluated in blocks."""

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the block of the kernel matrix with rows for X and columns for Y."""

    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x, x) of every row of X."""


# The forms in which users give a kernel.
KernelLike: TypeAlias = str | Callable[..., Any] | Kernel
KernelParams: TypeAlias = Mapping[str, Any] | None


@dataclass(kw_only=True, eq=False, repr=False)
class KernelEstimator(BaseEstimator):
    """Base of the estimators that have a kernel; kernel="precomputed" takes kernel matrices."""

    kernel: KernelLike = "rbf"
    kernel_params: KernelParams = None

    def _is_precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        return tags


def as_kernel(kernel: KernelLike = "rbf", kernel_params: KernelParams = None) -> Kernel:
    """Return an object k with k(X, Y) and k.diag(X).

    Parameters
    ----------
    kernel : str, callable or object with `diag`
        A name of `sklearn.metrics.pairwise.pairwise_kernels` ("rbf", "laplacian", "linear",
        "poly", "cosine", "chi2"); "gaussian" is "rbf". A plain function takes two rows and returns
        a number, as in scikit-learn. An object that has `diag` takes two matrices.
    kernel_params : dict, optional
        scikit-learn's parameters: gamma, degree, coef0. The Gaussian kernel also takes `bandwidth`,
        the sigma of exp(-|x - y|^2 / (2 sigma^2)); gamma is 1 / (2 sigma^2).

    Returns
    -------
    Kernel

    Examples
    --------
    The kernel values are 1 and exp(-16 / 8):

    >>> k = as_kernel("gaussian", {"bandwidth": 2.0})
    >>> points = np.array([[0.0], [4.0]])
    >>> k(points, points[:1])
    array([[1.        ],
           [0.13533528]])
    >>> as_kernel("linear").diag(points)
    array([ 0., 16.])
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str):
        return NamedKernel(*_resolve(kernel, params))
    if hasattr(kernel, "diag") and callable(kernel):
        if params:
            raise InputError("kernel_params go with a name or a function, not a kernel object")
        return kernel
    if callable(kernel):
        return _FunctionKernel(kernel, params)
    raise InputError(Parameter("kernel", kernel), " is neither a name nor a function")


def bind(
    kernel: KernelLike, kernel_params: KernelParams, X: np.ndarray
) -> tuple[Kernel, np.ndarray]:
    """Return the kernel object and the points that it takes, for the data of a user.

    For kernel="precomputed", X is the kernel matrix and the points are row numbers.

    >>> kernel, points = bind("precomputed", None, np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> points.ravel(), kernel(points[:1], points)
    (array([0, 1]), array([[2., 1.]]))
    """
    if not (isinstance(kernel, str) and kernel == "precomputed"):
        return as_kernel(kernel, kernel_params), X
    if kernel_params:
        raise InputError(Parameter("kernel", "precomputed"), " takes no kernel_params")
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise InputError(f"a precomputed kernel matrix is square, not of shape {X.shape}")
    # Symmetric up to the rounding of a product X @ X.T.
    if np.abs(X - X.T).max(initial=0.0) > 1e-8 * np.abs(X).max(initial=0.0):
        raise InputError("the precomputed kernel matrix is not symmetric; give (K + K.T) / 2")
    return _PrecomputedKernel(X), np.arange(X.shape[0])[:, None]


def row_chunks(n_rows: int, n_columns: int, *, most_entries: int = CHUNK_ENTRIES) -> list[slice]:
    """Return slices of rows; a block of n_columns values per row has at most `most_entries`.

    >>> [(part.start, part.stop) for part in row_chunks(5, 2**21)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(most_entries // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _resolve(name, params):
    """Return the name and the parameters under which scikit-learn knows a kernel."""
    # Slow to import, and not needed for other kinds of kernels.
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if name in _INDEFINITE:
        raise InputError(
            Parameter("kernel", name),
            " is not positive semi-definite, so it has no leverage scores; use 'chi2' or 'rbf'",
        )
    name = "rbf" if name == "gaussian" else name
    if name not in PAIRWISE_KERNEL_FUNCTIONS:
        names = sorted(set(PAIRWISE_KERNEL_FUNCTIONS) - _INDEFINITE)
        raise InputError(
            Parameter("kernel", name), f" is not one of {', '.join(names)}, gaussian, precomputed"
        )
    if name == "rbf" and params.get("bandwidth") is not None:
        if params.get("gamma") is not None:
            raise InputError("give bandwidth or gamma, not both: gamma = 1 / (2 bandwidth^2)")
        bandwidth = check_real("bandwidth", params.pop("bandwidth"), above=0.0)
        params["gamma"] = 0.5 / bandwidth**2
    # The first two parameters are X and Y.
    allowed = list(inspect.signature(PAIRWISE_KERNEL_FUNCTIONS[name]).parameters)[2:]
    unknown = sorted(set(params).difference(allowed))
    if unknown:
        raise InputError(f"kernel {name!r} has no parameter {unknown[0]!r}; it has {allowed}")
    return name, params


class NamedKernel:
    """A kernel of `sklearn.metrics.pairwise`."""

    def __init__(self, name, params):
        self.name = name
        self.params = params

    def __call__(self, X, Y):
        from sklearn import config_context
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        # scikit-learn refuses empty arrays, and the points were already checked by the caller.
        if not len(X) or not len(Y):
            return np.zeros((len(X), len(Y)))
        with config_context(assume_finite=True):
            return PAIRWISE_KERNEL_FUNCTIONS[self.name](X, Y, **self.params)

    def __repr__(self):
        return repr(self.name)

    def gamma(self, n_features):
        """Return the parameter gamma; by default 1 / n_features."""
        gamma = self.params.get("gamma")
        return 1 / n_features if gamma is None else gamma

    def diag(self, X):
        if self.name in ("rbf", "laplacian", "chi2"):
            return np.ones(X.shape[0])
        squares = np.einsum("ij,ij->i", X, X)
        if self.name == "cosine":
            return (squares > 0).astype(np.float64)
        if self.name == "linear":
            return squares
        gamma = self.gamma(X.shape[1])
        return (gamma * squares + self.params.get("coef0", 1)) ** self.params.get("degree", 3)


class _FunctionKernel:
    """A user's function of two rows."""

    def __init__(self, function, params):
        self.function = function
        self.params = params

    def __call__(self, X, Y):
        values = [[self.function(x, y, **self.params) for y in Y] for x in X]
        return np.array(values, dtype=np.float64).reshape(len(X), len(Y))

    def diag(self, X):
        return np.array([self.function(x, x, **self.params) for x in X], dtype=np.float64)


class _PrecomputedKernel:
    """A kernel matrix; a point is its row number, as an array with one column."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, X, Y):
        return self.matrix[np.ix_(X[:, 0], Y[:, 0])]

    def diag(self, X):
        return self.matrix[X[:, 0], X[:, 0]]
