"""What all dictionaries share: parameters, checks, and accuracy, both promised and measured.

A dictionary is a few of the points (atoms) with weights s_i, such that sum_i s_i phi_i phi_i'
stands for the covariance of all points. Samplers differ in how they score points and when they see
them. With weights s (zero for points that are not in it) a dictionary is (e, g)-accurate when

    (1 - e) Phi Phi' - e g I  <=  Phi diag(s) Phi'  <=  (1 + e) Phi Phi' + e g I,

that is, when the eigenvalues of C (I - diag(s)) C, C^2 = K (K + g I)^-1, lie in [-e, e] [C17,
Definition 2.6 and Lemma 2.10]. With any K = Z Z' they are those of the pencil

    Z' (I - diag(s)) Z,     Z' Z + g I,

of the size of the rank of K, not of the number of points: so they are measured (`accuracy_range`),
Z from a Cholesky factorization that stops when what is left of the trace is `_REST` of the ridge.

Promised they are by the number of copies. An atom is drawn as Binomial(q, p) copies of weight
1 / (q p), and `batch_copies`, `kors_copies`, `squeak_copies` give the q for which a dictionary is
(epsilon, ridge)-accurate with probability 1 - delta; `rho` is the factor by which the scores p may
be too small (see `leverage`). They are the budgets of [C17, Chapter 3] and [CLV17c] as corrected in
docs/errata.md: KORS is a union bound over all steps, so its logarithm has T^2, and the thesis form
pays rho. "practical" keeps rho log(n) / eps^2 and drops the constant: theory budgets keep every
point of a data set of a few thousand.

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import math
import sys
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.cholesky import cholesky_features
from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import Kernel, KernelLike, KernelParams, bind
from graphsqueak.kernel.samplers.atoms import Atoms
from graphsqueak.randomness import RandomState
from graphsqueak.system.frames import ArrowExport
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = [
    "HORIZON",
    "Dictionary",
    "accuracy_range",
    "batch_copies",
    "kors_copies",
    "practical_copies",
    "squeak_copies",
    "squeak_horizon",
    "warn_beyond",
]

HORIZON = 10**6  # points that a guarantee is made for, when nobody says how many will come
_REST = 1e-6  # share of the ridge; moves the eigenvalues by about its root


@dataclass(kw_only=True, eq=False, repr=False)
class Dictionary(ArrowExport, BaseEstimator):
    """Base of the samplers, with the parameters that all have; their own pages explain them.

    A subclass has `fit`, tells its atoms by `_kept_atoms`, and sets `ridge_`, `n_copies_` (None for
    a fixed size) and `n_seen_`.
    """

    kernel: KernelLike = "rbf"
    kernel_params: KernelParams = None
    ridge: float | Literal["auto"] = 1.0
    n_components: int | None = None
    epsilon: float = 0.5
    budget: Literal["practical", "theory"] = "practical"
    delta: float = 0.1
    n_copies: int | None = None
    random_state: RandomState = None

    _fixed_size = True  # n_components is the number of atoms, not a ceiling

    def accuracy(self, X: ArrayLike) -> float:
        """The measured epsilon: how far the dictionary is from all points seen, X.

        Parameters
        ----------
        X : array
            All points seen, in the order in which they came (or their kernel matrix).

        Returns
        -------
        float
            The least e such that the dictionary is (e, ridge_)-accurate; 1 or more when a direction
            is lost (see `accuracy_range` for the two sides).
        """
        return max(map(abs, self.accuracy_range(X)))

    def accuracy_range(self, X: ArrayLike) -> tuple[float, float]:
        """Extreme eigenvalues of C (I - diag(s)) C: negative what weighs too much, else missing.

        Parameters
        ----------
        X : array
            All points seen, in the order in which they came (or their kernel matrix).

        Returns
        -------
        smallest, largest : float
        """
        check_is_fitted(self)
        kernel, points = self._bind(X, reset=False)
        if len(points) != self.n_seen_:
            raise InputError(
                f"X has {len(points)} rows but the dictionary has seen {self.n_seen_}; "
                "give all points in the order in which they came"
            )
        return accuracy_range(kernel, points, self.indices_, self.weights_, ridge=self.ridge_)

    def unexplained(self, X: ArrayLike) -> float:
        """The share of points X that lies outside the span of the atoms: trace(K - K~) / trace(K).

        Parameters
        ----------
        X : array of shape (n, d)
            Any points, best such as the dictionary has not seen; no kernel matrix.

        Returns
        -------
        float
            0 if all lie within, 1 if the atoms say nothing about them.
        """
        check_is_fitted(self)
        if self._precomputed():
            raise InputError("a kernel matrix has no values for other points; give points")
        kernel, points = self._bind(X, reset=False)
        whole = kernel.diag(points).sum()
        z = Embedding(kernel, self.components_)(points)
        return float(max(1 - np.sum(z**2) / whole, 0.0)) if whole > 0 else 0.0

    def _columns(self):
        """A row per atom: number, weight, and coordinates, where there are any."""
        check_is_fitted(self)
        atoms = {"row": self.indices_, "weight": self.weights_}
        if self._precomputed():
            return atoms
        points = self.components_
        points = points.toarray() if hasattr(points, "toarray") else points
        return atoms | {f"x{j}": column for j, column in enumerate(points.T)}

    @property
    def indices_(self) -> np.ndarray:
        """Row numbers of the atoms."""
        return self._kept_atoms().rows

    @property
    def weights_(self) -> np.ndarray:
        """Weights s_i of the atoms."""
        return self._kept_atoms().weight

    @property
    def components_(self) -> np.ndarray:
        """The atoms; for a kernel matrix, their row numbers again."""
        return self._kept_atoms().points

    def _kept_atoms(self) -> Atoms:
        raise NotImplementedError

    def _held_points(self):
        """All points that a stream holds, at least those that it shows."""
        return self._kept_atoms().points

    def __sklearn_is_fitted__(self):
        return getattr(self, "n_seen_", 0) > 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags

    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _bind(self, X, *, reset):
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        return bind(self.kernel, self.kernel_params, X)

    def _bind_more(self, X):
        """The rows of `partial_fit`, and whether they are the first."""
        if self._precomputed():
            raise InputError("a precomputed kernel matrix has no further rows; call fit")
        fresh = not self.__sklearn_is_fitted__()
        return *self._bind(X, reset=fresh), fresh

    def _check(self):
        """Refuse parameters that mean nothing."""
        check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        check_real("delta", self.delta, above=0.0, below=1.0)
        check_choice("budget", self.budget, ("practical", "theory"))
        if self.n_components is not None:
            check_count("n_components", self.n_components)
            if self.n_copies is not None and self._fixed_size:
                raise InputError("give ", Parameter("n_components"), " or n_copies, not both")
        if self.n_copies is not None:
            check_count("n_copies", self.n_copies)
        if isinstance(self.ridge, str):
            check_choice("ridge", self.ridge, ("auto",))
            if self.n_components is None:
                raise InputError(
                    Parameter("ridge", "auto"),
                    " needs ",
                    Parameter("n_components"),
                    "; give a number for ridge",
                )
        else:
            check_real("ridge", self.ridge, above=0.0)

    def _copies(self, n_points, *, rho, theory=None, n_draws=1, scale=1.0):
        """Copies for this many points, or None when the number of atoms is fixed.

        Each of `n_draws` dictionaries may fail with probability delta / n_draws.
        """
        if self.n_components is not None and self._fixed_size:
            return None
        if self.n_copies is not None:
            return self.n_copies
        if self.budget == "theory":
            delta, copies_for = self.delta / n_draws, theory or batch_copies
            copies = copies_for(self.epsilon, delta=delta, n_points=n_points, rho=rho)
        else:
            copies = practical_copies(self.epsilon, n_points=n_points, rho=rho)
        return int(np.ceil(scale * copies))


def warn_beyond(horizon: int, n_seen: int, n_more: int) -> None:
    """Warn once when a stream grows beyond the number of points that its guarantee is for.

    >>> warn_beyond(100, 90, 10)
    """
    if n_seen <= horizon < n_seen + n_more:
        warnings.warn(
            f"point {horizon + 1} is beyond horizon={horizon}, for which epsilon and delta are "
            "meant; nothing is promised from here on: give a larger horizon",
            UserWarning,
            stacklevel=4,
        )


def accuracy_range(
    kernel: Kernel, points: np.ndarray, indices: np.ndarray, weights: np.ndarray, *, ridge: float
) -> tuple[float, float]:
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


def batch_copies(epsilon: float, *, delta: float, n_points: int, rho: float = 1.0) -> int:
    """4 rho log(4 n / delta) / eps^2, for independent draws.

    >>> batch_copies(0.5, delta=0.1, n_points=100)
    133
    """
    return math.ceil(4 * rho * math.log(4 * n_points / delta) / epsilon**2)


def kors_copies(epsilon: float, *, delta: float, n_points: int, rho: float = 1.0) -> int:
    """rho (2 + 2 eps / 3) log(4 T^2 / delta) / eps^2; rho = 1 for the form of the paper.

    >>> kors_copies(0.5, delta=0.1, n_points=100)
    121
    """
    tail = math.log(4 * n_points**2 / delta)
    return math.ceil(rho * (2 + 2 * epsilon / 3) * tail / epsilon**2)


def squeak_copies(epsilon: float, *, delta: float, n_points: int, rho: float) -> int:
    """26 rho log(3 n / delta) / eps^2, for any tree of merges.

    >>> squeak_copies(0.5, delta=0.1, n_points=120, rho=3.0)
    2555
    """
    return math.ceil(26 * rho * math.log(3 * n_points / delta) / epsilon**2)


def squeak_horizon(epsilon: float, *, delta: float, n_copies: int, rho: float) -> int:
    """Number of points for which `n_copies` satisfy `squeak_copies`; its inverse.

    >>> squeak_horizon(0.5, delta=0.1, n_copies=2555, rho=3.0)
    120
    >>> squeak_horizon(0.5, delta=0.1, n_copies=1, rho=3.0)
    0
    """
    log_points = n_copies * epsilon**2 / (26 * rho) + math.log(delta / 3)
    return math.floor(math.exp(min(log_points, math.log(sys.maxsize))))


def practical_copies(epsilon: float, *, n_points: int, rho: float = 1.0) -> int:
    """rho log(n) / eps^2, and at least 1.

    >>> practical_copies(0.5, n_points=1000)
    28
    """
    return max(math.ceil(rho * math.log(n_points) / epsilon**2), 1)
