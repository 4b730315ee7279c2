"""Kernel ridge regression on a dictionary: one pass, and m kernel evaluations a prediction.

The exact weights w = (K + lam I)^-1 y minimize |y - K w|^2 + lam w'K w ([C17, Eq. 4.2] prints
lam |w|^2, which has another minimum). With K~ for K everywhere, in training and prediction, it is
ridge regression on the features z of `embedding`:

    f(x) = z(x)' (Z'Z + lam I)^-1 Z'y.

Not regularized this is [RCR15] and [C17, Eq. 4.6]; regularized, with C = K S, V = S'K S + g I,

    w~ = (y - C (C'C + lam V)^-1 C'y) / lam,     f(x) = k_I(x)' W^1/2 (C'C + lam V)^-1 C'y,

[C17, Eq. 4.5], which prints S'K S for C'C. Predicting with K w~ breaks the guarantee. In a fixed
design R(K~) <= (1 + c / lam)^2 R(K), c = e g / (1 - e), or g / (1 - e) for the regularized form.

References
----------
[C17]   Calandriello. Efficient sequential learning in structured and constrained environments.
        PhD thesis, 2017.
[RCR15] Rudi, Camoriano, Rosasco. Less is more: Nystrom computational regularization. NeurIPS 2015.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.kernel.nystrom import DictionaryEstimator, can_stream
from graphsqueak.validation import check_real

__all__ = ["NystromRidge"]


@dataclass(kw_only=True, eq=False, repr=False)
class NystromRidge(RegressorMixin, DictionaryEstimator):
    """Kernel ridge regression with the Nystrom approximation.

    `fit` chooses the dictionary first and then sums over all rows. `partial_fit` is one pass: sums
    over rows seen before are carried over to the new dictionary (see `embedding`).

    Parameters
    ----------
    alpha : float
        lam > 0 of the regression, in the units of the eigenvalues of K.
    kernel, kernel_params
        See `as_kernel`. With "precomputed", `fit` takes the kernel matrix and `predict` rows of
        kernel values to all training points.
    n_components : int or None
        Number of atoms; None leaves it to the accuracy of the sampler.
    sampling : str or Dictionary
        "squeak" (one pass; a third of the atoms is drawn from all points alike), "kors" (one pass;
        `n_components` is a ceiling), "uniform", "exact", "two-step", "many-step", "recursive",
        "bless", or a dictionary with settings of its own.
    landmarks : array, optional
        Points, or row numbers of X, to be the atoms instead.
    ridge : float or "auto"
        Of the dictionary's leverage scores, and of the regularized form.
    regularized : bool
        Use K_nI (K_II + ridge W^-1)^-1 K_In for K; its risk has the larger factor (see above).
    random_state : int, numpy Generator or None

    Attributes
    ----------
    coef_ : ndarray
        Of the features z.
    dictionary_ : Dictionary or None
        The sampler; None with landmarks of the user's.
    landmarks_, landmark_indices_, landmark_weights_ : ndarray
        The atoms, their row numbers and their weights.
    embedding_ : Embedding
        The coordinates of their span.

    Examples
    --------
    For the linear kernel it is ridge regression, here x.y / (x.x + alpha) = 10 / 15:

    >>> X, y = np.array([[1.0], [3.0]]), np.array([1.0, 3.0])
    >>> NystromRidge(alpha=5.0, kernel="linear", random_state=7).fit(X, y).predict([[3.0]])
    array([2.])
    """

    alpha: float = 1.0
    n_components: int | None = 100
    regularized: bool = False

    _uniform_share = 1 / 3

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the atoms among the rows of X and solve.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or their kernel matrix.
        y : array of shape (n,) or (n, targets)
        """
        points, targets = self._check_pair(X, y, reset=True)
        self._choose(points, stream=False)
        return self._solve(self._sum_features(points, targets))

    @available_if(can_stream)
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take in more rows, and forget them.

        Parameters
        ----------
        X : array of shape (n, d)
            Points.
        y : array of shape (n,) or (n, targets)
        """
        fresh = not self.__sklearn_is_fitted__()
        points, targets = self._check_pair(X, y, reset=fresh)
        self._choose(points, stream=True)
        return self._solve(self._add_to_sums(points, targets, fresh=fresh))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """f at the rows of X.

        Parameters
        ----------
        X : array of shape (n, d)
            Points, or rows of kernel values to all training points.

        Returns
        -------
        ndarray of shape (n,) or (n, targets)
        """
        check_is_fitted(self)
        values = self._features(self._check_points(X, reset=False)) @ self.coef_
        return values[:, 0] if self._flat else values

    def _check_pair(self, X, y, *, reset):
        check_real("alpha", self.alpha, above=0.0)
        X, y = validate_data(
            self, X, y, dtype=np.float64, reset=reset, multi_output=True, y_numeric=True
        )
        self._flat = y.ndim == 1
        return X, y.reshape(len(y), -1).astype(np.float64)

    def _solve(self, sums):
        gram, moment, F = sums.gram, sums.moment, None
        if self.regularized:
            F = self.embedding_.regularizer(self.landmark_weights_, self._regularization_ridge())
            gram, moment = F.T @ gram @ F, F.T @ moment
        shifted = gram + self.alpha * np.eye(len(gram))
        solution = scipy.linalg.solve(shifted, moment, assume_a="pos")
        self.coef_ = solution if F is None else F @ solution
        return self

    def _n_atoms(self):
        return self.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")
