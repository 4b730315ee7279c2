"""Nystrom features, and the base class of all estimators that work on landmarks.

`NystromTransformer`, `NystromRidge` and `NystromPCA` choose a few landmarks, by a sampler or as
given by the user, and work in the coordinates z of their span (`embedding`): with the landmarks I,

    z(x) = L^-1 k_I(x),    L L' = K_II,    z(x)'z(y) = k_I(x)' K_II^+ k_I(y).

The transformer returns z itself: finite features whose inner products approximate the kernel.

With `partial_fit`, sums over the features of earlier points are carried from one dictionary to the
next. A late landmark can only be related to earlier points through the span in which the sums are
stored. Therefore sums are stored for all points that a sampler has in memory and for the first
points of the stream, and are projected to the landmarks when coefficients are computed.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.kernel.embedding import FeatureSums, NystromEmbedding
from graphsqueak.kernel.kernels import KernelEstimator, bind
from graphsqueak.kernel.samplers.baselines import ExactRLS, UniformDictionary
from graphsqueak.kernel.samplers.batch import ManyStepRLS, TwoStepRLS
from graphsqueak.kernel.samplers.bless import BLESS
from graphsqueak.kernel.samplers.dictionary import Dictionary
from graphsqueak.kernel.samplers.kors import KORS
from graphsqueak.kernel.samplers.recursive import RecursiveRLS
from graphsqueak.kernel.samplers.rp_cholesky import RPCholesky
from graphsqueak.kernel.samplers.squeak import SQUEAK
from graphsqueak.randomness import RandomState
from graphsqueak.validation import check_choice

# Points from the start of a stream for which sums are stored, besides those of the sampler. Without
# them, the error of one pass of `KORS` over four Gaussian features is 1.4 times that of two passes.
# Halved or doubled: the error of `NystromRidge` changes by less than 0.4 % on six data sets.
N_FIRST_POINTS = 200

SAMPLERS = {
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


def can_stream(estimator):
    """Return True if the estimator can be fitted to more points, otherwise raise AttributeError.

    For `sklearn.utils.metaestimators.available_if`, so that `partial_fit` exists only then.
    """
    sampling = estimator.sampling
    sampler = type(sampling) if isinstance(sampling, Dictionary) else SAMPLERS.get(sampling)
    if estimator.landmarks is None and sampler is not None and not hasattr(sampler, "partial_fit"):
        raise AttributeError(
            f"{sampler.__name__} needs all points at once, so partial_fit is not available; "
            "use sampling='squeak' or 'kors' to continue with more points"
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class LandmarkEstimator(KernelEstimator):
    """Base of the estimators on landmarks, with the parameters that all of them have.

    A subclass implements `_n_landmarks`, the number of landmarks to sample, and `_solve`, which
    sets its attributes by `FeatureSums`.
    """

    sampling: str | Dictionary = "squeak"
    landmarks: ArrayLike | None = None
    ridge: float | Literal["auto"] = "auto"
    random_state: RandomState = None

    # The `uniform_share` of sampling="squeak".
    _uniform_share = 0.0

    # Whether a fit is complete.
    _is_fitted = False

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Choose landmarks among the rows of X, and fit to all rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : array of shape (n,) or (n, n_targets)
            Targets of a regression; otherwise ignored.
        """
        return self._learn(X, y, is_stream=False)

    @available_if(can_stream)
    def partial_fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Continue with more rows, which are not stored. Landmarks and features change.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : array of shape (n,) or (n, n_targets)
            Targets of a regression; otherwise ignored.
        """
        return self._learn(X, y, is_stream=True)

    def _learn(self, X, y, *, is_stream):
        is_first = not (is_stream and self._is_fitted)
        points, targets = self._check_data(X, y, reset=is_first)
        self._choose_landmarks(points, is_first=is_first, is_stream=is_stream)
        self._solve(self._sum_features(points, targets, is_first=is_first, is_stream=is_stream))
        self._is_fitted = True
        return self

    def _n_landmarks(self):
        raise NotImplementedError

    def _solve(self, sums):
        raise NotImplementedError

    def _check_data(self, X, y, *, reset):
        """Return points, and a column per target."""
        points = self._check_points(X, reset=reset)
        return points, np.zeros((len(points), 0))

    def _check_points(self, X, *, reset):
        """Check rows of points, or of kernel values to all training points."""
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _choose_landmarks(self, X, *, is_first, is_stream):
        """Set the landmarks, their rows and weights, and the embedding, from the rows of X."""
        if is_first:
            self.dictionary_ = None if self.landmarks is not None else self._new_sampler()
        elif self.landmarks is not None:
            # Landmarks of the user do not change.
            return
        if self.dictionary_ is None:
            rows, points = self._given_landmarks(X)
            weights = np.ones(len(points))
        else:
            rows, points, weights = self._sampled_landmarks(X, is_stream=is_stream)
        self.landmark_indices_ = rows
        self.landmarks_ = points
        self.landmark_weights_ = weights
        kernel, _ = bind(self.kernel, self.kernel_params, X)
        gram = kernel(points, points)
        # New points of a precomputed kernel come as kernel values, and the matrix may be large.
        kept_kernel = None if self._is_precomputed() else kernel
        self.embedding_ = NystromEmbedding(kept_kernel, points, gram=gram)

    def _sampled_landmarks(self, X, *, is_stream):
        """Return row numbers, points and weights of the sampler after the rows of X."""
        sampler = self.dictionary_
        if is_stream:
            sampler.partial_fit(X)
        else:
            sampler.fit(X)
        if len(sampler.indices_):
            return sampler.indices_, sampler.components_, sampler.weights_
        # Without any landmark there would be no feature.
        first = np.zeros(1, np.int64)
        return first, first[:, None] if self._is_precomputed() else X[:1], np.ones(1)

    def _given_landmarks(self, X):
        """Return row numbers, or None, and points of the landmarks of the user."""
        landmarks = np.asarray(self.landmarks)
        if landmarks.ndim == 1 and landmarks.dtype.kind in "iu":
            if not landmarks.size or landmarks.min() < 0 or landmarks.max() >= len(X):
                raise InputError(f"landmarks are row numbers from 0 to {len(X) - 1}")
            return landmarks, landmarks[:, None] if self._is_precomputed() else X[landmarks]
        if self._is_precomputed():
            raise InputError("with a kernel matrix, landmarks are row numbers")
        points = landmarks.astype(np.float64)
        if points.ndim != 2 or points.shape[1] != X.shape[1] or not len(points):
            raise InputError(
                f"landmarks of shape {points.shape} do not fit points with {X.shape[1]} features"
            )
        return None, points

    def _new_sampler(self):
        if isinstance(self.sampling, Dictionary):
            return clone(self.sampling).set_params(
                kernel=self.kernel, kernel_params=self.kernel_params
            )
        name = check_choice("sampling", self.sampling, tuple(SAMPLERS))
        sampler = SAMPLERS[name](
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            ridge=self.ridge,
            n_landmarks=self._n_landmarks(),
            random_state=self.random_state,
        )
        if name == "squeak":
            sampler.set_params(uniform_share=self._uniform_share)
        return sampler

    def _sum_features(self, X, y, *, is_first, is_stream):
        """Return sums over the features of all rows so far; X has the last ones."""
        earlier = X[:0] if is_first else self._first_points
        self._first_points = np.concatenate([earlier, X])[:N_FIRST_POINTS]
        embedding = self.embedding_
        features = self._features
        if is_stream:
            if self.dictionary_ is not None:
                stored = np.concatenate([self.dictionary_.stored_points(), self._first_points])
                embedding = NystromEmbedding(embedding.kernel, stored)
            features = embedding
        if is_first:
            self._sums = FeatureSums.zeros(embedding, n_targets=y.shape[1])
        self._sums = self._sums.project(embedding).add(features, X, y)
        return self._sums.project(self.embedding_)

    def _features(self, points):
        """Return z of points, or of rows of kernel values to all training points."""
        if not self._is_precomputed():
            return self.embedding_(points)
        pivots = self.landmark_indices_[self.embedding_.pivots]
        return self.embedding_.from_values(points[:, pivots])

    def _regularizer(self):
        """Return F of the regularized approximation z(x)' F F' z(y)."""
        if self.dictionary_ is not None:
            ridge = self.dictionary_.ridge_
        elif isinstance(self.ridge, str):
            raise InputError("with landmarks of your own, a regularized form needs a ridge")
        else:
            ridge = float(self.ridge)
        return self.embedding_.regularizer(self.landmark_weights_, ridge)

    def __sklearn_is_fitted__(self):
        return self._is_fitted


@dataclass(kw_only=True, eq=False, repr=False)
class NystromTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LandmarkEstimator):
    """Nystrom features: finite features for linear methods, whose inner products approximate K.

    Use it in front of a linear model or a clustering, in place of
    `sklearn.kernel_approximation.Nystroem`, which samples landmarks uniformly. The inner products
    are z(x)'z(y) = k_I(x)' K_II^+ k_I(y) for the landmarks I; see `embedding`.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `transform` rows of
        kernel values to all training points.
    n_components : int or None
        Number of landmarks. There are fewer features if landmarks depend on each other. None: as
        many as the sampler needs for its accuracy.
    sampling : str or Dictionary
        "squeak" (one pass), "kors" (one pass, at most `n_components`), "rp-cholesky", "uniform",
        "exact", "two-step", "many-step", "recursive", "bless", or a sampler object.
    landmarks : array, optional
        Landmarks to use instead: points, or row numbers of X.
    ridge : float or "auto"
        Ridge of the leverage scores, and of the regularized form.
    regularized : bool
        Use K_nI (K_II + ridge W^-1)^-1 K_In, which may be below K by more than the ridge. Without,
        K~ is closer to K.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    dictionary_ : Dictionary or None
        The sampler; None with landmarks of the user.
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
        The landmarks, their row numbers and their weights.
    embedding_ : NystromEmbedding
        The coordinates of their span.

    Examples
    --------
    The linear kernel of points on a line has rank 1, so that one feature is enough:

    >>> X = np.arange(12.0)[:, None]
    >>> z = NystromTransformer(kernel="linear", n_components=3, random_state=7).fit_transform(X)
    >>> z.shape, bool(np.allclose(z @ z.T, X @ X.T))
    ((12, 1), True)
    """

    n_components: int | None = 100
    regularized: bool = False

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the features of the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n, n_features)
        """
        check_is_fitted(self)
        z = self._features(self._check_points(X, reset=False))
        return z if self._rotation is None else z @ self._rotation

    def _sum_features(self, X, y, *, is_first, is_stream):
        """Return nothing: these features need no sums."""

    def _solve(self, sums):
        self._rotation = self._regularizer() if self.regularized else None

    def _n_landmarks(self):
        return self.n_components

    @property
    def _n_features_out(self):
        return self.embedding_.rank if self._rotation is None else self._rotation.shape[1]
