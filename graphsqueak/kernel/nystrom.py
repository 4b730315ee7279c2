"""Nystrom features: a finite feature map whose inner products approximate a kernel."""

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from graphsqueak.kernel.landmarks import DictionaryEstimator, streams

__all__ = ["NystromTransformer"]


class NystromTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DictionaryEstimator):
    """z(x) with z(x)'z(y) = k_I(x)' K_II^+ k_I(y), I a dictionary; see `embedding`.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `transform` rows of
        kernel values to all training points.
    n_components : int or None
        Number of atoms; None leaves it to the accuracy of the sampler.
    sampling : str or Dictionary
        "squeak" (one pass), "kors" (one pass; `n_components` is a ceiling), "uniform", "exact",
        "two-step", "many-step", "recursive", "bless", or a dictionary with settings of its own.
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
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
    embedding_ : Embedding

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12.0)[:, None]
    >>> z = NystromTransformer(kernel="linear", n_components=3, random_state=7).fit_transform(X)
    >>> z.shape, bool(np.allclose(z @ z.T, X @ X.T))     # of rank 1, so one feature is enough
    ((12, 1), True)
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        n_components=100,
        sampling="squeak",
        landmarks=None,
        ridge="auto",
        regularized=False,
        random_state=None,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.sampling = sampling
        self.landmarks = landmarks
        self.ridge = ridge
        self.regularized = regularized
        self.random_state = random_state

    def fit(self, X, y=None):
        """Choose the atoms among the rows of X."""
        self._choose(self._checked(X, reset=True), stream=False)
        return self._finish()

    @available_if(streams)
    def partial_fit(self, X, y=None):
        """Let the dictionary see more rows; the features change with it."""
        self._choose(self._checked(X, reset=not hasattr(self, "embedding_")), stream=True)
        return self._finish()

    def transform(self, X):
        """Features of the rows of X."""
        check_is_fitted(self)
        z = self._features(self._checked(X, reset=False))
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
