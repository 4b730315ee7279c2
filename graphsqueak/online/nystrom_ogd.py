"""NOGD: gradient descent on Nystrom features of the first points kept.

Kernel gradient descent (`gradient`) until `n_components` points are kept. Then K = V diag(lam) V'
of those, of which the k largest eigenvalues stay, gives

    z(x) = diag(lam_k)^-1/2 V_k' k_B(x),      w = diag(lam_k)^1/2 V_k' a,

w'z the hypothesis so far, projected; from there on gradient descent in R^k [LHWZL16].

References
----------
[LHWZL16] Lu, Hoi, Wang, Zhao, Liu. Large scale online kernel learning. JMLR 17, 2016.
"""

from dataclasses import dataclass

import numpy as np

from graphsqueak.kernel.embedding import NystromEmbedding
from graphsqueak.online.gradient import GradientLearner, descend
from graphsqueak.validation import check_count, check_real

__all__ = ["NOGD"]


@dataclass(kw_only=True, eq=False, repr=False)
class NOGD(GradientLearner):
    """Nystrom online gradient descent; O(n_components * k) a round.

    Parameters
    ----------
    kernel, kernel_params, loss, tolerance, clip
        As in `KernelOGD`.
    learning_rate, regularization : float
        eta and lam, in both phases.
    n_components : int
        Points that are kept.
    rank : float
        k as a share of them; the authors' is 0.2.

    Attributes
    ----------
    n_support_, n_rounds_ : int
        Points kept, and rounds so far.

    Examples
    --------
    >>> X = np.random.default_rng(7).normal(size=(200, 2))
    >>> NOGD(n_components=30).fit(X, X[:, 0]).n_support_
    30
    """

    n_components: int = 100
    rank: float = 0.2

    def _n_kept(self):
        return len(self._expansion.a)

    def _begin(self, n_features):
        check_count("n_components", self.n_components)
        check_real("rank", self.rank, above=0.0)
        self._expansion = self._new_expansion(n_features)
        self._map = None

    def _scores(self, points):
        if self._map is None:
            return self._expansion.scores(points)
        return np.clip(self._embed(points) @ self._w, -self._bound(), self._bound())

    def _features_of(self, points):
        if self._map is None:
            return NystromEmbedding(self._expansion.kernel, self._expansion.points)(points)
        return self._embed(points)

    def _learn(self, points, targets):
        first = np.zeros(0)
        if self._map is None:
            first = self._expansion.run(points, targets, budget=self.n_components)
            if self.n_support_ < self.n_components:
                return first
            self._freeze()
        rest = slice(first.size, None)
        later = descend(self._embed, points[rest], targets[rest], self._w, self._expansion.rule)
        return np.concatenate([first, later])

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
