"""NOGD: gradient descent on Nystrom features of the first points kept.

Kernel gradient descent (`gradient`) until `n_components` points are kept. Then K = V diag(lam) V'
of those, of which the k largest eigenvalues stay, gives

    z(x) = diag(lam_k)^-1/2 V_k' k_B(x),      w = diag(lam_k)^1/2 V_k' a,

w'z the hypothesis so far, projected; from there on gradient descent in R^k [LHWZL16].

References
----------
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
"""

import numpy as np

from graphsqueak.kernel.embedding import Embedding
from graphsqueak.kernel.kernels import as_kernel
from graphsqueak.online.gradient import Expansion, gradient_rounds, gradient_rule
from graphsqueak.online.learner import OnlineLearner
from graphsqueak.validation import check_count, check_real

__all__ = ["NOGD"]


class NOGD(OnlineLearner):
    """Nystrom online gradient descent; O(n_components * k) a round.

    Parameters
    ----------
    kernel, kernel_params, loss, clip, learning_rate, regularization
        As in `KernelOGD`.
    n_components : int
        Points that are kept.
    rank : float
        k as a share of them; the authors' is 0.2.

    Attributes
    ----------
    n_support_, n_rounds_ : int

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(200, 2))
    >>> NOGD(n_components=30).fit(X, X[:, 0]).n_support_
    30
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
        n_components=100,
        rank=0.2,
    ):
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.loss = loss
        self.clip = clip
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.n_components = n_components
        self.rank = rank

    @property
    def n_support_(self):
        return len(self._expansion.a)

    def _begin(self, n_features):
        check_count("n_components", self.n_components)
        check_real("rank", self.rank, above=0.0)
        rule = gradient_rule(self.loss, self.learning_rate, self.regularization, self._bound())
        self._expansion = Expansion(as_kernel(self.kernel, self.kernel_params), n_features, rule)
        self._map = None

    def _scores(self, points):
        if self._map is None:
            return self._expansion.scores(points)
        return np.clip(self._embed(points) @ self._w, -self._bound(), self._bound())

    def _features_of(self, points):
        if self._map is None:
            return Embedding(self._expansion.kernel, self._expansion.points)(points)
        return self._embed(points)

    def _learn(self, points, targets):
        expansion, parts = self._expansion, []
        if self._map is None:
            parts.append(expansion.run(points, targets, budget=self.n_components))
            if self.n_support_ == self.n_components:
                self._freeze()
        for start in range(sum(map(len, parts)), len(points), 1024):
            some = slice(start, start + 1024)
            z = self._embed(points[some])
            parts.append(gradient_rounds(z, targets[some], self._w, expansion.rule))
        return np.concatenate(parts)

    def _freeze(self):
        """From here on, the features of the points that are kept."""
        points = self._expansion.points
        lam, V = np.linalg.eigh(self._expansion.kernel(points, points))
        size = max(round(min(self.rank, 1.0) * len(points)), 1)
        lam, V = lam[-size:], V[:, -size:]
        lam, V = lam[lam > 1e-12 * lam[-1]], V[:, lam > 1e-12 * lam[-1]]
        self._map = V / np.sqrt(lam)
        self._w = np.sqrt(lam) * (V.T @ self._expansion.a)

    def _embed(self, points):
        return self._expansion.kernel(points, self._expansion.points) @ self._map
