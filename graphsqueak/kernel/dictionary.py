"""What all dictionaries share: parameters, checks, what is kept, how accurate it is.

A dictionary is a few of the points (atoms) with weights s_i, such that sum_i s_i phi_i phi_i'
stands for the covariance of all points. Samplers differ in how they score points and when they see
them.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsqueak.errors import InputError
from graphsqueak.kernel.accuracy import accuracy_range
from graphsqueak.kernel.budget import batch_copies, practical_copies
from graphsqueak.kernel.kernels import bind
from graphsqueak.validation import check_choice, check_count, check_real

__all__ = ["ATOMS_PER_DIMENSION", "Atoms", "Dictionary", "ridge_for_dimension"]

ATOMS_PER_DIMENSION = 4  # with ridge="auto"; 2 favors outlying points, 8 the bulk of them


class Atoms(NamedTuple):
    """Kept points: their row numbers, the points as the kernel takes them, and the weights."""

    rows: np.ndarray
    points: np.ndarray
    weight: np.ndarray


def ridge_for_dimension(eigenvalues, dimension):
    """The ridge g at which sum lam / (lam + g) is `dimension`.

    >>> round(ridge_for_dimension(np.ones(4), 1.0), 6)
    3.0
    """
    lam = eigenvalues[eigenvalues > 1e-13 * eigenvalues.max(initial=0.0)]
    if lam.size <= dimension:
        return float(max(lam.min(initial=1.0), np.finfo(np.float64).tiny))
    low, high = np.log(1e-6 * lam.min()), np.log(lam.sum() / dimension)
    root = brentq(lambda log_g: np.sum(lam / (lam + np.exp(log_g))) - dimension, low, high)
    return float(np.exp(root))


class Dictionary(BaseEstimator):
    """Base of the samplers; see their own pages for how they draw.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K (n lambda of the normalized papers).
        "auto", with `n_components` only: a quarter as many effective dimensions as components.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise `n_copies`, or as many
        copies as `epsilon` needs.
    epsilon, budget, delta
        Accuracy asked for, with the constants of the proofs and probability 1 - delta (budget=
        "theory") or without them ("practical"); see `budget`.
    n_copies : int, optional
        Copies per point, instead of `epsilon`'s.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge and the copies used (None with `n_components`), and how many points were seen.
    """

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        ridge=1.0,
        n_components=None,
        epsilon=0.5,
        budget="practical",
        delta=0.1,
        n_copies=None,
        random_state=None,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.ridge = ridge
        self.n_components = n_components
        self.epsilon = epsilon
        self.budget = budget
        self.delta = delta
        self.n_copies = n_copies
        self.random_state = random_state

    _fixed_size = True  # n_components is the number of atoms, not a ceiling

    def accuracy(self, X):
        """The measured epsilon: how far the dictionary is from all points seen, X.

        The least e such that it is (e, ridge_)-accurate; 1 or more when a direction is lost
        (see `accuracy_range` for the two sides).
        """
        return max(map(abs, self.accuracy_range(X)))

    def accuracy_range(self, X):
        """Extreme eigenvalues of C (I - diag(s)) C: negative what weighs too much, else missing."""
        check_is_fitted(self)
        kernel, points = self._bound(X, reset=False)
        if len(points) != self.n_seen_:
            raise InputError(
                f"X has {len(points)} rows but the dictionary has seen {self.n_seen_}; "
                "give all points in the order in which they came"
            )
        return accuracy_range(kernel, points, self.indices_, self.weights_, ridge=self.ridge_)

    @property
    def indices_(self):
        return self._kept().rows

    @property
    def weights_(self):
        return self._kept().weight

    @property
    def components_(self):
        return self._kept().points

    def _held(self):
        """All points that a stream holds, at least those that it shows."""
        return self._kept().points

    def __sklearn_is_fitted__(self):
        return getattr(self, "n_seen_", 0) > 0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._precomputed()
        return tags

    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _bound(self, X, *, reset):
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        return bind(self.kernel, self.kernel_params, X)

    def _check(self):
        """Refuse parameters that mean nothing."""
        check_real("epsilon", self.epsilon, above=0.0, below=1.0)
        check_real("delta", self.delta, above=0.0, below=1.0)
        check_choice("budget", self.budget, ("practical", "theory"))
        if self.n_components is not None:
            check_count("n_components", self.n_components)
            if self.n_copies is not None and self._fixed_size:
                raise InputError("give n_components or n_copies, not both")
        if self.n_copies is not None:
            check_count("n_copies", self.n_copies)
        if isinstance(self.ridge, str):
            check_choice("ridge", self.ridge, ("auto",))
            if self.n_components is None:
                raise InputError("ridge='auto' needs n_components; give a number for ridge")
        else:
            check_real("ridge", self.ridge, above=0.0)

    def _copies(self, n_points, *, rho, theory=batch_copies, n_draws=1, scale=1.0):
        """Copies for this many points, or None when the number of atoms is fixed.

        Each of `n_draws` dictionaries may fail with probability delta / n_draws.
        """
        if self.n_components is not None and self._fixed_size:
            return None
        if self.n_copies is not None:
            return self.n_copies
        if self.budget == "theory":
            delta = self.delta / n_draws
            copies = theory(self.epsilon, delta=delta, n_points=n_points, rho=rho)
        else:
            copies = practical_copies(self.epsilon, n_points=n_points, rho=rho)
        return int(np.ceil(scale * copies))
