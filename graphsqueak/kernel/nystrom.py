"""Nystrom features, and what all estimators on a dictionary share.

`NystromTransformer`, `NystromRidge` and `NystromPCA` choose a few atoms, by a sampler or as the
user says, and work in the coordinates z of the atoms' span (`embedding`). The transformer returns z
itself, a finite feature map whose inner products approximate the kernel.

Sums over the features of a stream are carried from one dictionary to the next. A stream may hold
more atoms than it shows. Sums are carried on all that it holds and on its first two hundred points,
and only looked at through the few atoms that it shows: atoms that come late would otherwise find
nothing about the points before them.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.kernel.embedding import CarriedSums, Embedding
from graphsqueak.kernel.kernels import KernelLike, KernelParams, as_kernel, bind
from graphsqueak.kernel.samplers.batch import ExactRLS, ManyStepRLS, TwoStepRLS, UniformDictionary
from graphsqueak.kernel.samplers.bless import BLESS
from graphsqueak.kernel.samplers.dictionary import Dictionary
from graphsqueak.kernel.samplers.kors import KORS
from graphsqueak.kernel.samplers.recursive import RecursiveRLS
from graphsqueak.kernel.samplers.rp_cholesky import RPCholesky
from graphsqueak.kernel.samplers.squeak import SQUEAK
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice

__all__ = ["DictionaryEstimator", "NystromTransformer", "can_stream"]

_SAMPLERS = {
    "uniform": UniformDictionary,
    "exact": ExactRLS,
    "two-step": TwoStepRLS,
    "many-step": ManyStepRLS,
    "recursive": RecursiveRLS,
    "bless": BLESS,
    "rp-cholesky": RPCholesky,
    "kors": KORS,
    "squeak": SQUEAK,
}
_FIRST = 200  # points of a stream's beginning that sums are carried on, beside the atoms


def can_stream(estimator):
    """True if the estimator's dictionary can go on with more points; else an AttributeError.

    For `sklearn.utils.metaestimators.available_if`, so that `partial_fit` exists only then.
    """
    sampling = estimator.sampling
    maker = type(sampling) if isinstance(sampling, Dictionary) else _SAMPLERS.get(sampling)
    if estimator.landmarks is None and maker is not None and not hasattr(maker, "partial_fit"):
        raise AttributeError(
            f"{maker.__name__} needs all points at once, so there is no partial_fit; "
            "use sampling='squeak' or 'kors' to go on with more"
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class DictionaryEstimator(BaseEstimator):
    """Base of the estimators on a dictionary, with the parameters that all have.

    A subclass tells the number of atoms by `_n_atoms`.
    """

    kernel: KernelLike = "rbf"
    kernel_params: KernelParams = None
    sampling: str | Dictionary = "squeak"
    landmarks: ArrayLike | None = None
    ridge: float | Literal["auto"] = "auto"
    random_state: RandomState = None

    _uniform_share = 0.0  # of sampling="squeak"

    def _check_points(self, X, *, reset):
        """Rows of points, or of kernel values to all training points."""
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _choose(self, X, *, stream):
        """A dictionary of the rows of X, or the same one having seen more rows; its embedding."""
        fresh = not (stream and hasattr(self, "dictionary_"))
        if self.landmarks is None:
            rows, points, weights = self._draw_atoms(X, fresh=fresh, stream=stream)
        elif fresh:
            rows, points, weights = self._take_landmarks(X)
            self.dictionary_ = None
        else:
            return
        self.landmark_indices_, self.landmarks_, self.landmark_weights_ = rows, points, weights
        self._embed_atoms(X)

    def _draw_atoms(self, X, *, fresh, stream):
        """Atoms of the sampler; if it drew none, the first point, so that there is a feature."""
        if fresh:
            self.dictionary_ = self._sampler()
        d = self.dictionary_
        (d.partial_fit if stream else d.fit)(X)
        if len(d.indices_):
            return d.indices_, d.components_, d.weights_
        first = np.zeros(1, np.int64)
        return first, first[:, None] if self._precomputed() else X[:1], np.ones(1)

    def _embed_atoms(self, X):
        if self._precomputed():
            kernel, _ = bind(self.kernel, self.kernel_params, X)
        else:
            kernel = as_kernel(self.kernel, self.kernel_params)
        self.embedding_ = Embedding(kernel, self.landmarks_)
        if self._precomputed():
            self.embedding_.release_kernel()  # new points come as kernel values

    def _sum_features(self, X, y):
        """Sums over the features of all rows, chosen beforehand: the second of two passes."""
        self._first = X[:_FIRST]
        self._sums = CarriedSums(self.embedding_, n_targets=y.shape[1])
        self._sums.add(self._features, X, y)
        return self._sums.project(self.embedding_)

    def _add_to_sums(self, X, y, *, fresh):
        """Sums over the features of all rows so far, of which only X is at hand."""
        held = self.embedding_
        if fresh:
            self._first = X[:0]
        if self.dictionary_ is not None:
            self._first = np.concatenate([self._first, X])[:_FIRST]
            points = np.concatenate([self.dictionary_._held_points(), self._first])
            held = Embedding(held.kernel, points)
        if fresh:
            self._sums = CarriedSums(held, n_targets=y.shape[1])
        self._sums.rebase(held)
        self._sums.add(held, X, y)
        return self._sums.project(self.embedding_)

    def _take_landmarks(self, X):
        """Landmarks of the user's: points, or row numbers."""
        landmarks = np.asarray(self.landmarks)
        if landmarks.ndim == 1 and landmarks.dtype.kind in "iu":
            if not landmarks.size or landmarks.min() < 0 or landmarks.max() >= len(X):
                raise InputError(f"landmarks are row numbers from 0 to {len(X) - 1}")
            points = landmarks[:, None] if self._precomputed() else X[landmarks]
            return landmarks, points, np.ones(landmarks.size)
        if self._precomputed():
            raise InputError("with a kernel matrix, landmarks are row numbers")
        points = landmarks.astype(np.float64)
        if points.ndim != 2 or points.shape[1] != X.shape[1] or not len(points):
            raise InputError(
                f"landmarks of shape {points.shape} do not fit points with {X.shape[1]} features"
            )
        return None, points, np.ones(len(points))

    def _sampler(self):
        if isinstance(self.sampling, Dictionary):
            return clone(self.sampling).set_params(
                kernel=self.kernel, kernel_params=self.kernel_params
            )
        name = check_choice("sampling", self.sampling, tuple(_SAMPLERS))
        ridge = self.ridge
        sampler = _SAMPLERS[name](
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            ridge=ridge,
            n_components=self._n_atoms(),
            random_state=self.random_state,
        )
        if name == "squeak":
            sampler.set_params(uniform_share=self._uniform_share)
        return sampler

    def _regularization_ridge(self):
        """The ridge of the dictionary, for the regularized forms."""
        if self.dictionary_ is not None:
            return self.dictionary_.ridge_
        if isinstance(self.ridge, str):
            raise InputError("with landmarks of your own, a regularized form needs a ridge")
        return float(self.ridge)

    def _features(self, points):
        """z of points (for a kernel matrix: of rows of kernel values to all training points)."""
        if self._precomputed():
            return self.embedding_.from_values(
                points[:, self.landmark_indices_[self.embedding_.pivots]]
            )
        return self.embedding_(points)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class NystromTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DictionaryEstimator):
    """Features z with z(x)'z(y) = k_I(x)' K_II^+ k_I(y), I a dictionary; see `embedding`.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `transform` rows of
        kernel values to all training points.
    n_components : int or None
        Number of atoms; None leaves it to the accuracy of the sampler.
    sampling : str or Dictionary
        "squeak" (one pass), "kors" (one pass, at most `n_components`), "rp-cholesky", "uniform",
        "exact", "two-step", "many-step", "recursive", "bless", or a dictionary of your own.
    landmarks : array, optional
        Points, or row numbers of X, to be used instead.
    ridge : float or "auto"
        Of the leverage scores, and of the regularized form.
    regularized : bool
        K_nI (K_II + ridge W^-1)^-1 K_In, which may lie below K by more than the ridge; without, K~
        is closer to K.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    dictionary_ : Dictionary or None
        The sampler; None with landmarks of the user's.
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
        The atoms, their row numbers and their weights.
    embedding_ : Embedding
        The coordinates of their span.

    Examples
    --------
    >>> X = np.arange(12.0)[:, None]
    >>> z = NystromTransformer(kernel="linear", n_components=3, random_state=7).fit_transform(X)
    >>> z.shape, bool(np.allclose(z @ z.T, X @ X.T))     # of rank 1, so one feature is enough
    ((12, 1), True)
    """

    n_components: int | None = 100
    regularized: bool = False

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Choose the atoms among the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        self._choose(self._check_points(X, reset=True), stream=False)
        return self._finish()

    @available_if(can_stream)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Let the dictionary see more rows; the features change with it.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : ignored
        """
        self._choose(self._check_points(X, reset=not hasattr(self, "embedding_")), stream=True)
        return self._finish()

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Features of the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n, features)
        """
        check_is_fitted(self)
        z = self._features(self._check_points(X, reset=False))
        return z @ self._rotation if self.regularized else z

    def _finish(self):
        self._rotation = None
        if self.regularized:
            ridge = self._regularization_ridge()
            self._rotation = self.embedding_.regularizer(self.landmark_weights_, ridge)
        return self

    def _n_atoms(self):
        return self.n_components

    @property
    def _n_features_out(self):
        return self.embedding_.rank if self._rotation is None else self._rotation.shape[1]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "embedding_")
