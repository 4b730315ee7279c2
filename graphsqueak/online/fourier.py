"""Gradient descent on random Fourier features: FOGD, and Dual-SGD with some points beside them.

For the Gaussian kernel exp(-g |x - y|^2) and frequencies u_i ~ N(0, 2 g I), i = 1, ..., D,

    z(x) = (cos(u_1'x), sin(u_1'x), ...) / D^1/2,      E z(x)'z(y) = k(x, y)

[RR07]. FOGD is gradient descent (`gradient`) on z [LHWZL16]. The authors' programs leave out
1 / D^1/2, so their step eta is eta D here.

Dual-SGD has the hypothesis f = sum_i a_i k(x_i, .) + w'z(.) and the steps

    f <- (1 - 1/t) f - 1 / (lam t) l'(y, f) k(x_t, .)

[SSSC11]. Once there are more than `n_components` points, the one with the least |a_i| is moved:
w <- w + a_i z(x_i), which keeps f in expectation [LNNP16].

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
from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.kernel.kernels import KernelLike, KernelParams, as_kernel, gaussian_gamma
from graphsqueak.online.gradient import GradientLearner, GradientRule, descend
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.randomness import RandomState
from graphsqueak.system.kernels import njit_cached
from graphsqueak.validation import check_count, check_real

__all__ = ["FOGD", "DualSGD", "FourierFeatures"]

_BLOCK = 128


class FourierFeatures:
    """z above, for a kernel as users write it; Gaussian only.

    >>> z = FourierFeatures("rbf", None, 2, n_components=5, rng=np.random.default_rng(7))
    >>> z(np.ones((3, 2))).shape, float(np.sum(z(np.ones((1, 2))) ** 2))
    ((3, 10), 1.0)
    """

    def __init__(
        self,
        kernel: KernelLike,
        kernel_params: KernelParams,
        n_features: int,
        *,
        n_components: int,
        rng: np.random.Generator,
    ) -> None:
        if kernel not in ("rbf", "gaussian"):
            raise InputError(
                "random Fourier features are for ", Parameter("kernel", "rbf"), f", not {kernel!r}"
            )
        gamma = gaussian_gamma(kernel_params, n_features)
        self.frequencies = np.sqrt(2 * gamma) * rng.normal(size=(n_features, n_components))

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """z of every point, one row each."""
        angles = points @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(angles.shape[1])


@dataclass(kw_only=True, eq=False, repr=False)
class FOGD(GradientLearner):
    """Fourier online gradient descent; O(n_components) a round.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        The first three make a regressor, the others a classifier.
    tolerance : float, optional
        e of the loss, see `loss_of`; with "squared", errors up to it make no step.
    clip : float or None
        Bound of predictions, if any.
    learning_rate, regularization : float
        eta and lam.
    n_components : int
        D, the number of frequencies.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Frequencies (no points are kept), and rounds so far.

    Examples
    --------
    >>> m = FOGD(learning_rate=0.25, random_state=7)
    >>> round(m.learn_one([1.0], 1.0).predict_one([1.0]), 6)     # 2 eta y |z|^2
    0.5
    """

    n_components: int = 400
    random_state: RandomState = None

    def _n_kept(self):
        return self._features.frequencies.shape[1]

    def _begin(self, n_features):
        n_components = check_count("n_components", self.n_components)
        self._rule = self._gradient_rule()
        self._features = FourierFeatures(
            self.kernel,
            self.kernel_params,
            n_features,
            n_components=n_components,
            rng=np.random.default_rng(self.random_state),
        )
        self._w = np.zeros(2 * n_components)

    def _scores(self, points):
        return np.clip(self._features(points) @ self._w, -self._rule.clip, self._rule.clip)

    def _features_of(self, points):
        return self._features(points)

    def _learn(self, points, targets):
        return descend(self._features, points, targets, self._w, self._rule)


@dataclass(kw_only=True, eq=False, repr=False)
class DualSGD(OnlineLearner):
    """Dual space gradient descent; O(n_components + n_frequencies) a round.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss : {"squared", "epsilon_insensitive", "huber", "logistic", "squared_hinge", "hinge"}
        The first three make a regressor, the others a classifier.
    tolerance : float, optional
        e of the loss, see `loss_of`; with "squared", errors up to it make no step.
    clip : float or None
        Predictions are within [-clip, clip], if given.
    regularization : float
        lam > 0; the first steps are 1 / lam long, and with the squared loss lam < 1 diverges.
    n_components : int
        Points that are kept.
    n_frequencies : int
        Random frequencies for the others.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.

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

    _needs_clip = False

    def _n_kept(self):
        return self._size

    def _begin(self, n_features):
        budget = check_count("n_components", self.n_components)
        step = 1 / check_real("regularization", self.regularization, above=0.0)
        self._rule = GradientRule(self._loss().law, step, 1.0, self._bound())
        self._kernel = as_kernel(self.kernel, self.kernel_params)
        self._features = FourierFeatures(
            self.kernel,
            self.kernel_params,
            n_features,
            n_components=check_count("n_frequencies", self.n_frequencies),
            rng=np.random.default_rng(self.random_state),
        )
        self._w = np.zeros(2 * self.n_frequencies)
        self._points, self._a, self._size = np.empty((budget, n_features)), np.zeros(budget), 0
        self._z = np.empty((budget, self._w.size))

    def _scores(self, points):
        values = self._features(points) @ self._w
        if self._size:
            kept = self._kernel(points, self._points[: self._size])
            values += kept @ self._a[: self._size]
        return np.clip(values, -self._rule.clip, self._rule.clip)

    def _features_of(self, points):
        kept = NystromEmbedding(self._kernel, self._points[: self._size])(points)
        return np.hstack([kept, self._features(points)])

    def _learn(self, points, targets):
        out = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            some = slice(start, start + _BLOCK)
            part, z = points[some], self._features(points[some])
            values = np.zeros((len(part), len(self._a)))
            values[:, : self._size] = self._kernel(part, self._points[: self._size])
            slots = np.full(len(self._a), -1)  # which point of the block a slot now holds
            self._size = _dual_rounds(
                values,
                self._kernel(part, part),
                z,
                targets[some],
                self._a,
                self._w,
                self._z,
                self._size,
                self.n_rounds_ + start,
                self._rule,
                slots,
                out[some],
            )
            new = slots >= 0
            self._points[new] = part[slots[new]]
        return out


@njit_cached(fastmath={"reassoc", "contract"})
def _dual_rounds(values, inside, z, targets, a, w, z_kept, size, before, rule, slots, out):
    for t in range(targets.size):
        value = 0.0
        for i in range(size):
            value += a[i] * values[t, i]
        for i in range(w.size):
            value += w[i] * z[t, i]
        out[t] = min(max(value, -rule.clip), rule.clip)
        slope = loss_slope(rule.loss, targets[t], out[t])
        shrink = 1.0 - 1.0 / (before + t + 1)
        for i in range(size):
            a[i] *= shrink
        for i in range(w.size):
            w[i] *= shrink
        if slope == 0:
            continue
        slot = size
        if size == a.size:
            slot = np.argmin(np.abs(a))
            for i in range(w.size):
                w[i] += a[slot] * z_kept[slot, i]
        else:
            size += 1
        a[slot] = -rule.step * slope / (before + t + 1)
        z_kept[slot] = z[t]
        slots[slot] = t
        for later in range(t + 1, targets.size):
            values[later, slot] = inside[later, t]
    return size
