"""A grid of kernel widths, mixed by exponential weights: nobody needs to know the width.

Copies of a learner with gamma = 4^k / features, k from -3 to 3, learn side by side, and the
prediction is their average with the weights

    p_t(k) ~ exp(-eta sum_{s < t} l(y_s, f_s(k))).

With eta = sigma, the curvature of the loss, the sum of the losses is at most that of the best copy
and log(copies) / sigma, however many rounds there are [CL06, Theorem 3.2]: 8 C^2 log 7 for the
squared loss. Where a loss has none, eta_t = (log(copies) / t)^1/2 / (L C), and the difference grows
with t^1/2. Without a clip, for the squared loss, C is the largest target so far.

References
----------
[CL06] Cesa-Bianchi, Lugosi. Prediction, learning, and games. Cambridge University Press, 2006.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

from graphsqueak.errors import InputError, Parameter

__all__ = ["WidthMixture"]

_N_WIDTHS = 7
_LEAST = 1e-12  # C, before a target was seen


class WidthMixture:
    """Copies of a learner with kernels of several widths, mixed by their losses.

    What a learner with kernel_params="auto" is made of, as its attribute `mixture_`.

    Parameters
    ----------
    learner : OnlineLearner
        What is copied. Its kernel is "rbf", "gaussian" or "laplacian", and it has a clip, or the
        squared loss.
    n_features : int
        Of the points to come.
    n_widths : int
        Copies, with gamma = 4^k / n_features, k around 0.

    Attributes
    ----------
    gammas : ndarray
        The widths of the copies.
    copies : list of OnlineLearner
        Each a learner of its own.

    Examples
    --------
    >>> from graphsqueak.online import CONKONS
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(400, 1))
    >>> m = CONKONS(kernel_params="auto", n_components=100, random_state=7)
    >>> mixture = m.fit(X, np.sin(9 * X[:, 0])).mixture_
    >>> mixture.gammas[mixture.shares.argmax()] >= 4, mixture.shares.sum().round(6)
    (np.True_, np.float64(1.0))
    """

    def __init__(self, learner: Any, n_features: int, *, n_widths: int = _N_WIDTHS) -> None:
        if learner.kernel not in ("rbf", "gaussian", "laplacian"):
            raise InputError(
                Parameter("kernel_params", "auto"),
                " finds the width of a Gaussian or Laplacian kernel, not of "
                f"{learner.kernel!r}; give its parameters",
            )
        self._loss, self._clip, self._largest = learner._loss(), learner._bound(), _LEAST
        if learner.clip is None and self._loss.name != "squared":
            raise InputError(
                Parameter("kernel_params", "auto"),
                " needs a clip for ",
                Parameter("loss", self._loss.name),
                ": losses without a bound cannot be mixed",
            )
        self.gammas = 4.0 ** (np.arange(n_widths) - (n_widths - 1) // 2) / n_features
        self.copies = [
            clone(learner).set_params(kernel_params={"gamma": float(g)}) for g in self.gammas
        ]
        for copy in self.copies:
            copy.classes_ = np.array([-1, 1])
            copy._start(n_features)
        self._paid, self._n_rounds = np.zeros(n_widths), 0

    @property
    def n_support(self) -> int:
        """Points kept, by all copies together."""
        return sum(copy.n_support_ for copy in self.copies)

    @property
    def shares(self) -> np.ndarray:
        """p, the weights of the copies now."""
        return self._shares(self._paid[None], self._n_rounds, self._bound())[0]

    def _bound(self):
        """C, as things stand."""
        return self._largest if np.isinf(self._clip) else self._clip

    def scores(self, points: np.ndarray) -> np.ndarray:
        """The average of the copies' scores."""
        each = np.column_stack([copy._scores(points) for copy in self.copies])
        return np.clip(each, -self._bound(), self._bound()) @ self.shares

    def features_of(self, points: np.ndarray) -> np.ndarray:
        """The coordinates of all copies."""
        return np.hstack([copy._features_of(points) for copy in self.copies])

    def learn(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """A round for every point; the averages before each update."""
        each = np.column_stack([copy._take(points, targets) for copy in self.copies])
        bound = np.full((len(points), 1), self._bound())
        if np.isinf(self._clip):
            largest = np.maximum.accumulate(np.append(self._largest, np.abs(targets)))
            bound[:, 0], self._largest = largest[:-1], float(largest[-1])
        each = np.clip(each, -bound, bound)
        losses = self._loss.value(targets[:, None], each)
        paid = self._paid + np.cumsum(losses, axis=0)
        before = np.vstack([self._paid, paid[:-1]])
        shares = self._shares(before, self._n_rounds + np.arange(len(points))[:, None], bound)
        self._paid, self._n_rounds = paid[-1], self._n_rounds + len(points)
        return np.einsum("ij,ij->i", shares, each)

    def _shares(self, paid, t, bound):
        """p from what every copy has paid, a row for every round, and C."""
        if self._loss.name == "squared":
            eta = self._loss.sigma(bound)
        elif (eta := self._loss.sigma(self._clip)) == 0:
            steepest = self._loss.lipschitz(self._clip) * self._clip
            eta = np.sqrt(np.log(self._paid.size) / (t + 1)) / steepest
        share = np.exp(-eta * (paid - paid.min(axis=1, keepdims=True)))
        return share / share.sum(axis=1, keepdims=True)
