"""Kernel gradient descent without a budget (KernelOGD) and on Nystrom features (NOGD).

KernelOGD takes the steps (`gradient`) [KSW04]

    a_i <- (1 - eta lam) a_i,   a_t = -eta l'(y, f),   f = sum_i a_i k(x_i, .), clipped,

so that every point with a nonzero derivative of the loss becomes a support point.

NOGD does the same until it has `n_components` support points. From the k largest eigenvalues of
their kernel matrix K = V diag(lam) V' it takes the features [LHWZL16, Section 4.2]

    z(x) = diag(lam_k)^-1/2 V_k' k_B(x),      w = diag(lam_k)^1/2 V_k' a,

with w'z the projection of the hypothesis so far, and continues in R^k with the steps
w <- (1 - eta lam) w - eta l'(y, f) z.

References
----------
[KSW04]   Kivinen, Smola, Williamson. Online learning with kernels. IEEE Trans. Signal Processing
          52(8), 2004.
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
"""

from dataclasses import dataclass

import numpy as np

from graphsqueak.online.gradient import (
    FeatureDescent,
    GradientLearner,
    KernelDescent,
    LandmarkFeatures,
)
from graphsqueak.online.model import OnlineModel
from graphsqueak.validation import check_count, check_real


@dataclass(kw_only=True, eq=False, repr=False)
class KernelOGD(GradientLearner):
    """Kernel gradient descent without a budget: a baseline for short streams.

    Use it to see what a budget costs. A round takes O(t) time, and all points with a nonzero
    derivative of the loss are kept.

    Parameters
    ----------
    kernel, kernel_params
        See `graphsqueak.kernel.as_kernel`.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        With one of the first three the learner is a regressor, otherwise a classifier.
    tolerance : float, optional
        The e of the loss, see `get_loss`; for "squared", smaller errors cause no step.
    clip : float or None
        Bound of the predictions.
    learning_rate, regularization : float
        Step size eta and regularization lam.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.

    Examples
    --------
    >>> m = KernelOGD(kernel="linear", learning_rate=0.25)
    >>> m.learn_one([1.0], 1.0).predict_one([1.0])     # 2 eta y
    0.5
    """

    def _make_model(self, kernel, n_features):
        return KernelDescent(kernel, n_features, self._gradient_rule())


@dataclass(kw_only=True, eq=False, repr=False)
class NOGD(GradientLearner):
    """Nystrom online gradient descent: a baseline whose rounds take O(n_components * k) time.

    Use it to compare second-order learners with gradient descent on as many support points.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As for `KernelOGD`.
    learning_rate, regularization : float
        Step size eta and regularization lam, before and after the features are fixed.
    n_components : int
        Number of support points.
    rank : float
        k as a fraction of `n_components`; the authors use 0.2.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(200, 2))
    >>> NOGD(n_components=30).fit(X, X[:, 0]).n_support_
    30
    """

    n_components: int = 100
    rank: float = 0.2

    def _make_model(self, kernel, n_features):
        capacity = check_count("n_components", self.n_components)
        fraction = min(check_real("rank", self.rank, above=0.0), 1.0)
        descent = KernelDescent(kernel, n_features, self._gradient_rule(), capacity=capacity)
        return NOGDModel(descent, rank=max(round(fraction * capacity), 1))


class NOGDModel(OnlineModel):
    """The model of `NOGD`: first one kind of gradient descent, then the other."""

    def __init__(self, descent, *, rank):
        self._descent = descent
        self._rank = rank

    @property
    def n_support(self):
        """Number of support points."""
        return self._descent.n_support

    def scores(self, points):
        """Return f at the points, clipped."""
        return self._descent.scores(points)

    def features(self, points):
        """Return z(x), or coordinates in the span of the support points before z is fixed."""
        return self._descent.features(points)

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = self._descent.learn(points, targets)
        if isinstance(self._descent, KernelDescent) and self._descent.is_full:
            self._descent = self._project(self._descent)
            rest = slice(len(out), None)
            out = np.append(out, self._descent.learn(points[rest], targets[rest]))
        return out

    def _project(self, descent):
        """Project the hypothesis on the leading eigenvectors of the kernel matrix."""
        support = descent.support
        eigenvalues, V = np.linalg.eigh(support.kernel(support.points, support.points))
        # Smaller eigenvalues are rounding errors.
        is_kept = eigenvalues > 1e-12 * eigenvalues[-1]
        is_kept[: -self._rank] = False
        roots = np.sqrt(eigenvalues[is_kept])
        # z = diag(lam)^-1/2 V' k, w = diag(lam)^1/2 V' a
        feature_map = LandmarkFeatures(support.kernel, support.points, V[:, is_kept] / roots)
        w = roots * (V[:, is_kept].T @ descent.coefficients)
        return FeatureDescent(feature_map, w, descent.rule)
