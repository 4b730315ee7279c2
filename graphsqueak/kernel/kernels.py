"""Kernels: scikit-learn's names, any positive semi-definite function, or a matrix.

Everything here is turned into one kind of object, k(X, Y) for a block of the kernel matrix and
k.diag(X) for its diagonal, which is also what `sklearn.gaussian_process.kernels` offers. Blocks are
asked for in chunks of rows, so that an n x n matrix never exists unless somebody asks for it.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.validation import check_real

__all__ = [
    "CHUNK_ENTRIES",
    "Kernel",
    "KernelLike",
    "KernelParams",
    "as_kernel",
    "bind",
    "gaussian_gamma",
    "row_chunks",
]

CHUNK_ENTRIES = 2**22  # of a block of kernel values: 32 MiB
_NAMES = ("rbf", "gaussian", "laplacian", "linear", "poly", "polynomial", "cosine", "chi2")
_NOT_PSD = ("sigmoid", "additive_chi2")


class Kernel(Protocol):
    """A positive semi-definite kernel, evaluated in blocks."""

    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """The block of the kernel matrix with a row for each of X and a column for each of Y."""

    def diag(self, X: np.ndarray) -> np.ndarray:
        """k(x, x) of every row of X."""


KernelLike: TypeAlias = str | Callable[..., Any] | Kernel  # what users write
KernelParams: TypeAlias = Mapping[str, Any] | None


def as_kernel(kernel: KernelLike = "rbf", kernel_params: KernelParams = None) -> Kernel:
    """An object k with k(X, Y) and k.diag(X), from what a user writes.

    Parameters
    ----------
    kernel : str, callable or object with `diag`
        A name of `sklearn.metrics.pairwise.pairwise_kernels` ("rbf", "laplacian", "linear",
        "poly", "cosine", "chi2"); "gaussian" is "rbf". A plain function takes two rows and returns
        a number, as in scikit-learn. An object that has `diag` takes two matrices.
    kernel_params : dict, optional
        scikit-learn's: gamma, degree, coef0. For the Gaussian also `bandwidth`, the sigma of
        exp(-|x - y|^2 / (2 sigma^2)); gamma is 1 / (2 sigma^2).

    Returns
    -------
    Kernel

    Examples
    --------
    >>> k = as_kernel("gaussian", {"bandwidth": 2.0})
    >>> points = np.array([[0.0], [4.0]])
    >>> k(points, points[:1])       # 1 and exp(-16 / 8)
    array([[1.        ],
           [0.13533528]])
    >>> as_kernel("linear").diag(points)
    array([ 0., 16.])
    """
    params = dict(kernel_params or {})
    if isinstance(kernel, str):
        return _Named(*_resolve(kernel, params))
    if hasattr(kernel, "diag") and callable(kernel):
        if params:
            raise InputError("kernel_params go with a name or a function, not a kernel object")
        return kernel
    if callable(kernel):
        return _Pairwise(kernel, params)
    raise InputError(Parameter("kernel", kernel), " is neither a name nor a function")


def bind(
    kernel: KernelLike, kernel_params: KernelParams, X: np.ndarray
) -> tuple[Kernel, np.ndarray]:
    """The kernel, and the points it takes, for data as a user hands it in.

    For kernel="precomputed" X is the kernel matrix itself, and the points are row numbers.
    """
    if not (isinstance(kernel, str) and kernel == "precomputed"):
        return as_kernel(kernel, kernel_params), X
    if kernel_params:
        raise InputError(Parameter("kernel", "precomputed"), " takes no kernel_params")
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise InputError(f"a precomputed kernel matrix is square, not of shape {X.shape}")
    if np.abs(X - X.T).max(initial=0.0) > 1e-8 * np.abs(X).max(initial=0.0):
        raise InputError("the precomputed kernel matrix is not symmetric; give (K + K.T) / 2")
    return _Precomputed(X), np.arange(X.shape[0])[:, None]


def gaussian_gamma(kernel_params: KernelParams, n_features: int) -> float:
    """The gamma of the Gaussian kernel with these parameters; by default 1 / n_features.

    >>> gaussian_gamma({"bandwidth": 2.0}, 3), gaussian_gamma(None, 4)
    (0.125, 0.25)
    """
    gamma = _resolve("rbf", dict(kernel_params or {}))[1].get("gamma")
    return 1 / n_features if gamma is None else gamma


def row_chunks(n_rows: int, n_columns: int, *, most_entries: int = CHUNK_ENTRIES) -> list[slice]:
    """Slices of rows, so that a block of n_columns values per row has at most `most_entries`.

    >>> [(part.start, part.stop) for part in row_chunks(5, 2**21)]
    [(0, 2), (2, 4), (4, 5)]
    """
    step = max(most_entries // max(n_columns, 1), 1)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def _resolve(name, params):
    """The name and parameters in scikit-learn's own terms."""
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    if name in _NOT_PSD:
        raise InputError(
            Parameter("kernel", name),
            " is not positive semi-definite, so it has no leverage scores; use 'chi2' or 'rbf'",
        )
    if name not in _NAMES:
        raise InputError(
            Parameter("kernel", name), f" is not one of {', '.join(_NAMES)}, 'precomputed'"
        )
    name = "rbf" if name == "gaussian" else name
    if name == "rbf" and params.get("bandwidth") is not None:
        if params.get("gamma") is not None:
            raise InputError("give bandwidth or gamma, not both: gamma = 1 / (2 bandwidth^2)")
        bandwidth = check_real("bandwidth", params.pop("bandwidth"), above=0.0)
        params["gamma"] = 0.5 / bandwidth**2
    allowed = list(inspect.signature(PAIRWISE_KERNEL_FUNCTIONS[name]).parameters)[2:]
    unknown = sorted(set(params).difference(allowed))
    if unknown:
        raise InputError(f"kernel {name!r} has no parameter {unknown[0]!r}; it has {allowed}")
    return name, params


class _Named:
    """A kernel of `sklearn.metrics.pairwise`."""

    def __init__(self, name, params):
        self.name, self.params = name, params

    def __call__(self, X, Y=None):
        from sklearn import config_context
        from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

        Y = X if Y is None else Y
        if not len(X) or not len(Y):
            return np.zeros((len(X), len(Y)))
        with config_context(assume_finite=True):
            return PAIRWISE_KERNEL_FUNCTIONS[self.name](X, Y, **self.params)

    def diag(self, X):
        if self.name in ("rbf", "laplacian", "chi2"):
            return np.ones(X.shape[0])
        squares = np.einsum("ij,ij->i", X, X)
        if self.name == "cosine":
            return (squares > 0).astype(np.float64)
        if self.name == "linear":
            return squares
        gamma = self.params.get("gamma")
        gamma = 1.0 / X.shape[1] if gamma is None else gamma
        return (gamma * squares + self.params.get("coef0", 1)) ** self.params.get("degree", 3)


class _Pairwise:
    """A user's function of two rows."""

    def __init__(self, function, params):
        self.function, self.params = function, params

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        values = [[self.function(x, y, **self.params) for y in Y] for x in X]
        return np.array(values, dtype=np.float64).reshape(X.shape[0], Y.shape[0])

    def diag(self, X):
        return np.array([self.function(x, x, **self.params) for x in X], dtype=np.float64)


class _Precomputed:
    """A kernel matrix; a point is its row number, as an array of one column."""

    def __init__(self, matrix):
        self.matrix = matrix

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        return self.matrix[np.ix_(X[:, 0], Y[:, 0])]

    def diag(self, X):
        return self.matrix[X[:, 0], X[:, 0]]
