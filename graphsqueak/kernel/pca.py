"""Kernel principal components within the span of a dictionary.

With the features z of `embedding` and Z'Z = sum z z' = V diag(lam) V', the best rank-k projection
inside the span of the atoms keeps the first k columns of V. For an (e, g)-accurate dictionary with
g <= OPT_k / k its cost is

    trace(K) - sum_{i <= k} lam_i(K~) <= OPT_k / (1 - e),

OPT_k the cost of the best rank-k projection of all. [C17, Theorem 4.6] bounds the projection on the
whole span, of rank |I|, by 2 / (1 - e) OPT_k; that one is not of rank k.

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017.
"""

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from graphsqueak.kernel.landmarks import DictionaryEstimator, streams
from graphsqueak.validation import check_count

__all__ = ["NystromPCA"]


class NystromPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DictionaryEstimator):
    """Kernel PCA with the Nystrom approximation, from one pass or two.

    Parameters
    ----------
    n_components : int or None
        The rank k (at most the rank of the dictionary); None keeps all.
    center : bool
        Take the mean off the features first, as `sklearn.decomposition.KernelPCA` does.
    n_landmarks : int or None
        Number of atoms.
    kernel, kernel_params, sampling, landmarks, ridge, random_state
        As in `NystromTransformer`.

    Attributes
    ----------
    eigenvalues_ : ndarray
        The k largest eigenvalues of K~ (of the centered one, if so asked).
    components_ : ndarray of shape (k, rank)
        The principal directions, in the coordinates z.
    dictionary_, landmarks_, landmark_indices_, landmark_weights_, embedding_
        As in `NystromTransformer`.

    Examples
    --------
    >>> X = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    >>> pca = NystromPCA(n_components=1, kernel="linear", random_state=7).fit(X)
    >>> pca.eigenvalues_, pca.transform(X).round(6) + 0.0
    (array([25.]), array([[3.],
           [4.],
           [0.]]))
    """

    def __init__(
        self,
        *,
        n_components=2,
        center=False,
        n_landmarks=100,
        kernel="rbf",
        kernel_params=None,
        sampling="squeak",
        landmarks=None,
        ridge="auto",
        random_state=None,
    ):
        self.n_components = n_components
        self.center = center
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.sampling = sampling
        self.landmarks = landmarks
        self.ridge = ridge
        self.random_state = random_state

    def fit(self, X, y=None):
        """Choose the atoms among the rows of X and find the components of all rows."""
        X = self._checked(X, reset=True)
        self._choose(X, stream=False)
        return self._solve(self._summed(X, np.zeros((len(X), 0))))

    @available_if(streams)
    def partial_fit(self, X, y=None):
        """Take in more rows, and forget them."""
        fresh = not self.__sklearn_is_fitted__()
        X = self._checked(X, reset=fresh)
        self._choose(X, stream=True)
        return self._solve(self._summed_on(X, np.zeros((len(X), 0)), fresh=fresh))

    def transform(self, X):
        """Coordinates of the rows of X along the components."""
        check_is_fitted(self)
        z = self._features(self._checked(X, reset=False))
        return (z - self.mean_) @ self.components_.T

    def _solve(self, sums):
        self.mean_ = sums.total / sums.n_points if self.center else np.zeros(len(sums.total))
        gram = sums.gram - sums.n_points * np.outer(self.mean_, self.mean_)
        eigenvalues, V = np.linalg.eigh(gram)
        rank = len(gram)
        if self.n_components is not None:
            rank = min(rank, check_count("n_components", self.n_components))
        self.eigenvalues_ = np.maximum(eigenvalues[::-1][:rank], 0.0)
        directions = V[:, ::-1][:, :rank].T
        largest = np.argmax(np.abs(directions), axis=1) if rank else np.zeros(0, int)
        sign = np.sign(directions[np.arange(rank), largest])
        self.components_ = directions * sign[:, None]
        return self

    def _n_atoms(self):
        return self.n_landmarks

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")
