"""The step of KORS, in numbers: kernel values in, a weight out.

State: the weights s of the atoms and L, the Cholesky factor of W^1/2 K_II W^1/2 + g I. For a point
with kernel values k to the atoms and k_xx to itself,

    v = L^-1 (s^1/2 o k),    a = max(0, (k_xx - v'v) / g),    tau~ = a / (1 + a),

which equals the estimate from the dictionary with the point added at weight 1. Two ways to draw:

    "thesis"  p = (1 - e) tau~,            q ~ Binomial(q, p),   weight q / (n_copies p),
    "paper"   p = min(1, b (1 + e) tau~),  kept with chance p,   weight 1 / p.

On insertion L gains the row (s^1/2 v', (s k_xx + g - s v'v)^1/2). Nothing ever leaves. A step is
O(m^2) and m kernel evaluations [C17, Algorithm 8], [CLV17c, Algorithm 2].

References
----------
[C17]    Calandriello. Efficient sequential learning in structured and constrained environments.
         PhD thesis, 2017.
[CLV17c] Calandriello, Lazaric, Valko. Second-order kernel online convex optimization with
         adaptive sketching. ICML 2017.
"""

import numpy as np
from scipy.stats import binom

from graphsqueak.kernel.growing_cholesky import GrowingCholesky

__all__ = ["OnlineSampler"]


class OnlineSampler:
    """Insertion-only sampling by online leverage scores, for a caller who evaluates the kernel.

    Parameters
    ----------
    ridge : float
    n_copies : float
        Copies of the thesis form, the beta of the paper form.
    epsilon : float
    form : {"thesis", "paper"}

    Examples
    --------
    The first point of norm 1 has tau~ = 1/2 at ridge 1; beta (1 + e) / 2 >= 1 keeps it for sure:

    >>> sampler = OnlineSampler(ridge=1.0, n_copies=2.0, epsilon=0.5, form="paper")
    >>> sampler.offer(np.zeros(0), 1.0, uniform=0.3)
    1.0
    >>> round(sampler.score(np.array([1.0]), 1.0), 6)     # the same point again
    0.333333
    """

    def __init__(self, *, ridge, n_copies, epsilon, form):
        self.ridge, self.n_copies, self.epsilon, self.form = ridge, n_copies, epsilon, form
        self.factor = GrowingCholesky()
        self._weight = []

    @property
    def weights(self):
        """s of the atoms, in the order of insertion."""
        return np.array(self._weight)

    def score(self, row, diagonal):
        """tau~ of a point with kernel values `row` to the atoms and `diagonal` to itself."""
        a = self.surprise(self.project(row[:, None]), np.array([diagonal]))[0]
        return float(a / (1 + a))

    def offer(self, row, diagonal, *, uniform):
        """Insert the point if the draw says so; return its weight, or 0.

        `uniform` in (0, 1) decides, so that the caller owns the randomness.
        """
        v = self.project(row[:, None])
        a = self.surprise(v, np.array([diagonal]))
        if not self.hits(a, np.array([uniform]))[0]:
            return 0.0
        weight = self.weight(a[0], uniform)
        self.insert(v[:, 0], weight, diagonal)
        return weight

    def project(self, rows):
        """v of every column of `rows`, an (m, points) matrix of kernel values."""
        return self.factor.solve(np.sqrt(self.weights)[:, None] * rows)

    def surprise(self, v, diagonal):
        """a of every point."""
        return np.maximum(diagonal - np.einsum("ij,ij->j", v, v), 0.0) / self.ridge

    def hits(self, a, uniform):
        """Which points a draw would insert."""
        p = self._prob(a)
        miss = (1 - p) ** self.n_copies if self.form == "thesis" else 1 - p
        return uniform > miss

    def weight(self, a, uniform):
        """The weight of a point that is inserted."""
        p = self._prob(a)
        if self.form == "paper":
            return float(1 / p)
        copies = max(binom.ppf(uniform, self.n_copies, p), 1.0)  # a hit is at least one
        return float(copies / (self.n_copies * p))

    def insert(self, v, weight, diagonal):
        """Add an atom; returns the new row of L, (r', d)."""
        row = np.sqrt(weight) * v
        pivot = np.sqrt(max(weight * diagonal - row @ row, 0.0) + self.ridge)
        self.factor.append(row, pivot)
        self._weight.append(weight)
        return row, pivot

    def _prob(self, a):
        tau = a / (1 + a)
        if self.form == "thesis":
            return (1 - self.epsilon) * tau
        return np.minimum(self.n_copies * (1 + self.epsilon) * tau, 1.0)
