"""BLESS: Many-Step sampling that scores few points while the ridge is large [RCCR18].

At ridge g no leverage score exceeds b = k / (k + g), where k is the largest entry of the diagonal
of K. A point is first sampled uniformly, with probability u = min(1, q b). Only if it is kept, its
score is estimated from the dictionary of the level before, with landmarks I and W = diag(s), as

    p_i = (1 - e) (k_ii - k_I(x_i)' (K_II + g W^-1)^-1 k_I(x_i)) / g,

at (1 + e) g in place of g, since that dictionary is accurate for 2 g. The point is kept with
probability min(1, q p_i / u). In total, the probability is min(1, q p_i), as in `ManyStepRLS` with
scheme="bernoulli", but only O(n k q / g) points are scored instead of n. The ridge is halved at
each level, until it is the one that was asked for.

References
----------
[RCCR18] Rudi, Calandriello, Carratino, Rosasco. On fast leverage score sampling and optimal
         learning. NeurIPS 2018.
"""

import math

import numpy as np

from graphsqueak.kernel.leverage import rho
from graphsqueak.kernel.samplers.batch import BatchDictionary
from graphsqueak.sampling import inclusion_probabilities, systematic_sample


class BLESS(BatchDictionary):
    """Bottom-up leverage score sampling, which scores few points while the ridge is large.

    Use it in place of `ManyStepRLS` if there are many more points than landmarks, all of them in
    memory.

    Parameters
    ----------
    kernel, kernel_params
        See `as_kernel`; kernel="precomputed" takes the kernel matrix in place of the points.
    ridge : float or "auto"
        gamma > 0, in the units of the eigenvalues of K. "auto", with `n_landmarks` only: the
        effective dimension is a quarter of `n_landmarks`, estimated from a sample of the points.
    n_landmarks : int, optional
        Number of landmarks (all points, if there are fewer). Default: determined by the copies.
    n_copies : int, optional
        q at each level, instead of that of `budget`. Not with `n_landmarks`.
    epsilon, delta : float in (0, 1)
        Accuracy asked for, and the probability of a worse one with budget="theory".
    budget : {"practical", "theory"}
        q: rho log(n) / epsilon^2, or the number for which the proof holds for all levels.
    scheme : {"binomial", "bernoulli"}
        Ignored: a point is kept once or not at all.
    random_state : int, numpy Generator or None

    Attributes
    ----------
    indices_, weights_, components_ : ndarray
        Row numbers, weights s_i and points of the landmarks (row numbers for "precomputed").
    ridge_, n_copies_, n_seen_
        The ridge, the copies (None with `n_landmarks`), and the number of points.

    Examples
    --------
    >>> X = np.append(np.zeros(1000), 9.0)[:, None]
    >>> d = BLESS(ridge=0.1, n_landmarks=5, random_state=7).fit(X)
    >>> len(d.indices_), 1000 in d.indices_
    (5, True)
    """

    def _draw(self, kernel, points, rng):
        n_points = len(points)
        # The kernel may be zero everywhere.
        largest = max(kernel.diag(points).max(), np.finfo(np.float64).tiny)
        n_levels = max(math.ceil(math.log2(n_points * largest / self.ridge_)), 0) + 1
        factor = max(2.0, rho(self.epsilon, n_inexact=2))
        self.n_copies_ = self._count_copies(n_points, rho=factor, n_draws=n_levels)
        rows = np.zeros(0, np.int64)
        weights = np.zeros(0)
        for level in reversed(range(n_levels)):
            ridge = self.ridge_ * 2**level
            bound = largest / (largest + ridge)
            candidate_prob = self._candidate_prob(n_points, bound)
            n_candidates = rng.binomial(n_points, candidate_prob)
            candidates = np.sort(rng.choice(n_points, size=n_candidates, replace=False))
            if rows.size:
                # The dictionary of the last level is accurate for twice the ridge.
                wider = (1 + self._assumed_epsilon()) * ridge
                score = self._scores(kernel, points[candidates], points[rows], weights, wider)
            else:
                # At the first level, trace(K) <= ridge and tau_i is about k_ii / ridge.
                score = kernel.diag(points[candidates]) / ridge
            keep_prob = self._keep_prob(np.minimum(score, bound), candidate_prob)
            if self.n_copies_ is None:
                chosen = systematic_sample(keep_prob, rng=rng)
            else:
                chosen = np.flatnonzero(rng.random(candidates.size) < keep_prob)
            rows = candidates[chosen]
            weights = 1 / (candidate_prob * keep_prob[chosen])
        return rows, weights

    def _candidate_prob(self, n_points, bound):
        """Return the probability to score a point, whose score is at most `bound`."""
        if self.n_copies_ is not None:
            return min(1.0, self.n_copies_ * bound)
        # Five candidates per landmark at least: sampling all candidates would be uniform sampling.
        least = 5 * self.n_landmarks / n_points
        return min(1.0, max((math.log(n_points) + 1) * bound, least))

    def _keep_prob(self, score, candidate_prob):
        """Return the probability to keep each candidate."""
        if self.n_copies_ is None:
            return inclusion_probabilities(score, self.n_landmarks)
        return np.minimum(self.n_copies_ * score / candidate_prob, 1.0)
