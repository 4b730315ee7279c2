"""A grid of kernel widths, mixed by exponential weights: nobody needs to know the width.

Copies of a learner with gamma = 4^k / features, k from -3 to 3, learn side by side, and the
prediction is their average with the weights

    p_t(k) ~ exp(-eta sum_{s < t} l(y_s, f_s(k))).

With eta = sigma, the curvature of the loss, the sum of the losses is at most that of the best copy
and log(copies) / sigma, however many rounds there are [CL06, Theorem 3.2]: 8 C^2 log 7 for the
squared loss. Where a loss has none, eta_t = (log(copies) / t)^1/2 / (L C), and the difference grows
with t^1/2.

References
----------
[CL06] Cesa-Bianchi, Lugosi. Prediction, learning, and games. Cambridge University Press, 2006.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from graphsqueak.errors import InputError
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.pros_n_kons import CONKONS
from graphsqueak.validation import check_count

__all__ = ["WidthMixture"]


@dataclass(kw_only=True, eq=False, repr=False)
class WidthMixture(OnlineLearner):
    """Copies of a learner with Gaussian kernels of several widths, mixed by their losses.

    Parameters
    ----------
    learner : OnlineLearner, optional
        What is copied; default: `CONKONS` with 100 atoms. Its kernel must be "rbf" or "gaussian",
        its loss and clip are those below.
    n_widths : int
        Copies, with gamma = 4^k / features, k around 0.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        The first three make a regressor, the others a classifier.
    tolerance : float, optional
        e of the second and third loss, see `loss_of`.
    clip : float
        C: predictions, and targets that are numbers, are within [-C, C].
    kernel, kernel_params
        Not used; the copies have their own.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, by all copies together, and rounds so far.
    shares_ : ndarray
        p, the weights of the copies now.
    gammas_ : ndarray
        Their widths.

    Examples
    --------
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(400, 1))
    >>> m = WidthMixture().fit(X, np.sin(9 * X[:, 0]))
    >>> m.gammas_[m.shares_.argmax()] >= 4, m.shares_.sum().round(6)
    (np.True_, np.float64(1.0))
    """

    learner: Any = None
    n_widths: int = 7

    @property
    def n_support_(self) -> int:
        """Points kept, by all copies together."""
        return sum(copy.n_support_ for copy in self._copies)

    @property
    def shares_(self) -> np.ndarray:
        """p, the weights of the copies now."""
        return self._shares(self._paid[None], self.n_rounds_)[0]

    def _begin(self, n_features):
        base = CONKONS(n_components=100) if self.learner is None else self.learner
        if not isinstance(base, OnlineLearner) or base.kernel not in ("rbf", "gaussian"):
            raise InputError(f"WidthMixture takes a learner with a Gaussian kernel, not {base!r}")
        if self.clip is None:
            raise InputError("WidthMixture needs a clip: losses without a bound cannot be mixed")
        n = check_count("n_widths", self.n_widths, least=2)
        self.gammas_ = 4.0 ** (np.arange(n) - (n - 1) // 2) / n_features
        alike = {"loss": self.loss, "tolerance": self.tolerance, "clip": self.clip}
        self._copies = [
            clone(base).set_params(kernel_params={"gamma": float(g)}, **alike) for g in self.gammas_
        ]
        for copy in self._copies:
            copy.classes_ = np.array([-1, 1])
            copy._start(n_features)
        self._paid = np.zeros(n)

    def _scores(self, points):
        each = np.column_stack([copy._scores(points) for copy in self._copies])
        return each @ self.shares_

    def _features_of(self, points):
        return np.hstack([copy._features_of(points) for copy in self._copies])

    def _learn(self, points, targets):
        each = np.column_stack([copy._take(points, targets) for copy in self._copies])
        each = np.clip(each, -self._bound(), self._bound())
        losses = self._loss().value(targets[:, None], each)
        paid = self._paid + np.cumsum(losses, axis=0)
        before = np.vstack([self._paid, paid[:-1]])
        shares = self._shares(before, self.n_rounds_ + np.arange(len(points))[:, None])
        self._paid = paid[-1]
        return np.einsum("ij,ij->i", shares, each)

    def _shares(self, paid, t):
        """p from what every copy has paid, a row for every round."""
        loss, clip = self._loss(), self._bound()
        eta = loss.sigma(clip)
        if eta == 0:
            eta = np.sqrt(np.log(self.n_widths) / (t + 1)) / (loss.lipschitz(clip) * clip)
        share = np.exp(-eta * (paid - paid.min(axis=1, keepdims=True)))
        return share / share.sum(axis=1, keepdims=True)
