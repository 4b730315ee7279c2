"""Gradient descent on random Fourier features: FOGD, and Dual-SGD, which also has support points.

For the Gaussian kernel exp(-g |x - y|^2) and frequencies u_i ~ N(0, 2 g I), i = 1, ..., D,

    z(x) = (cos(u_1'x), ..., sin(u_1'x), ...) / D^1/2,      E z(x)'z(y) = k(x, y)     [RR07].

FOGD is gradient descent on z [LHWZL16], w <- (1 - eta lam) w - eta l'(y, f) z with f = w'z clipped
(`gradient`). The programs of the authors omit the factor 1 / D^1/2, so their step size eta
corresponds to eta D here.

Dual-SGD has the hypothesis f = sum_i a_i k(x_i, .) + w'z(.) and the steps [SSSC11]

    f <- (1 - 1/t) f - 1 / (lam t) l'(y, f) k(x_t, .).

If there are more than `n_components` support points, the one with the smallest |a_i| moves to the
random features, w <- w + a_i z(x_i), which preserves f in expectation [LNNP16].

References
----------
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
[LNNP16]  Le, Nguyen, Nguyen, Phung. Dual space gradient descent for online learning. NIPS 2016.
[RR07]    Rahimi, Recht. Random features for large-scale kernel machines. NIPS 2007.
[SSSC11]  Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos. Mathematical Programming 127, 2011.
"""

from dataclasses import dataclass

import numpy as np

from graphsqueak.errors import InputError, Parameter
from graphsqueak.kernel.kernels import Kernel, NamedKernel
from graphsqueak.online.gradient import FeatureDescent, GradientLearner, GradientRule
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.online.support_set import SupportModel, SupportSet
from graphsqueak.randomness import RandomState
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_count, check_real


