"""Online gradient descent, for features in R^k and for kernel expansions.

With the step size eta and the regularization lam [KSW04, Section III],

    w <- (1 - eta lam) w - eta l'(y, f) z,          f = w'z, clipped,
    a_i <- (1 - eta lam) a_i,   a_t = -eta l'(y, f),   f = sum_i a_i k(x_i, .), clipped.

In the second form, a point with l' = 0 does not become a support point.

References
----------
[KSW04] Kivinen, Smola, Williamson. Online learning with kernels. IEEE Trans. Signal Processing
        52(8), 2004.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphsqueak.kernel.kernels import Kernel
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import CompiledLoss, loss_slope
from graphsqueak.online.model import OnlineModel
from graphsqueak.online.support_set import SupportModel, SupportSet
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_real

# Points whose features are computed in one call: 8 MB for 1,000 features. With 256, NOGD took twice
# as long (20,000 points, 100 support points) and FOGD the same time.
POINTS_PER_FEATURE_BLOCK = 1024


class GradientRule(NamedTuple):
    """Loss, step size eta, shrinkage 1 - eta lam and clip, for compiled functions."""

    loss: CompiledLoss
    step_size: float
    shrinkage: float
    clip: float


class KernelDescent(SupportModel):
    """Gradient descent on f = sum_i a_i k(x_i, .), up to a largest number of support points.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> from graphsqueak.online.losses import get_loss
    >>> rule = GradientRule(get_loss("squared").compiled, 0.25, 1.0, 9.0)
    >>> f = KernelDescent(as_kernel("linear"), 1, rule)
    >>> f.learn(np.ones((2, 1)), np.ones(2)), f.coefficients
    (array([0. , 0.5]), array([0.5 , 0.25]))
    """

    def __init__(self, kernel, n_features, rule, *, capacity=None):
        self.rule = rule
        self.support = SupportSet(kernel, n_features, capacity=capacity)
        self.coefficients = np.zeros(0)

    @property
    def is_full(self):
        """Whether the largest number of support points is reached."""
        return self.support.size == self.support.capacity

    def scores(self, points):
        """Return f at the points, clipped."""
        values = self.support.values(points) @ self.coefficients
        return np.clip(values, -self.rule.clip, self.rule.clip)

    def learn(self, points, targets):
        """Run one round per point until `is_full`; return the predictions of these rounds."""
        out = np.empty(len(points))

        def run_rounds(rows, values, gram, source):
            # The block may add a coefficient per slot.
            coefficients = np.zeros(len(source))
            coefficients[: self.support.size] = self.coefficients
            n_run, size = _expansion_rounds(
                values,
                gram,
                targets[rows],
                coefficients,
                self.support.size,
                self.support.capacity or np.iinfo(np.int64).max,
                self.rule,
                source,
                out[rows],
            )
            self.coefficients = coefficients[:size]
            return n_run, size

        return out[: self.support.run_blocks(points, run_rounds)]


class LandmarkFeatures(NamedTuple):
    """The feature map z(x) = Q' k_landmarks(x).

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> z = LandmarkFeatures(as_kernel("linear"), np.array([[2.0]]), np.array([[1.0, 3.0]]))
    >>> z(np.array([[1.0]]))
    array([[2., 6.]])
    """

    kernel: Kernel
    landmarks: np.ndarray
    Q: np.ndarray

    def __call__(self, points):
        """Return z of every point, one row each."""
        return self.kernel(points, self.landmarks) @ self.Q

    @property
    def n_support(self):
        """Number of landmarks."""
        return len(self.landmarks)


class FeatureDescent(OnlineModel):
    """Gradient descent on f = w'z, for a feature map z, from a given w.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> from graphsqueak.online.losses import get_loss
    >>> z = LandmarkFeatures(as_kernel("linear"), np.ones((1, 1)), np.ones((1, 1)))
    >>> rule = GradientRule(get_loss("squared").compiled, 0.25, 1.0, 9.0)
    >>> f = FeatureDescent(z, np.zeros(1), rule)
    >>> f.learn(np.ones((2, 1)), np.ones(2))
    array([0. , 0.5])
    """

    def __init__(self, feature_map, w, rule):
        self.feature_map = feature_map
        self.w = w
        self.rule = rule

    @property
    def n_support(self):
        """Number of landmarks or of frequencies."""
        return self.feature_map.n_support

    def scores(self, points):
        """Return f at the points, clipped."""
        return np.clip(self.feature_map(points) @ self.w, -self.rule.clip, self.rule.clip)

    def features(self, points):
        """Return z of every point."""
        return self.feature_map(points)

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = np.empty(len(points))
        for start in range(0, len(points), POINTS_PER_FEATURE_BLOCK):
            rows = slice(start, start + POINTS_PER_FEATURE_BLOCK)
            # One memory layout, so that the rounds are compiled once.
            features = np.ascontiguousarray(self.feature_map(points[rows]))
            _feature_rounds(features, targets[rows], self.w, self.rule, out[rows])
        return out


@dataclass(kw_only=True, eq=False, repr=False)
class GradientLearner(OnlineLearner):
    """Base class of the learners that take gradient steps of constant size."""

    clip: float | None = None
    learning_rate: float = 0.1
    regularization: float = 0.0

    def _gradient_rule(self):
        step_size = check_real("learning_rate", self.learning_rate, above=0.0)
        lam = check_real("regularization", self.regularization, least=0.0)
        shrinkage = max(1 - step_size * lam, 0.0)
        return GradientRule(self._loss().compiled, step_size, shrinkage, self._clip())


@njit_cached(fastmath={"reassoc", "contract"})
def _feature_rounds(features, targets, w, rule, out):
    for t in range(targets.size):
        value = 0.0
        for i in range(w.size):
            value += w[i] * features[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        # eta l'(y, f)
        step = rule.step_size * loss_slope(rule.loss, targets[t], out[t])
        if step == 0 and rule.shrinkage == 1:
            continue
        for i in range(w.size):
            # w <- (1 - eta lam) w - eta l'(y, f) z
            w[i] = rule.shrinkage * w[i] - step * features[t, i]


@njit_cached(fastmath={"reassoc", "contract"})
def _expansion_rounds(values, gram, targets, a, size, capacity, rule, source, out):
    """Run rounds until `capacity` is reached; return the numbers of rounds and support points."""
    for t in range(targets.size):
        if size == capacity:
            return t, size
        value = 0.0
        for i in range(size):
            value += a[i] * values[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        slope = loss_slope(rule.loss, targets[t], out[t])
        if rule.shrinkage != 1:
            for i in range(size):
                a[i] *= rule.shrinkage
        if slope != 0:
            # a_t = -eta l'(y, f)
            a[size] = -rule.step_size * slope
            source[size] = t
            # Later points of the block need their kernel values to the new support point.
            for later in range(t + 1, targets.size):
                values[later, size] = gram[later, t]
            size += 1
    return targets.size, size
