"""Recursive ridge leverage score sampling [MM17]: halve, score with what came back, draw.

    rec(S):  if S is small, return all of S with weight 1;
             keep each point of S with probability 1/2, and let I = rec(those);
             l_i = (3/2) raw_i from I, for all i in S;
             keep i with probability p_i = min(1, c l_i), c = 16 log(sum l / delta), weight 1 / p_i.

I is no accurate dictionary of S, only of a half without reweighting; that l_i over-estimates tau_i
is what makes the proof work. [C17, Algorithm 6] asks for Eq. 3.2 with e = 1/2, whose factor 1 - e
is an under-estimate; the factor here is 1 + e. Its two listings also disagree on 16 and 32.

References
----------
[C17]  Calandriello. Efficient sequential learning in structured and constrained environments.
       PhD thesis, 2017.
[MM17] Musco, Musco. Recursive sampling for the Nystrom method. NeurIPS 2017.
"""

import math

import numpy as np

from graphsqueak.kernel.leverage import estimate_leverage
from graphsqueak.kernel.samplers.batch import BatchDictionary

__all__ = ["RecursiveRLS"]

_EPSILON = 0.5  # of the proof
_SMALL = 16


class RecursiveRLS(BatchDictionary):
    """Recursive sampling with over-estimates.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` = m only: every
        level has the ridge (tr K_hat - its k largest eigenvalues) / k, k = m / (4 log m).
    n_components : int, optional
        m, exactly that many atoms, by the authors' fixed-size form: c = log(m) below the top.
    epsilon : float in (0, 1)
        Has no say: the proof is for 1/2.
    budget : {"practical", "theory"}
        "practical" drops the 16 of c, and the 192 of the size below which everything is kept.
    delta : float in (0, 1)
        The probability of being less accurate.
    n_copies : int, optional
        c itself. Not with `n_components`.
    scheme : {"binomial", "bernoulli"}
        Has no say: a point is kept once or not at all.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge and the c of the top (None with `n_components`), and how many points were seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = RecursiveRLS(ridge=0.1, n_components=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _find_ridge(self, kernel, points, rng):
        return None if isinstance(self.ridge, str) else float(self.ridge)

    def _draw(self, kernel, points, rng):
        halves = [np.arange(len(points))]
        while halves[-1].size > self._small_size(len(halves)):
            halves.append(halves[-1][rng.random(halves[-1].size) < 0.5])
        rows = halves.pop()
        weight = np.ones(rows.size)
        self.n_copies_ = None
        while halves:
            level = halves.pop()
            ridge = self._level_ridge(kernel, points[rows], weight)
            over = estimate_leverage(
                kernel,
                points[level],
                points[rows],
                weight,
                ridge=ridge,
                epsilon=_EPSILON,
                side="over",
            )
            prob = self._chances(over, delta=self.delta / 3 ** len(halves), top=not halves)
            if not halves and self.n_components is not None:
                chosen, weight = self._sample(over, None, rng)
            else:
                chosen = np.flatnonzero(rng.random(level.size) < prob)
                weight = 1 / prob[chosen]
            rows = level[chosen]
            self.ridge_ = ridge
        if self.ridge_ is None:
            self.ridge_ = self._level_ridge(kernel, points[rows], weight)
        return rows, weight

    def _small_size(self, depth):
        """Points that are kept without a look, at this depth of the recursion."""
        if self.n_components is not None:
            return max(_SMALL, self.n_components)
        if self.budget == "theory":
            return 192 * math.log(3 ** (depth - 1) / self.delta)
        return _SMALL

    def _chances(self, over, *, delta, top):
        """min(1, c l_i) with the c of this level."""
        if self.n_components is not None:
            copies = math.log(max(self.n_components, 3))
        elif self.n_copies is not None:
            copies = self.n_copies
        else:
            copies = math.log(max(over.sum() / delta, 2.0))
            copies *= 16 if self.budget == "theory" else 1
        if top and self.n_components is None:
            self.n_copies_ = copies
        return np.minimum(copies * over, 1.0)

    def _level_ridge(self, kernel, atoms, weight):
        if not isinstance(self.ridge, str):
            return float(self.ridge)
        root = np.sqrt(weight)
        eigenvalues = np.linalg.eigvalsh(root[:, None] * kernel(atoms, atoms) * root)
        rank = math.ceil(self.n_components / (4 * math.log(max(self.n_components, 3))))
        rest = np.maximum(eigenvalues[:-rank], 0.0).sum() / rank
        return float(max(rest, 1e-12 * eigenvalues.max(initial=1.0)))
