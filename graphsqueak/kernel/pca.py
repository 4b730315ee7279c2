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

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from graphsqueak.kernel.nystrom import DictionaryEstimator, can_stream
from graphsqueak.validation import check_count

__all__ = ["NystromPCA"]


@dataclass(kw_only=True, eq=False, repr=False)
class NystromPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DictionaryEstimator):
    """Kernel PCA with the Nystrom approximation, from one pass or two.

    Parameters
    ----------
    n_components : int or None
        The rank k (at most the rank of the dictionary); None keeps all.
    center : bool
        Take the mean off the features first, as `sklearn.decomposition.KernelPCA` does.
    n_landmarks : int or None
        Number of atoms; None leaves it to the accuracy of the sampler.
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `transform` rows of
        kernel values to all training points.
    sampling : str or Dictionary
        "squeak" (one pass), "kors" (one pass; `n_landmarks` is a ceiling), "uniform", "exact",
        "two-step", "many-step", "recursive", "bless", or a dictionary with settings of its own.
    landmarks : array, optional
        Points, or row numbers of X, to be the atoms instead.
    ridge : float or "auto"
        Of the dictionary's leverage scores.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    eigenvalues_ : ndarray
        The k largest eigenvalues of K~ (of the centered one, if so asked).
    components_ : ndarray of shape (k, rank)
        The principal directions, in the coordinates z.
    mean_ : ndarray
        What is taken off the coordinates z: zero unless `center`.
    dictionary_ : Dictionary or None
        The sampler; None with landmarks of the user's.
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
        The atoms, their row numbers and their weights.
    embedding_ : Embedding
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

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Choose the atoms among the rows of X and find the components of all rows.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : ignored
        """
        points = self._check_points(X, reset=True)
        self._choose(points, stream=False)
        return self._solve(self._sum_features(points, np.zeros((len(points), 0))))

    @available_if(can_stream)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Take in more rows, and forget them.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : ignored
        """
        fresh = not self.__sklearn_is_fitted__()
        points = self._check_points(X, reset=fresh)
        self._choose(points, stream=True)
        return self._solve(self._add_to_sums(points, np.zeros((len(points), 0)), fresh=fresh))

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Coordinates of the rows of X along the components.

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
