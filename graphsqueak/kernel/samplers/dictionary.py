"""Base classes of the samplers: parameters, checks, number of copies, and measured accuracy.

A dictionary is a few of the points (landmarks) with weights s_i, such that sum_i s_i phi_i phi_i'
approximates the covariance Phi Phi' of all points. Samplers differ in how they score points and
when they see them. With weights s, zero for points that are not landmarks, a dictionary is
(e, g)-accurate if

    (1 - e) Phi Phi' - e g I  <=  Phi diag(s) Phi'  <=  (1 + e) Phi Phi' + e g I,

which means that the eigenvalues of C (I - diag(s)) C, with C^2 = K (K + g I)^-1, are in [-e, e]
[C17, Definition 2.6 and Lemma 2.10]. With any factorization K = Z Z', they are the eigenvalues of
the pencil

    Z' (I - diag(s)) Z,     Z' Z + g I,

whose size is the rank of K and not the number of points. `accuracy_range` computes them, with Z
from a pivoted Cholesky factorization that leaves a negligible trace.

The accuracy that is asked for determines the number of copies q. A point is sampled as
Binomial(q, p) copies of weight 1 / (q p). With the q of `batch_copies`, `kors_copies` or
`squeak_copies`, the dictionary is (epsilon, ridge)-accurate with probability 1 - delta. The factor
`rho` is how much smaller than the leverage score p may be (see `leverage`). These are the numbers
of [C17, Chapter 3] and [CLV17c] as corrected in docs/research/errata.md: KORS needs a union bound
over all steps, so that its logarithm has T^2, and its form in the thesis needs the factor rho. They
keep every point of a data set of a few thousand. budget="practical" keeps rho log(n) / eps^2 and
leaves out the constant factor.

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
from typing import Literal, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import Kernel, KernelEstimator, bind
from graphsqueak.kernel.pivots import kernel_factor
from graphsqueak.kernel.samplers.merging import Landmarks
from graphsqueak.randomness import RandomState
from graphsqueak.system.frames import ArrowExport
from graphsqueak.validation import check_choice, check_count, check_real

# Points for which `partial_fit` plans if no horizon is given. Only the logarithm enters: for twice
# as many, 5 % more copies with budget="practical".
HORIZON = 10**6


@dataclass(kw_only=True, eq=False, repr=False)
class Dictionary(ArrowExport, KernelEstimator):
    """Base of the samplers, with the parameters that all of them have.

    A subclass implements `fit` and `_landmarks`, and sets `ridge_`, `n_seen_` and `n_copies_`,
    which is None for a fixed number of landmarks.
    """

    ridge: float | Literal["auto"] = 1.0
    n_landmarks: int | None = None
    epsilon: float = 0.5
    budget: Literal["practical", "theory"] = "practical"
    delta: float = 0.1
    n_copies: int | None = None
    random_state: RandomState = None

    # Whether `n_landmarks` replaces the copies. Otherwise it is an upper bound.
    _has_fixed_size = True

    def accuracy(self, X: ArrayLike) -> float:
        """Return the measured epsilon, the error of the dictionary for all points seen.

        Parameters
        ----------
        X : array
            All points seen, in their order, or their kernel matrix.

        Returns
        -------
        float
            The smallest e for which the dictionary is (e, ridge_)-accurate. It is 1 or more if a
            direction is missing (see `accuracy_range` for the two sides).
        """
        return max(map(abs, self.accuracy_range(X)))

    def accuracy_range(self, X: ArrayLike) -> tuple[float, float]:
        """Return the extreme eigenvalues of C (I - diag(s)) C.

        Parameters
        ----------
        X : array
            All points seen, in their order, or their kernel matrix.

        Returns
        -------
        smallest, largest : float
            Negative for directions that weigh too much, positive for directions that weigh too
            little. A largest value of 1 means that a direction is missing.
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
        """Return the fraction of points outside the span of the landmarks.

        It is trace(K - K~) / trace(K), with the Nystrom approximation K~ of the kernel matrix.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, preferably ones that the dictionary has not seen. Not a kernel matrix.

        Returns
        -------
        float
            0 if all points are in the span, 1 if all are orthogonal to it.
        """
        check_is_fitted(self)
        if self._is_precomputed():
            raise InputError("a kernel matrix has no values for other points; give points")
        kernel, points = self._bind(X, reset=False)
        trace = kernel.diag(points).sum()
        z = NystromEmbedding(kernel, self.components_)(points)
        return float(max(1 - np.sum(z**2) / trace, 0.0)) if trace > 0 else 0.0

    def stored_points(self) -> np.ndarray:
        """Return all points that are in memory: the landmarks, and others that may become ones."""
        return self._landmarks().points

    @property
    def indices_(self) -> np.ndarray:
        """Row numbers of the landmarks."""
        return self._landmarks().rows

    @property
    def weights_(self) -> np.ndarray:
        """Weights s_i of the landmarks."""
        return self._landmarks().weights

    @property
    def components_(self) -> np.ndarray:
        """The landmarks; for a kernel matrix, their row numbers."""
        return self._landmarks().points

    def _landmarks(self) -> Landmarks:
        raise NotImplementedError

    def _columns(self):
        """Return a row per landmark: number, weight and, unless the kernel is a matrix, point."""
        check_is_fitted(self)
        columns = {"row": self.indices_, "weight": self.weights_}
        if not self._is_precomputed():
            columns |= {f"x{j}": column for j, column in enumerate(self.components_.T)}
        return columns

    def __sklearn_is_fitted__(self):
        return getattr(self, "n_seen_", 0) > 0

    def _bind(self, X, *, reset):
        """Check the data; return the kernel object and the points that it takes."""
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        return bind(self.kernel, self.kernel_params, X)

    def _check(self):
        """Raise an error for parameters out of range or in contradiction."""
        check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        check_real("delta", self.delta, above=0.0, below=1.0)
        check_choice("budget", self.budget, ("practical", "theory"))
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks)
            if self.n_copies is not None and self._has_fixed_size:
                raise InputError("give ", Parameter("n_landmarks"), " or n_copies, not both")
        if self.n_copies is not None:
            check_count("n_copies", self.n_copies)
        if not isinstance(self.ridge, str):
            check_real("ridge", self.ridge, above=0.0)
            return
        check_choice("ridge", self.ridge, ("auto",))
        if self.n_landmarks is None:
            raise InputError(
                Parameter("ridge", "auto"),
                " needs ",
                Parameter("n_landmarks"),
                "; give a number for ridge",
            )

    def _count_copies(self, n_points, *, rho, theory=None, n_draws=1, scale=1.0):
        """Return the copies per point, or None if the number of landmarks is fixed.

        Each of `n_draws` dictionaries may fail with probability delta / n_draws.
        """
        if self.n_landmarks is not None and self._has_fixed_size:
            return None
        if self.n_copies is not None:
            return self.n_copies
        if self.budget == "theory":
            copies_for = theory or batch_copies
            delta = self.delta / n_draws
            copies = copies_for(self.epsilon, delta=delta, n_points=n_points, rho=rho)
        else:
            copies = practical_copies(self.epsilon, n_points=n_points, rho=rho)
        return int(np.ceil(scale * copies))


