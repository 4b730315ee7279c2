"""The best hypothesis in hindsight, which regret is measured against.

In the space a learner ends in, with features z of all points,

    w* = argmin_w sum_t l(y_t, z_t'w) + alpha |w|^2,

alpha the learner's own where it has one (the BATCH rows of [C17, Table 5.1]).

References
----------
[C17] Calandriello. Efficient sequential learning in structured and constrained environments.
      PhD thesis, 2017, Section 5.3.2.
"""

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from graphsqueak.online.losses import loss_of

__all__ = ["best_scores"]

_SMOOTHED = 0.01  # the hinge is rounded off over so much of the margin


def best_scores(features, targets, *, loss, alpha):
    """z_t'w* for every row of `features`.

    >>> best_scores(np.ones((2, 1)), np.ones(2), loss="squared", alpha=2.0)   # 2 / (2 + 2)
    array([0.5, 0.5])
    """
    loss = loss_of(loss)
    if not loss.is_classification:
        gram = features.T @ features + alpha * np.eye(features.shape[1])
        return features @ scipy.linalg.solve(gram, features.T @ targets, assume_a="pos")
    smooth = _rounded_hinge if loss.name == "hinge" else lambda y, z: _pair(loss, y, z)

    def objective(w):
        value, slope = smooth(targets, features @ w)
        return value.sum() + alpha * w @ w, features.T @ slope + 2 * alpha * w

    start = np.zeros(features.shape[1])
    w = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return features @ w


def _pair(loss, y, z):
    return loss.value(y, z), loss.derivative(y, z)


def _rounded_hinge(y, z):
    margin = 1 - y * z
    inside = np.clip(margin + _SMOOTHED, 0, 2 * _SMOOTHED)
    value = inside**2 / (4 * _SMOOTHED) + np.maximum(margin - _SMOOTHED, 0)
    return value, -y * inside / (2 * _SMOOTHED)
