"""Kernel gradient descent without a budget (KernelOGD) and on Nystrom features (NOGD).

KernelOGD makes every point with a nonzero derivative of the loss a support point (`gradient`).

NOGD does the same until it has `n_components` support points. From the k largest eigenvalues of
their kernel matrix K = V diag(lam) V' it takes the features [LHWZL16, Section 4.2]

    z(x) = diag(lam_k)^-1/2 V_k' k_B(x),      w = diag(lam_k)^1/2 V_k' a,

with w'z the projection of the hypothesis so far, and continues with gradient descent in R^k.

References
----------
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
"""

from dataclasses import dataclass

import numpy as np

from graphsqueak.kernel.kernels import Kernel, as_kernel
from graphsqueak.online.gradient import (
    GradientLearner,
    GradientRule,
    KernelDescent,
    gradient_rounds,
)
from graphsqueak.online.model import OnlineModel
from graphsqueak.validation import check_count, check_real

__all__ = ["NOGD", "KernelOGD", "KernelOGDModel", "NOGDModel"]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelOGD(GradientLearner):
    """Kernel gradient descent without a budget: a baseline for short streams.

    A round takes O(t) time, and all points with a nonzero derivative of the loss are kept.

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

    def _make_model(self, n_features, kernel_params):
        kernel = as_kernel(self.kernel, kernel_params)
        return KernelOGDModel(KernelDescent(kernel, n_features, self._gradient_rule()))


class KernelOGDModel(OnlineModel):
    """The model of `KernelOGD`."""

    def __init__(self, descent: KernelDescent) -> None:
        self.descent = descent

    @property
    def n_support(self) -> int:
        """Number of support points."""
        return self.descent.support.size

    def learn(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Run one round per point; return the earlier predictions."""
        return self.descent.run(points, targets)

    def scores(self, points: np.ndarray) -> np.ndarray:
        """Return f at the points, clipped."""
        return self.descent.scores(points)

    def features(self, points: np.ndarray) -> np.ndarray:
        """Return the coordinates in the span of the support points."""
        return self.descent.support.features(points)


@dataclass(kw_only=True, eq=False, repr=False)
class NOGD(GradientLearner):
    """Nystrom online gradient descent: a baseline whose rounds take O(n_components * k) time.

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

    def _make_model(self, n_features, kernel_params):
        return NOGDModel(
            as_kernel(self.kernel, kernel_params),
            n_features,
            self._gradient_rule(),
            capacity=check_count("n_components", self.n_components),
            rank=check_real("rank", self.rank, above=0.0),
        )


class NOGDModel(OnlineModel):
    """The model of `NOGD`.

    Attributes
    ----------
    descent : KernelDescent
        The hypothesis until there are `capacity` support points.
    w : ndarray or None
        The hypothesis in R^k from then on.
    """

    def __init__(
        self, kernel: Kernel, n_features: int, rule: GradientRule, *, capacity: int, rank: float
    ) -> None:
        self.descent = KernelDescent(kernel, n_features, rule, capacity=capacity)
        self.w: np.ndarray | None = None
        self._map = np.empty((0, 0))
        self._rank = max(round(min(rank, 1.0) * capacity), 1)

    @property
    def n_support(self) -> int:
        """Number of support points."""
        return self.descent.support.size

    def learn(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Run one round per point; return the earlier predictions."""
        first = np.zeros(0)
        if self.w is None:
            first = self.descent.run(points, targets)
            if self.n_support == self.descent.support.capacity:
                self._fix_features()
        rest = slice(len(first), None)
        if self.w is None or not len(points[rest]):
            return first
        later = gradient_rounds(
            self.features, points[rest], targets[rest], self.w, self.descent.rule
        )
        return np.concatenate([first, later])

    def scores(self, points: np.ndarray) -> np.ndarray:
        """Return f at the points, clipped."""
        if self.w is None:
            return self.descent.scores(points)
        clip = self.descent.rule.clip
        return np.clip(self.features(points) @ self.w, -clip, clip)

    def features(self, points: np.ndarray) -> np.ndarray:
        """Return z(x), or coordinates in the span of the support points before z is fixed."""
        if self.w is None:
            return self.descent.support.features(points)
        return self.descent.support.values(points) @ self._map

    def _fix_features(self):
        """Compute z and w from the support points."""
        support = self.descent.support
        eigenvalues, V = np.linalg.eigh(support.kernel(support.points, support.points))
        # Smaller eigenvalues are rounding errors.
        is_kept = eigenvalues > 1e-12 * eigenvalues[-1]
        is_kept[: -self._rank] = False
        roots = np.sqrt(eigenvalues[is_kept])
        self._map = V[:, is_kept] / roots
        self.w = roots * (V[:, is_kept].T @ self.descent.coefficients)
