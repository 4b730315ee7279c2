"""Dual-SGD: stochastic gradient descent whose surplus points live on as random features.

A hypothesis f = sum_i a_i k(x_i, .) + w'z(.), z random Fourier features (`fourier`), and steps

    f <- (1 - 1/t) f - 1 / (lam t) l'(y, f) k(x_t, .)

[SSSC11]. Once there are more than `n_components` points, the one with the least |a_i| is moved:
w <- w + a_i z(x_i), which keeps f in expectation [LNNP16].

References
----------
[LNNP16] Le, Nguyen, Nguyen, Phung. Dual space gradient descent for online learning. NIPS 2016.
[SSSC11] Shalev-Shwartz, Singer, Srebro, Cotter. Pegasos. Mathematical Programming 127, 2011.
"""

import numba
import numpy as np

from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.fourier import FourierFeatures
from graphsqueak.online.gradient import GradientRule
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.online.losses import loss_slope
from graphsqueak.validation import check_count, check_real

__all__ = ["DualSGD"]

_BLOCK = 128


class DualSGD(OnlineLearner):
    """Dual space gradient descent; O(n_components + n_frequencies) a round.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss, clip
        As in `KernelOGD`.
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

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(500, 2))
    >>> m = DualSGD(loss="hinge", n_components=20, random_state=7).fit(X, np.sign(X[:, 0]))
    >>> m.n_support_, m.score(X, np.sign(X[:, 0])) > 0.9
    (20, True)
    """

    _needs_clip = False

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        loss="squared",
        clip=None,
        regularization=1.0,
        n_components=100,
        n_frequencies=400,
        random_state=None,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.regularization = regularization
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.random_state = random_state

    @property
    def n_support_(self):
        return self._size

    def _begin(self, n_features):
        budget = check_count("n_components", self.n_components)
        step = 1 / check_real("regularization", self.regularization, above=0.0)
        self._rule = GradientRule(self._loss().code, step, 1.0, self._bound())
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
        kept = Embedding(self._kernel, self._points[: self._size])(points)
        return np.hstack([kept, self._features(points)])

    def _learn(self, points, targets):
        out = np.empty(len(points))
        for start in range(0, len(points), _BLOCK):
            some = slice(start, start + _BLOCK)
            part, z = points[some], self._features(points[some])
            values = np.zeros((len(part), len(self._a)))
            values[:, : self._size] = self._kernel(part, self._points[: self._size])
            slots = np.full(len(self._a), -1)  # which point of the block a slot now holds
            self._size = _rounds(
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


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _rounds(values, inside, z, targets, a, w, z_kept, size, before, rule, slots, out):
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