class FourierFeatures:
    """Random Fourier features z of a Gaussian kernel.

    >>> from graphsqueak.kernel.kernels import as_kernel
    >>> z = FourierFeatures(as_kernel(), 2, n_frequencies=5, rng=np.random.default_rng(7))
    >>> z(np.ones((3, 2))).shape, float(np.sum(z(np.ones((1, 2))) ** 2))
    ((3, 10), 1.0)
    """

    def __init__(
        self,
        kernel: Kernel,
        n_features: int,
        *,
        n_frequencies: int,
        rng: np.random.Generator,
    ) -> None:
        if not (isinstance(kernel, NamedKernel) and kernel.name == "rbf"):
            raise InputError(
                "random Fourier features are for ", Parameter("kernel", "rbf"), f", not {kernel!r}"
            )
        # u_i ~ N(0, 2 g I)
        gamma = kernel.gamma(n_features)
        self.frequencies = np.sqrt(2 * gamma) * rng.normal(size=(n_features, n_frequencies))

    @property
    def n_support(self):
        """Number of frequencies D; there are 2 D features."""
        return self.frequencies.shape[1]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return z of every point, one row each."""
        angles = points @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(self.n_support)


@dataclass(kw_only=True, eq=False, repr=False)
class FOGD(GradientLearner):
    """Fourier online gradient descent: a baseline whose rounds take O(n_components) time.

    Use it to compare learners on landmarks with random features of the same kernel.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        With one of the first three the learner is a regressor, otherwise a classifier.
    tolerance : float, optional
        The e of the loss, see `get_loss`; for "squared", smaller errors cause no step.
    clip : float or None
        Bound of the predictions.
    learning_rate, regularization : float
        Step size eta and regularization lam.
    n_components : int
        Number of frequencies D.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of frequencies (there are no support points) and of rounds.

    Examples
    --------
    >>> m = FOGD(learning_rate=0.25, random_state=7)
    >>> round(m.learn_one([1.0], 1.0).predict_one([1.0]), 6)     # 2 eta y |z|^2
    0.5
    """

    n_components: int = 400
    random_state: RandomState = None

    def _make_model(self, kernel, n_features):
        features = FourierFeatures(
            kernel,
            n_features,
            n_frequencies=check_count("n_components", self.n_components),
            rng=np.random.default_rng(self.random_state),
        )
        w = np.zeros(2 * features.n_support)
        return FeatureDescent(features, w, self._gradient_rule())


@dataclass(kw_only=True, eq=False, repr=False)
class DualSGD(OnlineLearner):
    """Dual space gradient descent: a baseline with O(n_components + n_frequencies) time per round.

    Use it to compare with learners that discard or project what exceeds their budget: here it moves
    to random features.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        With one of the first three the learner is a regressor, otherwise a classifier.
    tolerance : float, optional
        The e of the loss, see `get_loss`; for "squared", smaller errors cause no step.
    clip : float or None
        Bound of the predictions.
    regularization : float
        lam > 0. The first steps have size 1 / lam; for the squared loss lam < 1 diverges.
    n_components : int
        Largest number of support points.
    n_frequencies : int
        Number of random frequencies that represent the other points.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Numbers of support points and of rounds.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(500, 2))
    >>> m = DualSGD(loss="hinge", n_components=20, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.9
    (20, True)
    """

    clip: float | None = None
    regularization: float = 1.0
    n_components: int = 100
    n_frequencies: int = 400
    random_state: RandomState = None

    def _make_model(self, kernel, n_features):
        fourier = FourierFeatures(
            kernel,
            n_features,
            n_frequencies=check_count("n_frequencies", self.n_frequencies),
            rng=np.random.default_rng(self.random_state),
        )
        rule = GradientRule(
            self._loss().compiled,
            step_size=1 / check_real("regularization", self.regularization, above=0.0),
            shrinkage=1.0,
            clip=self._clip(),
        )
        capacity = check_count("n_components", self.n_components)
        return DualSGDModel(kernel, n_features, fourier, rule, capacity=capacity)


class DualSGDModel(SupportModel):
    """The model of `DualSGD`: f = sum_i a_i k(x_i, .) + w'z."""

    def __init__(
        self,
        kernel: Kernel,
        n_features: int,
        fourier: FourierFeatures,
        rule: GradientRule,
        *,
        capacity: int,
    ) -> None:
        self.support = SupportSet(kernel, n_features, capacity=capacity)
        self.fourier = fourier
        self.rule = rule
        self._coefficients = np.zeros(capacity)
        self._w = np.zeros(2 * fourier.n_support)
        # z of the support points, for the time when they leave.
        self._z = np.empty((capacity, len(self._w)))
        self._n_rounds = 0

    def learn(self, points, targets):
        """Run one round per point; return the earlier predictions."""
        out = np.empty(len(points))

        def run_rounds(rows, values, gram, source):
            size = _dual_rounds(
                values,
                gram,
                self.fourier(points[rows]),
                targets[rows],
                self._coefficients,
                self._w,
                self._z,
                self.support.size,
                self._n_rounds + rows.start,
                self.rule,
                source,
                out[rows],
            )
            return len(values), size

        self.support.run_blocks(points, run_rounds)
        self._n_rounds += len(points)
        return out

    def scores(self, points):
        """Return f at the points, clipped."""
        values = self.fourier(points) @ self._w
        # The support points, and those that were moved to the random features.
        values += self.support.values(points) @ self._coefficients[: self.support.size]
        return np.clip(values, -self.rule.clip, self.rule.clip)

    def features(self, points):
        """Return coordinates in the span of the support points, and z."""
        return np.hstack([self.support.features(points), self.fourier(points)])


@njit_cached(fastmath={"reassoc", "contract"})
def _dual_rounds(values, gram, z, targets, a, w, z_support, size, n_before, rule, source, out):
    """Run rounds on one block; return the number of support points."""
    for t in range(targets.size):
        value = 0.0
        for i in range(size):
            value += a[i] * values[t, i]
        for i in range(w.size):
            value += w[i] * z[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        slope = loss_slope(rule.loss, targets[t], out[t])
        # f <- (1 - 1/t) f
        shrinkage = 1.0 - 1.0 / (n_before + t + 1)
        for i in range(size):
            a[i] *= shrinkage
        for i in range(w.size):
            w[i] *= shrinkage
        if slope == 0:
            continue
        slot = size
        if size == a.size:
            # The point with the smallest coefficient moves to the random features.
            slot = np.argmin(np.abs(a))
            for i in range(w.size):
                w[i] += a[slot] * z_support[slot, i]
        else:
            size += 1
        # f <- f - 1 / (lam t) l' k(x_t, .)
        a[slot] = -rule.step_size * slope / (n_before + t + 1)
        z_support[slot] = z[t]
        source[slot] = t
        for later in range(t + 1, targets.size):
            values[later, slot] = gram[later, t]
    return size
