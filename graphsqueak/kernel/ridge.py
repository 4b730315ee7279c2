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

import numpy as np
import scipy.linalg
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.kernel.landmarks import DictionaryEstimator, streams
from graphsqueak.validation import check_real

__all__ = ["NystromRidge"]


class NystromRidge(RegressorMixin, DictionaryEstimator):
    """Kernel ridge regression with the Nystrom approximation.

    `fit` chooses the dictionary first and then sums over all rows. `partial_fit` is one pass: sums
    over rows seen before are carried over to the new dictionary (see `feature_sums`).

    Parameters
    ----------
    alpha : float
        lam > 0 of the regression, in the units of the eigenvalues of K.
    kernel, kernel_params, n_components, sampling, landmarks, ridge, regularized, random_state
        As in `NystromTransformer`; `ridge` is that of the dictionary. sampling="squeak" draws a
        third of the atoms from all points alike (see `SQUEAK`).

    Attributes
    ----------
    coef_ : ndarray
        Of the features z.
    dictionary_, landmarks_, landmark_indices_, landmark_weights_, embedding_
        As in `NystromTransformer`.

    Examples
    --------
    For the linear kernel it is ridge regression, here x.y / (x.x + alpha) = 10 / 15:

    >>> X, y = np.array([[1.0], [3.0]]), np.array([1.0, 3.0])
    >>> NystromRidge(alpha=5.0, kernel="linear", random_state=7).fit(X, y).predict([[3.0]])
    array([2.])
    """

    _uniform_share = 1 / 3

    def __init__(
        self,
        *,
        alpha=1.0,
        kernel="rbf",
        kernel_params=None,
        n_components=100,
        sampling="squeak",
        landmarks=None,
        ridge="auto",
        regularized=False,
        random_state=None,
    ):
        self.alpha = alpha
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.sampling = sampling
        self.landmarks = landmarks
        self.ridge = ridge
        self.regularized = regularized
        self.random_state = random_state

    def fit(self, X, y):
        """Choose the atoms among the rows of X and solve."""
        X, targets = self._checked_pair(X, y, reset=True)
        self._choose(X, stream=False)
        return self._solve(self._summed(X, targets))

    @available_if(streams)
    def partial_fit(self, X, y):
        """Take in more rows, and forget them."""
        fresh = not self.__sklearn_is_fitted__()
        X, targets = self._checked_pair(X, y, reset=fresh)
        self._choose(X, stream=True)
        return self._solve(self._summed_on(X, targets, fresh=fresh))

    def predict(self, X):
        """f at the rows of X."""
        check_is_fitted(self)
        values = self._features(self._checked(X, reset=False)) @ self.coef_
        return values[:, 0] if self._flat else values

    def _checked_pair(self, X, y, *, reset):
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