@dataclass(kw_only=True, eq=False, repr=False)
class StreamDictionary(Dictionary):
    """Base of the samplers that see each point once.

    A subclass implements `_begin`, which sets `n_copies_`, `_update`, and `_select`, which returns
    the landmarks and their ridge without changing the stream.
    """

    horizon: int | None = None

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Sample a dictionary of the rows of X; earlier rows are forgotten.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        kernel, points = self._bind(X, reset=True)
        self._restart(kernel, points, n_points=len(points))
        return self._ingest(kernel, points)

    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Continue with more rows. The result does not depend on how rows are split into calls.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : ignored
        """
        if self._is_precomputed():
            raise InputError("a precomputed kernel matrix has no further rows; call fit")
        is_first = not self.__sklearn_is_fitted__()
        kernel, points = self._bind(X, reset=is_first)
        if is_first:
            self._restart(kernel, points, n_points=HORIZON)
        return self._ingest(kernel, points)

    @property
    def ridge_(self) -> float:
        """The ridge of the dictionary."""
        return self._selection()[1]

    def _restart(self, kernel, points, *, n_points):
        self._check()
        self._horizon = n_points
        if self.horizon is not None:
            self._horizon = check_count("horizon", self.horizon)
        self.seed_ = int(np.random.default_rng(self.random_state).integers(2**63))
        self.n_seen_ = 0
        self._begin(kernel, points)

    def _ingest(self, kernel, points):
        if self.budget == "theory" or self.horizon is not None:
            warn_beyond(self._horizon, self.n_seen_, len(points))
        self._selected = None
        self._update(kernel, points)
        return self

    def _landmarks(self):
        return self._selection()[0]

    def _selection(self):
        """Return the landmarks and their ridge, selected once for all points so far."""
        if self._selected is None:
            self._selected = self._select()
        return self._selected

    def _begin(self, kernel, points):
        raise NotImplementedError

    def _update(self, kernel, points):
        raise NotImplementedError

    def _select(self):
        raise NotImplementedError


def warn_beyond(horizon: int, n_seen: int, n_more: int) -> None:
    """Warn once if a stream becomes longer than its guarantee covers.

    >>> warn_beyond(100, 90, 10)
    """
    if n_seen <= horizon < n_seen + n_more:
        warnings.warn(
            f"point {horizon + 1} is beyond horizon={horizon}, for which epsilon and delta are "
            "meant; there is no guarantee for more points: give a larger horizon",
            UserWarning,
            stacklevel=4,
        )


def accuracy_range(
    kernel: Kernel, points: np.ndarray, indices: np.ndarray, weights: np.ndarray, *, ridge: float
) -> tuple[float, float]:
    """Return the smallest and largest eigenvalue of C (I - diag(s)) C.

    The larger modulus is the accuracy. In the example, the only point has C^2 = 1/2 and weight 3:

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> one = np.ones((1, 1))
    >>> accuracy_range(as_kernel("linear"), one, np.array([0]), np.array([3.0]), ridge=1.0)
    (-1.0, -1.0)
    """
    # A trace of t ridge outside Z moves the eigenvalues by t^1/2 at most.
    Z = kernel_factor(kernel, points, rest=1e-6 * ridge)
    if not Z.shape[1]:
        return 0.0, 0.0
    missing = np.ones(len(points))
    missing[indices] -= weights
    difference = (Z * missing[:, None]).T @ Z
    shifted = Z.T @ Z
    shifted[np.diag_indices_from(shifted)] += ridge
    values = scipy.linalg.eigh(difference, shifted, eigvals_only=True)
    return float(values[0]), float(values[-1])


def batch_copies(epsilon: float, *, delta: float, n_points: int, rho: float = 1.0) -> int:
    """Return 4 rho log(4 n / delta) / eps^2, for independent draws.

    >>> batch_copies(0.5, delta=0.1, n_points=100)
    133
    """
    return math.ceil(4 * rho * math.log(4 * n_points / delta) / epsilon**2)


def kors_copies(epsilon: float, *, delta: float, n_points: int, rho: float = 1.0) -> int:
    """Return rho (2 + 2 eps / 3) log(4 T^2 / delta) / eps^2; rho = 1 for form="paper".

    >>> kors_copies(0.5, delta=0.1, n_points=100)
    121
    """
    tail = math.log(4 * n_points**2 / delta)
    return math.ceil(rho * (2 + 2 * epsilon / 3) * tail / epsilon**2)


def squeak_copies(epsilon: float, *, delta: float, n_points: int, rho: float) -> int:
    """Return 26 rho log(3 n / delta) / eps^2, for any tree of merges.

    >>> squeak_copies(0.5, delta=0.1, n_points=120, rho=3.0)
    2555
    """
    return math.ceil(26 * rho * math.log(3 * n_points / delta) / epsilon**2)


def squeak_horizon(epsilon: float, *, delta: float, n_copies: int, rho: float) -> int:
    """Return the number of points for which `squeak_copies` asks for at most `n_copies`.

    >>> squeak_horizon(0.5, delta=0.1, n_copies=2555, rho=3.0)
    120
    >>> squeak_horizon(0.5, delta=0.1, n_copies=1, rho=3.0)
    0
    """
    log_points = n_copies * epsilon**2 / (26 * rho) + math.log(delta / 3)
    return math.floor(math.exp(min(log_points, math.log(sys.maxsize))))


def practical_copies(epsilon: float, *, n_points: int, rho: float = 1.0) -> int:
    """Return rho log(n) / eps^2, at least 1.

    >>> practical_copies(0.5, n_points=1000)
    28
    """
    return max(math.ceil(rho * math.log(n_points) / epsilon**2), 1)
