"""BLESS [RCCR18]: Many-Step sampling that looks at few points while the ridge is large.

At ridge g no score exceeds k / (k + g), k the largest entry of the diagonal. So a point is first
drawn with probability b = min(1, q k / (k + g)), blindly, and only if it comes through is it
scored, with the dictionary of the level before, and kept with probability min(1, q p_i / b).
Together that is min(1, q p_i), as in `ManyStepRLS` with scheme="bernoulli", at O(n k q / g) scores,
not n. The last level has the asked ridge.

References
----------
[RCCR18] Rudi, Calandriello, Carratino, Rosasco. On fast leverage score sampling and optimal
         learning. NeurIPS 2018.
"""

import math

import numpy as np

from graphsqueak.kernel.leverage import estimate_leverage, rho
from graphsqueak.kernel.samplers.batch import BatchDictionary
from graphsqueak.sampling import inclusion_probabilities, systematic_sample

__all__ = ["BLESS"]

_CANDIDATES = 5  # per atom, at least, when the number of atoms is fixed


class BLESS(BatchDictionary):
    """Bottom-up sampling: few points are looked at while the ridge is large.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_components` only: a quarter
        as many effective dimensions as atoms, found from a sample of the points.
    n_components : int, optional
        Exactly that many atoms (all points, if there are fewer). Otherwise the copies decide.
    n_copies : int, optional
        q at each level, instead of `budget`'s. Not with `n_components`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for; with budget="theory", the probability of being less accurate.
    budget : {"practical", "theory"}
        As for `ManyStepRLS`: q by rho log(n) / epsilon^2, or so that the proof holds.
    scheme : {"binomial", "bernoulli"}
        Has no say: a point is kept once or not at all.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the atoms (for "precomputed", row numbers again).
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_components`), and how many points were seen.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = BLESS(ridge=0.1, n_components=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _draw(self, kernel, points, rng):
        n, diagonal = len(points), kernel.diag(points)
        largest = max(diagonal.max(), np.finfo(np.float64).tiny)
        n_levels = max(math.ceil(math.log2(n * largest / self.ridge_)), 0) + 1
        factor = max(2.0, rho(self.epsilon, n_inexact=2))
        self.n_copies_ = self._copies(n, rho=factor, n_draws=n_levels)
        rows, weight = np.zeros(0, np.int64), np.zeros(0)
        for level in reversed(range(n_levels)):
            ridge = self.ridge_ * 2**level
            bound = largest / (largest + ridge)
            blind, drawn = self._draw_blindly(n, bound, rng)
            score = self._level_scores(kernel, points, rows, weight, drawn, ridge, bound)
            rows, weight = self._thin(drawn, blind, score, rng)
        return rows, weight

    def _draw_blindly(self, n, bound, rng):
        """The chance of being looked at, and who is."""
        copies = math.log(n) + 1 if self.n_copies_ is None else self.n_copies_
        share = min(1.0, copies * bound)
        if self.n_copies_ is None:
            share = min(1.0, max(share, _CANDIDATES * self.n_components / n))
        return share, np.sort(rng.choice(n, size=rng.binomial(n, share), replace=False))

    def _level_scores(self, kernel, points, rows, weight, drawn, ridge, bound):
        """Under-estimates at this ridge from a dictionary made at twice the ridge."""
        if not rows.size:  # the first level: trace(K) <= ridge, so tau_i is about k_ii / ridge
            return np.minimum(kernel.diag(points[drawn]) / ridge, bound)
        score = estimate_leverage(
            kernel,
            points[drawn],
            points[rows],
            weight,
            ridge=(1 + self._slack()) * ridge,
            epsilon=self._slack(),
        )
        return np.minimum(score, bound)

    def _thin(self, drawn, blind, score, rng):
        if self.n_copies_ is None:
            keep = inclusion_probabilities(score, self.n_components)
            chosen = systematic_sample(keep, rng=rng)
        else:
            keep = np.minimum(self.n_copies_ * score / blind, 1.0)
            chosen = np.flatnonzero(rng.random(drawn.size) < keep)
        return drawn[chosen], 1 / (blind * keep[chosen])
