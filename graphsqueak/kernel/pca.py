"""Kernel principal components in the span of landmarks.

With the Nystrom features z(x) = L^-1 k_I(x), L L' = K_II for the landmarks I (`embedding`), and
Z'Z = sum z z' = V diag(lam) V', the best projection of rank k inside the span of the landmarks
keeps the first k columns of V. For an (e, g)-accurate dictionary with g <= OPT_k / k its cost is

    trace(K) - sum_{i <= k} lam_i(K~) <= OPT_k / (1 - e),

where OPT_k is the cost of the best projection of rank k. [C17, Theorem 4.6] bounds the cost of the
projection on the whole span, whose rank is |I| and not k, by 2 / (1 - e) OPT_k.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from graphsqueak.kernel.nystrom import LandmarkEstimator
from graphsqueak.validation import check_count


@dataclass(kw_only=True, eq=False, repr=False)
class NystromPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LandmarkEstimator):
    """Kernel PCA on a small number of landmarks.

    Use it in place of `sklearn.decomposition.KernelPCA` if there are too many points for their
    kernel matrix, or for streams.

    Parameters
    ----------
    n_components : int or None
        Number of components k, at most the rank of the landmarks; None keeps all.
    center : bool
        Subtract the mean of the features first, as `sklearn.decomposition.KernelPCA` does.
    n_landmarks : int or None
        Number of landmarks; None: as many as the sampler needs for its accuracy.
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `transform` rows of
        kernel values to all training points.
    sampling : str or Dictionary
        "squeak" (one pass), "kors" (one pass, at most `n_landmarks`),
        "rp-cholesky", "uniform", "exact", "two-step", "many-step", "recursive", "bless", or a
        sampler object.
    landmarks : array, optional
        Landmarks to use instead: points, or row numbers of X.
    ridge : float or "auto"
        Ridge of the leverage scores.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    eigenvalues_ : ndarray
        The k largest eigenvalues of K~, with `center` of the centered one.
    components_ : ndarray of shape (k, rank)
        Principal directions, in the coordinates z.
    mean_ : ndarray
        Mean that is subtracted from z; zero unless `center`.
    dictionary_ : Dictionary or None
        The sampler; None with landmarks of the user.
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
        The landmarks, their row numbers and their weights.
    embedding_ : NystromEmbedding
        The coordinates of their span.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    >>> pca = NystromPCA(n_components=1, kernel="linear", random_state=7).fit(X)
    >>> pca.eigenvalues_, pca.transform(X).round(6) + 0.0
    (array([25.]), array([[3.],
           [4.],
           [0.]]))
    """

    n_components: int | None = 2
    center: bool = False
    n_landmarks: int | None = 100

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the coordinates of the rows of X along the components.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n, k)
        """
        check_is_fitted(self)
        z = self._features(self._check_points(X, reset=False))
        return (z - self.mean_) @ self.components_.T

    def _solve(self, sums):
        self.mean_ = np.zeros_like(sums.total)
        if self.center:
            self.mean_ = sums.total / sums.n_points
        # The sum of (z - mean)(z - mean)'.
        gram = sums.gram - sums.n_points * np.outer(self.mean_, self.mean_)
        eigenvalues, V = np.linalg.eigh(gram)
        k = len(gram)
        if self.n_components is not None:
            k = min(k, check_count("n_components", self.n_components))
        # In decreasing order; rounding may make a zero eigenvalue negative.
        self.eigenvalues_ = np.maximum(eigenvalues[::-1][:k], 0.0)
        directions = V[:, ::-1][:, :k].T
        # The largest entry of each direction is positive, so that the signs are deterministic.
        is_negative = directions.max(axis=1, initial=0.0) < -directions.min(axis=1, initial=0.0)
        self.components_ = np.where(is_negative[:, None], -directions, directions)

    def _n_landmarks(self):
        return self.n_landmarks

    @property
    def _n_features_out(self):
        return len(self.components_)
