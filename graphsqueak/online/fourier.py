"""FOGD: gradient descent on random Fourier features.

For the Gaussian kernel exp(-g |x - y|^2) and frequencies u_i ~ N(0, 2 g I), i = 1, ..., D,

    z(x) = (cos(u_1'x), sin(u_1'x), ...) / D^1/2,      E z(x)'z(y) = k(x, y)

[RR07], [LHWZL16]. The authors' programs leave out 1 / D^1/2, so their step eta is eta D
here.

References
----------
[RR07]    Rahimi, Recht. Random features for large-scale kernel machines. NIPS 2007.
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
"""

import numpy as np

from graphsqueak.errors import InputError
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.gradient import gradient_rounds, gradient_rule
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.validation import check_count

__all__ = ["FOGD", "FourierFeatures"]


class FourierFeatures:
    """z above, for a kernel as users write it; Gaussian only.

    >>> z = FourierFeatures("rbf", None, 2, n_components=5, rng=np.random.default_rng(7))
    >>> z(np.ones((3, 2))).shape, float(np.sum(z(np.ones((1, 2))) ** 2))
    ((3, 10), 1.0)
    """

    def __init__(self, kernel, kernel_params, n_features, *, n_components, rng):
        if kernel not in ("rbf", "gaussian"):
            raise InputError(f"random Fourier features are for kernel='rbf', not {kernel!r}")
        gamma = as_kernel(kernel, kernel_params).params.get("gamma")
        gamma = 1 / n_features if gamma is None else gamma
        self.frequencies = np.sqrt(2 * gamma) * rng.normal(size=(n_features, n_components))

    def __call__(self, points):
        angles = points @ self.frequencies
        return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(angles.shape[1])


class FOGD(OnlineLearner):
    """Fourier online gradient descent; O(n_components) a round.

    Parameters
    ----------
    kernel, kernel_params
        "rbf" or "gaussian", with gamma or bandwidth.
    loss, clip, learning_rate, regularization
        As in `KernelOGD`.
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

    _needs_clip = False

    def __init__(
        self,
        *,
        kernel="rbf",
        kernel_params=None,
        loss="squared",
        clip=None,
        learning_rate=0.1,
        regularization=0.0,
        n_components=400,
        random_state=None,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.n_components = n_components
        self.random_state = random_state

    @property
    def n_support_(self):
        return self._features.frequencies.shape[1]

    def _begin(self, n_features):
        n_components = check_count("n_components", self.n_components)
        self._rule = gradient_rule(
            self.loss, self.learning_rate, self.regularization, self._bound()
        )
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
        parts = [slice(i, i + 1024) for i in range(0, len(points), 1024)]
        return np.concatenate(
            [
                gradient_rounds(self._features(points[part]), targets[part], self._w, self._rule)
                for part in parts
            ]
        )
