"""Where the atoms of an estimator come from: a sampler by name, a sampler, or the user's points.

The estimators on a dictionary (`NystromTransformer`, `NystromRidge`, `NystromPCA`) share this part:
parameters, the choice of the sampler, its stream, and the embedding that belongs to it.
"""

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from graphsqueak.errors import InputError
from graphsqueak.kernel.batch import ExactRLS, ManyStepRLS, TwoStepRLS, UniformDictionary
from graphsqueak.kernel.bless import BLESS
from graphsqueak.kernel.dictionary import Dictionary
from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.feature_sums import CarriedSums
from graphsqueak.kernel.kernels import as_kernel, bind
from graphsqueak.kernel.kors import KORS
from graphsqueak.kernel.recursive import RecursiveRLS
from graphsqueak.kernel.squeak import SQUEAK
from graphsqueak.validation import check_choice

__all__ = ["DictionaryEstimator", "streams"]

_SAMPLERS = {
    "uniform": UniformDictionary,
    "exact": ExactRLS,
    "two-step": TwoStepRLS,
    "many-step": ManyStepRLS,
    "recursive": RecursiveRLS,
    "bless": BLESS,
    "kors": KORS,
    "squeak": SQUEAK,
}
_FIRST = 200  # points of a stream's beginning that sums are carried on, beside the atoms


def streams(estimator):
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


class DictionaryEstimator(BaseEstimator):
    """Base of the estimators on a dictionary.

    A subclass has the parameters kernel, kernel_params, sampling, landmarks, ridge, random_state,
    and tells the number of atoms by `_n_atoms`.
    """

    _uniform_share = 0.0  # of sampling="squeak"

    def _checked(self, X, *, reset):
        """Rows of points, or of kernel values to all training points."""
        return validate_data(self, X, dtype=np.float64, reset=reset)

    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _choose(self, X, *, stream):
        """A dictionary of the rows of X, or the same one having seen more rows; its embedding."""
        fresh = not (stream and hasattr(self, "dictionary_"))
        if self.landmarks is None:
            rows, points, weights = self._drawn(X, fresh=fresh, stream=stream)
        elif fresh:
            rows, points, weights = self._given(X)
            self.dictionary_ = None
        else:
            return
        self.landmark_indices_, self.landmarks_, self.landmark_weights_ = rows, points, weights
        self._embed(X)

    def _drawn(self, X, *, fresh, stream):
        """Atoms of the sampler; if it drew none, the first point, so that there is a feature."""
        if fresh:
            self.dictionary_ = self._sampler()
        d = self.dictionary_
        (d.partial_fit if stream else d.fit)(X)
        if len(d.indices_):
            return d.indices_, d.components_, d.weights_
        first = np.zeros(1, np.int64)
        return first, first[:, None] if self._precomputed() else X[:1], np.ones(1)

    def _embed(self, X):
        if self._precomputed():
            kernel, _ = bind(self.kernel, self.kernel_params, X)
        else:
            kernel = as_kernel(self.kernel, self.kernel_params)
        self.embedding_ = Embedding(kernel, self.landmarks_)
        if self._precomputed():
            self.embedding_.kernel = None  # new points come as kernel values

    def _summed(self, X, y):
        """Sums over the features of all rows, chosen beforehand: the second of two passes."""
        self._first = X[:_FIRST]
        self._sums = CarriedSums(self.embedding_, n_targets=y.shape[1])
        self._sums.add(self._features, X, y)
        return self._sums.seen_from(self.embedding_)

    def _summed_on(self, X, y, *, fresh):
        """Sums over the features of all rows so far, of which only X is at hand."""
        held = self.embedding_
        if fresh:
            self._first = X[:0]
        if self.dictionary_ is not None:
            self._first = np.concatenate([self._first, X])[:_FIRST]
            points = np.concatenate([self.dictionary_._held(), self._first])
            held = Embedding(held.kernel, points)
        if fresh:
            self._sums = CarriedSums(held, n_targets=y.shape[1])
        self._sums.rebase(held)
        self._sums.add(held, X, y)
        return self._sums.seen_from(self.embedding_)

    def _given(self, X):
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
        if name == "kors" and isinstance(ridge, str):
            raise InputError("sampling='kors' needs a number for ridge")
        more = {"uniform_share": self._uniform_share} if name == "squeak" else {}
        return _SAMPLERS[name](
            **more,
            kernel=self.kernel,
            kernel_params=self.kernel_params,
            ridge=ridge,
            n_components=self._n_atoms(),
            random_state=self.random_state,
        )

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
