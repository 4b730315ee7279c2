"""Mixture of models with different kernel widths, for data whose best width is not known.

Models with gamma = 4^k / n_features, k = -3, ..., 3, learn side by side. The prediction is their
average with exponential weights,

    p_t(k) ~ exp(-eta sum_{s < t} l(y_s, f_s(k))).

With eta = sigma, the curvature of the loss (`losses`), the total loss exceeds that of the best
model by at most log(7) / sigma after any number of rounds [CL06, Theorem 3.2]; for the squared loss
that is 8 C^2 log(7). For losses without curvature, eta_t = (log(7) / t)^1/2 / (L C), and the excess
grows with t^1/2. For the squared loss without a clip, C is the largest target so far.

References
----------
[CL06] Cesa-Bianchi, Lugosi. Prediction, learning, and games. Cambridge University Press, 2006.
"""

from collections.abc import Sequence

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.kernels import KernelLike
from graphsqueak.online.losses import Loss
from graphsqueak.online.model import OnlineModel


def width_grid(kernel: KernelLike, n_features: int) -> np.ndarray:
    """Return the values of gamma that are mixed.

    >>> width_grid("rbf", 4).tolist()
    [0.00390625, 0.015625, 0.0625, 0.25, 1.0, 4.0, 16.0]
    """
    if kernel not in ("rbf", "gaussian", "laplacian"):
        raise InputError(
            Parameter("kernel_params", "auto"),
            f" finds the width of a Gaussian or Laplacian kernel, not of {kernel!r}; give its "
            "parameters",
        )
    return 4.0 ** np.arange(-3, 4) / n_features


class WidthMixture(OnlineModel):
    """Models with different kernel widths, averaged with exponential weights.

    Learners with kernel_params="auto" create it as their attribute `mixture_`.

    Parameters
    ----------
    models : sequence of OnlineModel
        One per width.
    gammas : ndarray
        The widths.
    loss : Loss
    clip : float
        Bound C of the predictions; may be infinite for the squared loss.

    Attributes
    ----------
    models, gammas
        As given.
    weights : ndarray
        Current weight of each model; the sum is 1.

    Examples
    --------
    >>> from graphsqueak.online import CONKONS
    >>> X = np.random.default_rng(7).uniform(-1, 1, size=(400, 1))
    >>> m = CONKONS(kernel_params="auto", n_components=100, random_state=7)
    >>> mixture = m.fit(X, np.sin(9 * X[:, 0])).mixture_
    >>> bool(mixture.gammas[mixture.weights.argmax()] >= 4), float(mixture.weights.sum().round(6))
    (True, 1.0)
    """

    def __init__(
        self, models: Sequence[OnlineModel], gammas: np.ndarray, *, loss: Loss, clip: float
    ) -> None:
        if np.isinf(clip) and loss.name != "squared":
            raise InputError(
                Parameter("kernel_params", "auto"),
                " needs a clip for ",
                Parameter("loss", loss.name),
                ": unbounded losses cannot be mixed",
            )
        self.models = list(models)
        self.gammas = gammas
        self._loss = loss
        self._clip = clip
        # Replaces C if there is no clip; positive, because eta = 1 / (8 C^2).
        self._largest_target = float(np.finfo(np.float64).eps)
        self._total_losses = np.zeros(len(self.models))
        self._n_rounds = 0

    @property
    def n_support(self) -> int:
        """Number of support points of all models together."""
        return sum(model.n_support for model in self.models)

    @property
    def weights(self) -> np.ndarray:
        """The current weight of each model."""
        return self._weights(self._total_losses[None], self._n_rounds, self._bound())[0]

    def scores(self, points: np.ndarray) -> np.ndarray:
        """Return the weighted average of the scores of the models."""
        scores = np.column_stack([model.scores(points) for model in self.models])
        return np.clip(scores, -self._bound(), self._bound()) @ self.weights

    def features(self, points: np.ndarray) -> np.ndarray:
        """Return the coordinates of all models side by side."""
        return np.hstack([model.features(points) for model in self.models])

    def learn(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Run one round per point; return the averages before each update."""
        scores = np.column_stack([model.learn(points, targets) for model in self.models])
        # C of each round depends on the targets of earlier rounds only.
        bound = np.full((len(points), 1), self._bound())
        if np.isinf(self._clip):
            targets_so_far = np.append(self._largest_target, np.abs(targets))
            largest = np.maximum.accumulate(targets_so_far)
            bound[:, 0] = largest[:-1]
            self._largest_target = float(largest[-1])
        scores = np.clip(scores, -bound, bound)
        # The weights of a round depend on the losses of earlier rounds only.
        losses = self._loss.value(targets[:, None], scores)
        totals = self._total_losses + np.cumsum(losses, axis=0)
        totals_before = np.vstack([self._total_losses, totals[:-1]])
        rounds = self._n_rounds + np.arange(len(points))[:, None]
        weights = self._weights(totals_before, rounds, bound)
        self._total_losses = totals[-1]
        self._n_rounds += len(points)
        return np.einsum("ij,ij->i", weights, scores)

    def _bound(self):
        """Return C at present."""
        return self._largest_target if np.isinf(self._clip) else self._clip

    def _weights(self, total_losses, n_rounds, bound):
        """Return exponential weights, one row per row of total losses."""
        eta = self._loss.sigma(bound if np.isinf(self._clip) else self._clip)
        if self._loss.sigma(1.0) == 0:
            # Losses without curvature.
            largest_loss = self._loss.lipschitz(self._clip) * self._clip
            eta = np.sqrt(np.log(len(self.models)) / (n_rounds + 1)) / largest_loss
        # Subtracting the smallest loss changes no weight, and avoids underflow.
        excess = total_losses - total_losses.min(axis=1, keepdims=True)
        weights = np.exp(-eta * excess)
        return weights / weights.sum(axis=1, keepdims=True)
